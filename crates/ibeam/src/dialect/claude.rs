//! The command line of Claude Code, as people and its SDKs write it.
//!
//! Only runs that print: there is no interactive one here, and none of its sub-commands.

mod auth_status;
mod facts;
mod flags;
mod permissions;
mod rules;
mod settings;

use std::ffi::OsString;

use ibeam_dialects::{CLAUDE_CODE_VERSION, DialectName};
use ibeam_protocol::{Reason, SessionId};

pub(super) use self::facts::Facts;
use self::flags::FLAGS;
pub(super) use self::rules::names_of;
use super::flag_table::{help, read, usage};
use super::{DialectOptions, Env, Input, Output, Translated, file, ours};
use crate::cli::ParseExit;

/// The first words that are no prompt.
const COMMANDS: &[&str] =
    &["agents", "auth", "config", "doctor", "install", "mcp", "plugin", "setup-token", "update", "upgrade"];

/// The parts of a command line of Claude Code that its stream repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The permission mode in its own words.
    pub(super) mode: String,
    /// The id of the session, where the arguments name one.
    pub(super) session: Option<String>,
    /// The model as the arguments name it.
    pub(super) model: Option<String>,
    /// The names of MCP servers that the host runs.
    pub(super) servers: Vec<String>,
    /// The form of the login status, where that is all that is wanted.
    auth_status: Option<auth_status::Form>,
}

/// What the flags say.
#[derive(Default)]
struct Draft {
    output: Option<Output>,
    messages: bool,
    help: bool,
    version: bool,
    echo_prompts: bool,
    partial_messages: bool,
    mode: Option<String>,
    bypass: bool,
    /// Settings say that there is to be no bypass.
    no_bypass: bool,
    ask_host: bool,
    allow: Vec<String>,
    deny: Vec<String>,
    ask: Vec<String>,
    tools: Option<Vec<String>>,
    directories: Vec<String>,
    model: Option<String>,
    /// Given as they are, `--flag=value`.
    flags: Vec<String>,
    session: Option<String>,
    resumed: Option<String>,
    resumes: bool,
    forks: bool,
    /// Files whose text goes to the model.
    texts: Vec<String>,
    servers: Vec<String>,
    /// The names of MCP servers that the host runs.
    host_servers: Vec<String>,
    settings: Vec<String>,
    ignored_arguments: Vec<String>,
}

/// Translates what follows `--dialect claude`.
pub(super) fn translate(args: &[OsString], env: &Env<'_>) -> Result<Translated, ParseExit> {
    if let Some(form) = auth_status::form_of(args) {
        let claude = Request { auth_status: Some(form.map_err(ParseExit::from)?), ..Request::default() };
        let options = DialectOptions {
            output: Output::FinalMessage,
            claude,
            ..DialectOptions::output_of(DialectName::Claude)
        };
        return Ok(Translated { args: vec!["status".into()], options: Some(options) });
    }
    if let Some(word) = args.first().and_then(|arg| arg.to_str()).filter(|word| COMMANDS.contains(word)) {
        return Err(ParseExit::from(usage(format!(
            "`claude {word}` has no counterpart; see `ibeam --help`"
        ))));
    }
    let mut draft = Draft::default();
    let rest = read(FLAGS, args, &mut draft).map_err(ParseExit::from)?;
    if draft.help {
        return Err(ParseExit::Help(help("ibeam --dialect claude -p [FLAGS] [PROMPT]", FLAGS)));
    }
    if draft.version {
        return Err(ParseExit::Help(format!(
            "{CLAUDE_CODE_VERSION} (Claude Code; ibeam {})\n",
            env!("CARGO_PKG_VERSION")
        )));
    }
    draft.ignored_arguments.extend(rest.ignored);
    draft.finish(rest.words, env).map_err(ParseExit::from)
}

fn put<T>(place: &mut T, value: T) -> Result<(), Reason> {
    *place = value;
    Ok(())
}

fn add<T>(place: &mut Vec<T>, values: impl IntoIterator<Item = T>) -> Result<(), Reason> {
    place.extend(values);
    Ok(())
}

impl Draft {
    fn pass(&mut self, flag: &str, value: &str) -> Result<(), Reason> {
        add(&mut self.flags, [format!("{flag}={value}")])
    }

    fn output(&mut self, value: &str) -> Result<(), Reason> {
        self.output = Some(match value {
            "text" => Output::FinalMessage,
            "json" => Output::LastLine,
            "stream-json" => Output::Stream,
            other => {
                return Err(usage(format!("`--output-format {other}` should be text, json or stream-json")));
            }
        });
        Ok(())
    }

    fn input(&mut self, value: &str) -> Result<(), Reason> {
        self.messages = match value {
            "text" => false,
            "stream-json" => true,
            other => return Err(usage(format!("`--input-format {other}` should be text or stream-json"))),
        };
        Ok(())
    }

    fn resume(&mut self, value: &str) -> Result<(), Reason> {
        if value.is_empty() {
            return Err(usage("`--resume` needs the id of a session; `--continue` arity the newest"));
        }
        self.resumes = true;
        self.resumed = Some(value.to_owned());
        self.pass("--resume", value)
    }

    fn base(&mut self, value: &str) -> Result<(), Reason> {
        self.tools = if value == "default" { None } else { Some(rules::split(value)) };
        Ok(())
    }

    fn prompt_tool(&mut self, value: &str) -> Result<(), Reason> {
        self.ask_host = value == "stdio";
        if !self.ask_host {
            // Nobody is asked then, and so what would be asked is refused.
            self.ignored_arguments.push("--permission-prompt-tool".to_owned());
        }
        Ok(())
    }

    fn finish(mut self, mut words: Vec<String>, env: &Env<'_>) -> Result<Translated, Reason> {
        // SDKs write an empty argument behind a flag that takes no value.
        words.retain(|word| !word.is_empty());
        for settings in std::mem::take(&mut self.settings) {
            self.settings(&settings, env)?;
        }
        for path in std::mem::take(&mut self.texts) {
            self.pass("--append-system-prompt", &file(env, &path)?)?;
        }
        for servers in std::mem::take(&mut self.servers) {
            self.servers(&servers, env)?;
        }
        match (&self.session, self.resumes, self.forks) {
            (Some(_), _, true) => return Err(usage("`--session-id` cannot name a fork")),
            (Some(_), true, false) => {
                return Err(usage("`--session-id` needs `--fork-session` beside `--resume`"));
            }
            (Some(id), false, false) if id.parse::<SessionId>().is_err() => {
                return Err(usage(format!("`--session-id {id}` should be a UUID")));
            }
            // An id that was not seen before begins a session.
            (Some(id), false, false) => self.flags.push(format!("--resume={id}")),
            (None, true, true) => self.flags.push("--fork".to_owned()),
            (None, _, _) => {}
        }
        if self.messages && !words.is_empty() {
            return Err(usage("`--input-format stream-json` arity the prompt from stdin"));
        }
        if let Some(name) = self.host_servers.first().filter(|_| !self.messages) {
            return Err(usage(format!(
                "the MCP server `{name}` of `--mcp-config` is run by the program that starts this one, which needs \
                 `--input-format stream-json`"
            )));
        }
        let output = self.output.unwrap_or(Output::FinalMessage);
        if self.messages && output != Output::Stream {
            return Err(usage("`--input-format stream-json` needs `--output-format stream-json`"));
        }
        let mode = self.permissions()?;
        let request = Request {
            mode: mode.to_owned(),
            session: self.session.clone().or(self.resumed.clone().filter(|_| !self.forks)),
            model: self.model.as_deref().and_then(model),
            servers: std::mem::take(&mut self.host_servers),
            auth_status: None,
        };
        let mut flags = std::mem::take(&mut self.flags);
        flags.extend(request.model.iter().map(|model| format!("--model={model}")));
        flags.extend(self.directories.iter().map(|directory| format!("--add-dir={directory}")));
        if words.is_empty() && !self.messages {
            flags.push("--stdin=read".to_owned());
        }
        let options = DialectOptions {
            dialect: DialectName::Claude,
            output,
            input: if self.messages { Input::Messages } else { Input::Prompt },
            echo_prompts: self.echo_prompts,
            partial_messages: self.partial_messages && output == Output::Stream,
            ask_host: self.ask_host && self.messages,
            new_session: self.session.is_some(),
            codex: Default::default(),
            ignored_arguments: self.ignored_arguments,
            claude: request,
        };
        Ok(Translated { args: ours(flags, words), options: Some(options) })
    }
}

/// Returns the model that a name of Claude Code means: a short name is the newest of the catalogue, `None` the usual.
pub(crate) fn model(name: &str) -> Option<String> {
    let plain = name.split_once('[').map_or(name, |(plain, _)| plain);
    match plain {
        "default" | "" => None,
        "opusplan" => model("opus"),
        "haiku" | "opus" | "sonnet" => {
            Some(ibeam_providers::newest_model("anthropic", plain).unwrap_or(plain).to_owned())
        }
        name => Some(name.to_owned()),
    }
}

#[cfg(test)]
#[path = "claude_test.rs"]
mod tests;
