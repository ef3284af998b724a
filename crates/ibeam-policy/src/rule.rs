//! Permission tokens such as `Shell(git:status*)` and `Write(docs/**)`, parsed once.
//!
//! Described in `docs/configuration.md`, "Permissions". A token that cannot be parsed is an error. It never becomes a
//! rule that matches nothing.

use std::fmt;
use std::str::FromStr;

use ibeam_protocol::{Sentence, sentence};

use crate::glob::{PathGlob, TextGlob};

/// The valid forms, for messages.
const FORMS: &str = "`Shell(program)`, `Shell(program:arguments)`, `Read(glob)`, `Write(glob)`, \
                     `WebFetch(domain)`, `WebFetch(domain:port)`, `Mcp(server:tool)`";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct InvalidRule {
    pub token: String,
    /// The reason why it is invalid.
    pub message: Sentence,
}

impl InvalidRule {
    /// Returns the whole message.
    pub fn sentence(&self) -> Sentence {
        sentence!(
            "invalid permission token `{token}`: {reason}; use one of {forms}",
            token = self.token,
            reason = self.message,
            forms = FORMS
        )
    }
}

/// One permission token. `Display` prints its canonical form.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Runs a program.
    Shell(ShellRule),
    /// Reads a file, or the files in a directory.
    Read(PathGlob),
    /// Writes a file, or the files in a directory.
    Write(PathGlob),
    /// Fetches from a domain. `*.example.org` is every name below it, `*` is every name.
    WebFetch(String),
    /// Calls tools of an MCP server.
    Mcp {
        /// The server's name, or a glob.
        server: TextGlob,
        /// The tool's name, or a glob.
        tool: TextGlob,
    },
}

/// A program and its allowed arguments.
#[derive(Clone, Debug)]
pub struct ShellRule {
    /// The program's name as in `PATH`, or an absolute path.
    pub program: String,
    /// Pattern for the arguments, joined by single spaces; `None` means ordinary arguments only.
    pub arguments: Option<TextGlob>,
}

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(token: &str) -> Result<Self, InvalidRule> {
        let bad = |message: Sentence| InvalidRule { token: token.to_owned(), message };
        let (kind, rest) = token.trim().split_once('(').ok_or_else(|| bad(sentence!("it has no `(`")))?;
        let inner = rest.strip_suffix(')').ok_or_else(|| bad(sentence!("it does not end with `)`")))?.trim();
        if inner.is_empty() {
            return Err(bad(sentence!("there is nothing between the brackets")));
        }
        if inner.contains(char::is_control) {
            return Err(bad(sentence!("it contains a control character")));
        }
        match kind.trim() {
            "Shell" => parse_shell_rule(inner).map(Self::Shell).map_err(bad),
            "Read" => PathGlob::new(inner).map(Self::Read).map_err(|text| bad(text.into())),
            "Write" => PathGlob::new(inner).map(Self::Write).map_err(|text| bad(text.into())),
            "WebFetch" => parse_domain(inner).map(Self::WebFetch).map_err(bad),
            "Mcp" => {
                let (server, tool) = inner
                    .split_once(':')
                    .ok_or_else(|| bad(sentence!("`:` must separate server and tool")))?;
                let server = TextGlob::new(server.trim()).map_err(|text| bad(text.into()))?;
                let tool = TextGlob::new(tool.trim()).map_err(|text| bad(text.into()))?;
                Ok(Self::Mcp { server, tool })
            }
            kind => Err(bad(sentence!("`{kind}` is not a kind of token", kind))),
        }
    }
}

/// Parses the text between the brackets of a `Shell` token.
fn parse_shell_rule(inner: &str) -> Result<ShellRule, Sentence> {
    let (program, arguments) = match inner.split_once(':') {
        None => (inner, None),
        Some((program, arguments)) => (program.trim(), Some(TextGlob::new(arguments.trim())?)),
    };
    if program.is_empty() || program.contains(char::is_whitespace) {
        // Without `*` the rule would cover only these exact arguments.
        let (name, rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let glob = rest.trim().trim_end_matches(['*', ':', ' ']);
        return Err(sentence!(
            "a program's name is one word; write `{token}`",
            token = format!("Shell({name}:{glob}*)")
        ));
    }
    if program != "*" && program.contains(['*', '?', '{', '$', '`', '"', '\'', '\\']) {
        return Err(sentence!("a program's name is plain; only its arguments may be a glob"));
    }
    Ok(ShellRule { program: program.to_owned(), arguments })
}

/// Parses the text between the brackets of a `WebFetch` token. Returns it in lower case.
fn parse_domain(inner: &str) -> Result<String, Sentence> {
    let (domain, port) = match inner.rsplit_once(':') {
        Some((domain, port)) => (domain, Some(port)),
        None => (inner, None),
    };
    let name = domain.strip_prefix("*.").unwrap_or(domain);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let is_domain = domain == "*" || (!name.is_empty() && !name.starts_with('.') && name.chars().all(plain));
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse().is_ok_and(|port: u16| port != 0)
    };
    if is_domain && port.is_none_or(is_port) {
        return Ok(inner.to_ascii_lowercase());
    }
    Err(sentence!(
        "a domain is a host name, `*.` and a host name, or `*`, without scheme and path; a port may follow, as in \
         `example.org:8080`"
    ))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(ShellRule { program, arguments: None }) => write!(f, "Shell({program})"),
            Self::Shell(ShellRule { program, arguments: Some(glob) }) => write!(f, "Shell({program}:{glob})"),
            Self::Read(glob) => write!(f, "Read({glob})"),
            Self::Write(glob) => write!(f, "Write({glob})"),
            Self::WebFetch(domain) => write!(f, "WebFetch({domain})"),
            Self::Mcp { server, tool } => write!(f, "Mcp({server}:{tool})"),
        }
    }
}
