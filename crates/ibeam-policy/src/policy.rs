//! The decision. Deny rules first, then what nothing but a names_explicitly-out rule lifts, then the mode; then ask rules,
//! which `--force` lifts, then allow rules, then what is not covered.

use std::path::{Component, Path, PathBuf};

use ibeam_protocol::PermissionMode;

use crate::access::Access;
use crate::glob::PathGlob;
use crate::names;
use crate::pattern::CharPairs;
use crate::place;
use crate::rule::Rule;

/// What may be done in a run.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What may be done without asking.
    pub mode: PermissionMode,
    /// Absolute, resolved directory whose files may be read and written.
    pub workspace: PathBuf,
    /// Further directories like the workspace.
    pub extra_dirs: Vec<PathBuf>,
    /// The home directory: `~/` in tokens, and where other programs keep their credentials.
    pub home: PathBuf,
    /// Our own directories for keys and sessions, wherever the environment puts them: neither read nor written.
    pub private_dirs: Vec<PathBuf>,
    /// Files with credentials of other programs that the environment names, in addition to those of the table: neither
    /// read nor written.
    pub credential_files: Vec<PathBuf>,
    /// A second home directory of the user, whose credentials are kept like those of `home`.
    pub other_home: Option<PathBuf>,
    /// PathList in the workspace whose content makes other programs run something, though no name tells: the directory
    /// that `core.hooksPath` names, a git directory under another name. Protected like the names.
    pub protected_paths: Vec<PathBuf>,
    /// Widen what may be done.
    pub allow: Vec<Rule>,
    /// Put a call to a person, whatever allows it; `--force` lifts that.
    pub ask: Vec<Rule>,
    /// Narrow it, whatever else says yes.
    pub deny: Vec<Rule>,
    /// Tools of MCP servers, by server and name, that are not what a person approved: not called.
    pub unapproved_mcp_tools: Vec<(String, String)>,
    /// What becomes of a call that no rule covers.
    pub approval: ApprovalMode,
    /// Commands are confined by the kernel.
    pub sandboxed: bool,
}

/// What becomes of a call that no rule covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// A command runs where the sandbox holds it; without a sandbox it is put to a person.
    #[default]
    Sandboxed,
    /// A command is put to a person.
    Allowlist,
    /// So is whatever writes, and whatever reads outside of the workspace.
    Strict,
}

/// A decision, with the rule that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow {
        /// A token, `workspace`, `default` or `--force`.
        rule: String,
    },
    /// It must not run, whoever asks.
    Deny {
        /// A token, or the name of a built-in rule.
        rule: String,
        /// One sentence for the model, with the way out.
        reason: String,
    },
    /// A person may let it run; where nobody is, it must not.
    Ask {
        /// The name of a built-in rule.
        rule: String,
        /// One sentence for the model, with the way out.
        reason: String,
    },
}

impl Verdict {
    pub(crate) fn allow(rule: impl ToString) -> Self {
        Self::Allow { rule: rule.to_string() }
    }

    pub(crate) fn deny(rule: impl ToString, reason: impl Into<String>) -> Self {
        Self::Deny { rule: rule.to_string(), reason: reason.into() }
    }

    pub(crate) fn ask(rule: impl ToString, reason: impl Into<String>) -> Self {
        Self::Ask { rule: rule.to_string(), reason: reason.into() }
    }
}

impl Policy {
    /// A policy without rules.
    pub fn new(mode: PermissionMode, workspace: PathBuf, home: PathBuf) -> Self {
        Self {
            mode,
            workspace,
            extra_dirs: Vec::new(),
            home,
            private_dirs: Vec::new(),
            credential_files: Vec::new(),
            other_home: None,
            protected_paths: Vec::new(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            unapproved_mcp_tools: Vec::new(),
            approval: ApprovalMode::default(),
            sandboxed: false,
        }
    }

    /// Decides about one access. Total: any path and any text has an answer; what cannot be understood is
    /// never allowed by a rule.
    pub fn decide(&self, access: &Access) -> Verdict {
        match access {
            Access::Nothing => Verdict::allow("default"),
            Access::Read(path) => self.read(path),
            Access::Write(path) => self.write(path),
            Access::Command { text, directory } => self.command(text, directory.as_deref()),
            Access::Fetch { url } => self.fetch(url),
            Access::Mcp { server, tool, read_only } => self.mcp(server, tool, *read_only),
        }
    }

    /// Decides about reading one file or directory.
    pub(crate) fn read(&self, path: &Path) -> Verdict {
        let shown = path.display();
        if !place::is_resolved(path) {
            return Verdict::deny("default", format!("the path `{shown}` is not absolute and resolved"));
        }
        if let Some((rule, _)) = self.denied(path, read_glob) {
            return Verdict::deny(rule, format!("reading `{shown}` is denied by the rule `{rule}`"));
        }
        let allowed = self.allowed(path, read_glob);
        if let Some(secret) = self.secret(path) {
            return match allowed.filter(|(_, glob)| names_explicitly(glob, secret)) {
                Some((rule, _)) => Verdict::allow(rule),
                None => Verdict::deny(
                    "credentials",
                    format!(
                        "`{shown}` is kept from the model, as credentials and process state are; a person may \
                         allow it with `--allow 'Read({shown})'`"
                    ),
                ),
            };
        }
        if let Some(rule) = self.asked(path, read_glob) {
            return Verdict::ask(rule, format!("reading `{shown}` needs an approval by the rule `{rule}`"));
        }
        match allowed {
            Some((rule, _)) => Verdict::allow(rule),
            None if self.contains(path) => Verdict::allow("workspace"),
            None if self.is_strict() => self.uncovered("Read", path),
            None => Verdict::allow("default"),
        }
    }

    /// Decides about creating, changing or removing one file.
    pub(crate) fn write(&self, path: &Path) -> Verdict {
        let shown = path.display();
        if !place::is_resolved(path) {
            return Verdict::deny("default", format!("the path `{shown}` is not absolute and resolved"));
        }
        if let Some((rule, _)) = self.denied(path, write_glob) {
            return Verdict::deny(rule, format!("writing `{shown}` is denied by the rule `{rule}`"));
        }
        if let Some((rule, _)) = self.denied(path, read_glob) {
            // An edit shows the lines around it.
            return Verdict::deny(
                rule,
                format!("`{shown}` may not be read by the rule `{rule}`, so not be changed"),
            );
        }
        if let Some(verdict) = self.read_only_mode("files") {
            return verdict;
        }
        let allowed = self.allowed(path, write_glob);
        if let Some(name) = self.guarded(path) {
            return match allowed.filter(|(_, glob)| names_explicitly(glob, name)) {
                Some((rule, _)) => Verdict::allow(rule),
                None => Verdict::deny(
                    "protected",
                    format!(
                        "`{shown}` is protected: what is in `{name}` can make other programs run commands or \
                         widen permissions; a person may allow it with `--allow 'Write({shown})'`"
                    ),
                ),
            };
        }
        if allowed.is_none() && !self.contains(path) {
            return Verdict::deny(
                "outside",
                format!(
                    "`{shown}` is outside the workspace `{}`; a person may allow it with `--add-dir` or \
                     `--allow 'Write({shown})'`",
                    self.workspace.display()
                ),
            );
        }
        // An edit shows the lines around it.
        if let Some(rule) = self.asked(path, write_glob).or_else(|| self.asked(path, read_glob)) {
            return Verdict::ask(rule, format!("writing `{shown}` needs an approval by the rule `{rule}`"));
        }
        match allowed {
            Some((rule, _)) => Verdict::allow(rule),
            None if self.is_strict() => self.uncovered("Write", path),
            None => Verdict::allow("workspace"),
        }
    }

    /// Whether what no rule covers is put to a person, files too; `--force` lifts that.
    fn is_strict(&self) -> bool {
        self.approval == ApprovalMode::Strict && self.mode != PermissionMode::Force
    }

    fn uncovered(&self, kind: &str, path: &Path) -> Verdict {
        let shown = path.display();
        let reason = format!(
            "no rule allows `{kind}` of `{shown}`; a person may allow it with `--allow '{kind}({shown})'`"
        );
        Verdict::ask("default", reason)
    }

    /// The denial of modes that change nothing.
    pub(crate) fn read_only_mode(&self, what: &str) -> Option<Verdict> {
        let (name, instead) = match self.mode {
            PermissionMode::Default | PermissionMode::Force => return None,
            PermissionMode::Plan => ("plan", "answer with a plan instead"),
            PermissionMode::Ask => ("ask", "answer from what you can read"),
        };
        let reason = format!("`--mode {name}` changes no {what} and runs no commands; {instead}");
        Some(Verdict::deny(format!("--mode {name}"), reason))
    }

    /// True when `path` is the workspace, an extra directory, or lies in one.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.workspace) || self.extra_dirs.iter().any(|extra| path.starts_with(extra))
    }

    fn secret(&self, path: &Path) -> Option<&'static str> {
        if self.private_dirs.iter().any(|private| path.starts_with(private)) {
            return Some("ibeam's own directory");
        }
        if self.credential_files.iter().any(|named| path.starts_with(named)) {
            return Some("credentials that the environment names");
        }
        let homes = std::iter::once(&self.home).chain(&self.other_home);
        homes.into_iter().find_map(|home| place::credential(path, home))
    }

    /// The protected name on the way to `path`, or the secret it is.
    pub(crate) fn guarded(&self, path: &Path) -> Option<&str> {
        let own = std::iter::once(&self.workspace).chain(&self.extra_dirs);
        let own = own.filter(|directory| path.starts_with(directory)).map(|own| normal_count(own)).max();
        let by_use = || {
            let place = self.protected_paths.iter().find(|place| place::lies_in(path, place))?;
            place.file_name()?.to_str()
        };
        let by_name = names::protected(path, own.unwrap_or(0)).map(|entry| entry.name);
        by_name.or_else(|| self.secret(path)).or_else(by_use)
    }

    /// The ask rule about `path`, unless `--force` lifts it.
    fn asked<'a>(&'a self, path: &Path, glob: impl Fn(&'a Rule) -> Option<&'a PathGlob>) -> Option<&'a Rule> {
        if self.mode == PermissionMode::Force {
            return None;
        }
        self.narrowing(&self.ask, path, glob).map(|(rule, _)| rule)
    }

    pub(crate) fn denied<'a>(
        &'a self,
        path: &Path,
        glob: impl Fn(&'a Rule) -> Option<&'a PathGlob>,
    ) -> Option<(&'a Rule, &'a PathGlob)> {
        self.narrowing(&self.deny, path, glob)
    }

    /// The first of `rules` whose glob covers `path` as deny rules do.
    fn narrowing<'a>(
        &self,
        rules: &'a [Rule],
        path: &Path,
        glob: impl Fn(&'a Rule) -> Option<&'a PathGlob>,
    ) -> Option<(&'a Rule, &'a PathGlob)> {
        if rules.is_empty() {
            return None;
        }
        let pairs = CharPairs::of_path(path);
        let mut globs = rules.iter().filter_map(|rule| Some((rule, glob(rule)?)));
        globs.find(|(_, glob)| glob.may_deny(pairs) && glob.denies(path, &self.workspace, &self.home))
    }

    fn allowed<'a>(
        &'a self,
        path: &Path,
        glob: impl Fn(&'a Rule) -> Option<&'a PathGlob>,
    ) -> Option<(&'a Rule, &'a PathGlob)> {
        let pairs = self.allow.iter().filter_map(|rule| Some((rule, glob(rule)?)));
        pairs.into_iter().find(|(_, glob)| glob.allows(path, &self.workspace, &self.home))
    }
}

/// How many names `path` has.
fn normal_count(path: &Path) -> usize {
    path.components().filter(|component| matches!(component, Component::Normal(_))).count()
}

pub(crate) fn read_glob(rule: &Rule) -> Option<&PathGlob> {
    match rule {
        Rule::Read(glob) => Some(glob),
        Rule::Shell(_) | Rule::Write(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => None,
    }
}

pub(crate) fn write_glob(rule: &Rule) -> Option<&PathGlob> {
    match rule {
        Rule::Write(glob) => Some(glob),
        Rule::Shell(_) | Rule::Read(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => None,
    }
}

/// True when the rule means this place and not just everything: `Write(**)` does not open `.git/hooks`.
pub(crate) fn names_explicitly(glob: &PathGlob, name: &str) -> bool {
    let first = name.trim_start_matches('/').split('/').next().unwrap_or(name);
    glob.is_plain() || glob.spells(first)
}
