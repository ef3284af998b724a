//! The decision about an access. Order: deny rules; built-in protection, which only an explicit rule lifts; the mode;
//! ask rules, which `--force` lifts; allow rules; the default for uncovered calls.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use ibeam_protocol::{PermissionMode, Sentence, sentence};

use crate::glob::PathGlob;
use crate::links::LinkReader;
use crate::pattern::CharPairs;
use crate::protected_paths::{self, names_explicitly};
use crate::rule::Rule;

/// The built-in rule about files outside the workspace.
const OUTSIDE: &str = "outside";

#[derive(Clone, Debug)]
pub struct Policy {
    pub mode: PermissionMode,
    /// Absolute, resolved directory whose files may be read and written.
    pub workspace: PathBuf,
    /// Additional directories with the same rights as the workspace.
    pub extra_dirs: Vec<PathBuf>,
    /// The home directory: `~/` in tokens, and the location of other programs' credentials.
    pub home: PathBuf,
    /// Directories of ibeam for keys and sessions, which must neither be read nor written.
    pub private_dirs: Vec<PathBuf>,
    /// Directories of ibeam around the workspace: like `private_dirs`, but the workspace and the additional directories in
    /// them can be used.
    pub surrounding_dirs: Vec<PathBuf>,
    /// Credential files of other programs that environment variables name, in addition to those of the table. They must
    /// neither be read nor written.
    pub credential_files: Vec<PathBuf>,
    /// A second home directory of the user, whose credentials are protected like those of `home`.
    pub other_home: Option<PathBuf>,
    /// Paths in the workspace that make other programs run something although their names do not show it: the directory
    /// that `core.hooksPath` names, a git directory under another name. They are protected like the names in the table.
    pub protected_paths: Vec<PathBuf>,
    pub allow: Vec<Rule>,
    /// Ask rules, which require the approval of a person even if another rule allows the call. `--force` lifts them.
    pub ask: Vec<Rule>,
    /// Deny rules, which take precedence over all others.
    pub deny: Vec<Rule>,
    /// Tools of MCP servers, by server and name, that differ from what a person approved. They must not be called.
    pub unapproved_mcp_tools: Vec<(String, String)>,
    /// The default for calls that no rule covers.
    pub approval: ApprovalMode,
    /// Whether a sandbox confines commands.
    pub sandboxed: bool,
    /// Reads the symbolic links in the words of commands. [`Self::new`] sets one that finds none.
    pub links: LinkReader,
    /// Whether no process holds the lock of a git index at this path, so that a command may remove it. [`Self::new`] sets
    /// one that always says no.
    pub is_left_lock: fn(&Path) -> bool,
    /// Whether a person decides about files that are written outside the workspace. Otherwise such writes are denied, as
    /// the redirections of commands always are.
    pub asks_about_outside: bool,
    /// Whether a person decides about commands that publish, such as `git push`, although they are sandboxed.
    pub asks_about_publishing: bool,
}

/// The default for calls that no rule covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// A command runs if it is sandboxed. Without a sandbox a person decides.
    #[default]
    Sandboxed,
    /// A person decides about commands.
    Allowlist,
    /// A person decides about commands, about all writes, and about reads outside the workspace.
    Strict,
}

/// The access that a call needs, as its tool declares it. Paths are absolute and resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// No access outside the process.
    Nothing,
    /// Reads a file or a tree.
    Read(PathBuf),
    /// Creates, changes or removes a file.
    Write(PathBuf),
    /// Runs a command with `bash -c`.
    Command {
        text: String,
        /// Directory in which the command starts; `None` is the workspace.
        directory: Option<PathBuf>,
    },
    /// Fetches from the web.
    Fetch {
        /// The address as given by the model.
        url: String,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// The server's name in the configuration.
        server: String,
        /// The tool's name on the server.
        tool: String,
        /// The server declares that the tool changes nothing.
        read_only: bool,
    },
    /// Runs a sub-agent. The same policy decides on each of its calls.
    Task {
        /// Whether the sub-agent may only read.
        read_only: bool,
    },
}

impl Access {
    /// Returns the access of a command that starts in the workspace.
    pub fn command(text: impl Into<String>) -> Self {
        Self::Command { text: text.into(), directory: None }
    }

    /// Whether the call changes nothing, so that several calls may run at once.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Nothing | Self::Read(_) | Self::Fetch { .. } => true,
            Self::Mcp { read_only, .. } | Self::Task { read_only } => *read_only,
            Self::Write(_) | Self::Command { .. } => false,
        }
    }
}

/// A decision, with the rule that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may run.
    Allow {
        /// A token, several tokens separated by commas, or the name of a built-in rule such as `workspace`.
        rule: String,
    },
    /// The call must not run; an approval does not change that.
    Deny {
        /// A token, or the name of a built-in rule.
        rule: String,
        /// One sentence for the model, with what a person or the model can do instead.
        reason: Sentence,
    },
    /// The call needs the approval of a person; without one it must not run.
    Ask {
        /// A token, or the name of a built-in rule.
        rule: String,
        /// One sentence for the model, with what a person or the model can do instead.
        reason: Sentence,
    },
}

impl Verdict {
    pub(crate) fn allow(rule: impl ToString) -> Self {
        Self::Allow { rule: rule.to_string() }
    }

    pub(crate) fn deny(rule: impl ToString, reason: impl Into<Sentence>) -> Self {
        Self::Deny { rule: rule.to_string(), reason: reason.into() }
    }

    pub(crate) fn ask(rule: impl ToString, reason: impl Into<Sentence>) -> Self {
        Self::Ask { rule: rule.to_string(), reason: reason.into() }
    }
}

impl Policy {
    /// Creates a policy without rules.
    pub fn new(mode: PermissionMode, workspace: PathBuf, home: PathBuf) -> Self {
        Self {
            mode,
            workspace,
            extra_dirs: Vec::new(),
            home,
            private_dirs: Vec::new(),
            surrounding_dirs: Vec::new(),
            credential_files: Vec::new(),
            other_home: None,
            protected_paths: Vec::new(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            unapproved_mcp_tools: Vec::new(),
            approval: ApprovalMode::default(),
            sandboxed: false,
            links: LinkReader::NONE,
            is_left_lock: |_| false,
            asks_about_outside: false,
            asks_about_publishing: false,
        }
    }

    /// Decides about one access. Every path and every text has a verdict; allow rules never cover what cannot be
    /// analyzed.
    pub fn decide(&self, access: &Access) -> Verdict {
        match access {
            Access::Nothing | Access::Task { .. } => Verdict::allow("default"),
            Access::Read(path) => self.decide_read(path),
            Access::Write(path) => {
                let verdict = self.decide_write(path);
                match verdict {
                    Verdict::Deny { rule, reason } if rule == OUTSIDE && self.asks_about_outside => {
                        Verdict::ask(rule, reason)
                    }
                    Verdict::Allow { .. } | Verdict::Deny { .. } | Verdict::Ask { .. } => verdict,
                }
            }
            Access::Command { text, directory } => self.decide_command(text, directory.as_deref()),
            Access::Fetch { url } => self.decide_fetch(url),
            Access::Mcp { server, tool, read_only } => self.decide_mcp(server, tool, *read_only),
        }
    }

    /// Decides about reading one file or directory.
    pub(crate) fn decide_read(&self, path: &Path) -> Verdict {
        let shown = path.display();
        if !protected_paths::is_resolved(path) {
            return Verdict::deny("default", format!("the path `{shown}` is not absolute and resolved"));
        }
        if let Some((rule, _)) = self.deny_rule(path, read_glob) {
            return Verdict::deny(
                rule,
                sentence!("reading `{path}` is denied by the rule `{rule}`", path = shown, rule),
            );
        }
        let allowed = self.allow_rule(path, read_glob);
        if let Some(secret) = self.secret_name(path) {
            return match allowed.filter(|(_, glob)| names_explicitly(glob, secret)) {
                Some((rule, _)) => Verdict::allow(rule),
                None => {
                    let reason = sentence!(
                        "`{path}` is hidden from the model, like all credentials and process state",
                        path = shown
                    );
                    Verdict::deny("credentials", with_flags(reason, format!("`--allow 'Read({shown})'`")))
                }
            };
        }
        if let Some(rule) = self.ask_rule(path, read_glob) {
            return Verdict::ask(
                rule,
                sentence!("reading `{path}` needs approval under the rule `{rule}`", path = shown, rule),
            );
        }
        match allowed {
            Some((rule, _)) => Verdict::allow(rule),
            None if self.is_in_workspace(path) => Verdict::allow("workspace"),
            None if self.is_strict() => self.ask_uncovered("Read", path),
            None => Verdict::allow("default"),
        }
    }

    /// Decides about creating, changing or removing one file.
    pub(crate) fn decide_write(&self, path: &Path) -> Verdict {
        let shown = path.display();
        if !protected_paths::is_resolved(path) {
            return Verdict::deny("default", format!("the path `{shown}` is not absolute and resolved"));
        }
        if let Some((rule, _)) = self.deny_rule(path, write_glob) {
            return Verdict::deny(
                rule,
                sentence!("writing `{path}` is denied by the rule `{rule}`", path = shown, rule),
            );
        }
        if let Some((rule, _)) = self.deny_rule(path, read_glob) {
            // The result of an edit shows the lines around the change.
            return Verdict::deny(
                rule,
                sentence!(
                    "the rule `{rule}` denies reading `{path}`, so it cannot be changed either",
                    rule,
                    path = shown
                ),
            );
        }
        if let Some(verdict) = self.read_only_denial() {
            return verdict;
        }
        let allowed = self.allow_rule(path, write_glob);
        if let Some(name) = self.protected_name(path) {
            return match allowed.filter(|(_, glob)| names_explicitly(glob, name)) {
                Some((rule, _)) => Verdict::allow(rule),
                None => {
                    let reason = sentence!(
                        "`{path}` is protected: what is in `{name}` can make other programs run commands or widen \
                         permissions",
                        path = shown,
                        name
                    );
                    Verdict::deny("protected", with_flags(reason, format!("`--allow 'Write({shown})'`")))
                }
            };
        }
        if allowed.is_none() && !self.is_in_workspace(path) {
            let reason = sentence!(
                "`{path}` is outside the workspace `{workspace}`",
                path = shown,
                workspace = self.workspace.display()
            );
            let flags = either("`--add-dir`", format!("`--allow 'Write({shown})'`"));
            return Verdict::deny(OUTSIDE, with_flags(reason, flags));
        }
        // The result of an edit shows the lines around the change.
        if let Some(rule) = self.ask_rule(path, write_glob).or_else(|| self.ask_rule(path, read_glob)) {
            return Verdict::ask(
                rule,
                sentence!("writing `{path}` needs approval under the rule `{rule}`", path = shown, rule),
            );
        }
        match allowed {
            Some((rule, _)) => Verdict::allow(rule),
            None if self.is_strict() => self.ask_uncovered("Write", path),
            None => Verdict::allow("workspace"),
        }
    }

    /// Whether all calls that no rule covers need approval, including calls on files. `--force` lifts this requirement.
    fn is_strict(&self) -> bool {
        self.approval == ApprovalMode::Strict && self.mode != PermissionMode::Force
    }

    /// Returns the verdict that a person must approve a call that no rule covers.
    fn ask_uncovered(&self, kind: &str, path: &Path) -> Verdict {
        let shown = path.display();
        let reason = sentence!("no rule allows `{kind}` of `{path}`", kind, path = shown);
        Verdict::ask("default", with_flags(reason, format!("`--allow '{kind}({shown})'`")))
    }

    /// Returns the denial of the read-only modes.
    pub(crate) fn read_only_denial(&self) -> Option<Verdict> {
        match self.mode {
            PermissionMode::Default | PermissionMode::Force => None,
            PermissionMode::Plan => {
                let reason = sentence!(
                    "`--mode plan` changes no files and runs no commands; answer with a plan instead"
                );
                Some(Verdict::deny("--mode plan", reason))
            }
            PermissionMode::Ask => {
                let reason = sentence!(
                    "`--mode ask` changes no files and runs no commands; answer from what you can read"
                );
                Some(Verdict::deny("--mode ask", reason))
            }
        }
    }

    /// Whether `path` is in the workspace or an extra directory.
    pub(crate) fn is_in_workspace(&self, path: &Path) -> bool {
        path.starts_with(&self.workspace) || self.extra_dirs.iter().any(|extra| path.starts_with(extra))
    }

    /// Returns the ask rule that covers `path`, unless `--force` lifts it.
    fn ask_rule<'a>(
        &'a self,
        path: &Path,
        glob: impl Fn(&'a Rule) -> Option<&'a PathGlob>,
    ) -> Option<&'a Rule> {
        if self.mode == PermissionMode::Force {
            return None;
        }
        self.first_match(&self.ask, path, glob).map(|(rule, _)| rule)
    }

    /// Returns the deny rule that covers `path`, with its pattern.
    pub(crate) fn deny_rule<'a>(
        &'a self,
        path: &Path,
        glob: impl Fn(&'a Rule) -> Option<&'a PathGlob>,
    ) -> Option<(&'a Rule, &'a PathGlob)> {
        self.first_match(&self.deny, path, glob)
    }

    /// Returns the first of `rules` whose glob covers `path`, matched as for deny rules.
    fn first_match<'a>(
        &self,
        rules: &'a [Rule],
        path: &Path,
        glob: impl Fn(&'a Rule) -> Option<&'a PathGlob>,
    ) -> Option<(&'a Rule, &'a PathGlob)> {
        if rules.is_empty() {
            return None;
        }
        let pairs = CharPairs::in_path(path);
        let mut globs = rules.iter().filter_map(|rule| Some((rule, glob(rule)?)));
        globs.find(|(_, glob)| glob.may_deny(pairs) && glob.denies(path, &self.workspace, &self.home))
    }

    /// Returns the allow rule that covers `path`, with its pattern.
    fn allow_rule<'a>(
        &'a self,
        path: &Path,
        glob: impl Fn(&'a Rule) -> Option<&'a PathGlob>,
    ) -> Option<(&'a Rule, &'a PathGlob)> {
        let pairs = self.allow.iter().filter_map(|rule| Some((rule, glob(rule)?)));
        pairs.into_iter().find(|(_, glob)| glob.allows(path, &self.workspace, &self.home))
    }
}

/// Adds to a reason with which flags a person can allow the access.
pub(crate) fn with_flags(reason: Sentence, flags: impl Into<Sentence>) -> Sentence {
    let flags = flags.into();
    sentence!("{reason}; a person may allow it with {flags}", reason, flags)
}

/// Like [`with_flags`], for a reason that ends with what the model can do instead.
pub(crate) fn with_alternative_flags(reason: Sentence, flags: impl Into<Sentence>) -> Sentence {
    let flags = flags.into();
    sentence!("{reason}, or a person may allow it with {flags}", reason, flags)
}

/// Removes what [`with_flags`] has added.
pub(crate) fn without_flags(reason: &Sentence) -> Option<&Sentence> {
    reason.part("flags").and_then(|_| reason.part("reason"))
}

/// Returns two flags as alternatives.
pub(crate) fn either(first: impl Display, second: impl Display) -> Sentence {
    sentence!("{first} or {second}", first, second)
}

/// Returns the pattern of a rule about reading.
pub(crate) fn read_glob(rule: &Rule) -> Option<&PathGlob> {
    match rule {
        Rule::Read(glob) => Some(glob),
        Rule::Shell(_) | Rule::Write(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => None,
    }
}

/// Returns the pattern of a rule about writing.
pub(crate) fn write_glob(rule: &Rule) -> Option<&PathGlob> {
    match rule {
        Rule::Write(glob) => Some(glob),
        Rule::Shell(_) | Rule::Read(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => None,
    }
}
