//! The decision about a command: every rule against every simple command, path and redirection.

use std::path::{Component, Path, PathBuf};

use ibeam_protocol::PermissionMode;

use super::hazard;
use super::programs::{READERS, STREAMS, WRITERS};
use super::script::mentions;
use super::words::{Opaque, Word};
use super::wrapper::{self, Call, Step};
use crate::policy::{Policy, Verdict};
use crate::rule::{Rule, ShellRule};

const MANUAL: &str = "a person may allow it with";

impl Policy {
    /// Decides about a text for `bash -c` that starts in the workspace.
    pub(crate) fn command(&self, text: &str) -> Verdict {
        if let Some(verdict) = self.read_only_mode("files") {
            return verdict;
        }
        let steps = match wrapper::steps(text) {
            Ok(steps) => steps,
            Err(opaque) => return self.opaque(opaque),
        };
        if let Some(verdict) = self.denied_step(&steps) {
            return verdict;
        }
        let mut directories = vec![self.workspace.clone()];
        let mut uncovered = None;
        for step in &steps {
            if let Some(verdict) = self.denied_path(step, &directories, &mut uncovered) {
                return verdict;
            }
            if let Err(verdict) = self.follow_cd(step, &mut directories) {
                return verdict;
            }
        }
        if self.mode == PermissionMode::Force {
            return Verdict::allow("--force");
        }
        if let Some(verdict) = uncovered {
            return verdict;
        }
        let mut rules: Vec<String> = Vec::new();
        for step in steps.iter().filter(|step| !step.layers.is_empty()) {
            match self.covering(step) {
                Ok(rule) if rules.contains(&rule) => {}
                Ok(rule) => rules.push(rule),
                Err(verdict) => return verdict,
            }
        }
        if rules.is_empty() {
            return Verdict::ask("default", "the command runs no program that a rule could cover");
        }
        Verdict::allow(rules.join(", "))
    }

    fn opaque(&self, Opaque(what): Opaque) -> Verdict {
        // What cannot be read could be what is denied.
        let narrowing = self.deny.iter().find(|rule| match rule {
            Rule::Shell(_) | Rule::Read(_) | Rule::Write(_) => true,
            Rule::WebFetch(_) | Rule::Mcp { .. } => false,
        });
        if let Some(rule) = narrowing {
            let reason = format!(
                "the command has {what}, so it cannot be checked against the deny rule `{rule}`; use simple commands \
                 joined by `&&`, `||`, `;` or `|`"
            );
            return Verdict::deny(rule, reason);
        }
        if self.mode == PermissionMode::Force {
            return Verdict::allow("--force");
        }
        Verdict::ask(
            "default",
            format!(
                "the command has {what}, which no allow rule covers; use simple commands joined by `&&`, `||`, `;` or \
                 `|`, or {MANUAL} `--force`"
            ),
        )
    }

    /// Deny rules for programs, on every layer of every step.
    fn denied_step(&self, steps: &[Step]) -> Option<Verdict> {
        let shell_rules = || {
            self.deny.iter().filter_map(|rule| match rule {
                Rule::Shell(shell) => Some((rule, shell)),
                Rule::Read(_) | Rule::Write(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => None,
            })
        };
        let calls = || steps.iter().flat_map(|step| &step.layers);
        for (rule, shell) in shell_rules() {
            if let Some(call) = calls().find(|call| is_denied(shell, call)) {
                let program = &call.program.text;
                return Some(Verdict::deny(
                    rule,
                    format!("running `{program}` is denied by the rule `{rule}`"),
                ));
            }
        }
        let (rule, _) = shell_rules().next()?;
        let call = calls().find(|call| hazard::is_dynamic(call))?;
        let program = &call.program.text;
        let reason = format!(
            "what `{program}` runs here cannot be told, so it cannot be checked against the deny rule `{rule}`; run \
             the command itself"
        );
        Some(Verdict::deny(rule, reason))
    }

    /// Path rules on the words and redirections of a step. A path that merely needs a rule is noted.
    fn denied_path(
        &self,
        step: &Step,
        directories: &[PathBuf],
        uncovered: &mut Option<Verdict>,
    ) -> Option<Verdict> {
        for redirect in &step.redirects {
            for path in self.resolve(&redirect.target.text, redirect.target.tilde, directories) {
                let verdict = if redirect.writes { self.write(&path) } else { self.read(&path) };
                match verdict {
                    Verdict::Deny { .. } => return Some(verdict),
                    Verdict::Ask { .. } => *uncovered = Some(verdict),
                    Verdict::Allow { rule } if redirect.writes && rule == "workspace" => {
                        let shown = path.display();
                        let reason = format!(
                            "the redirection to `{shown}` needs a rule; write the file with the write tool, or \
                             {MANUAL} `--allow 'Write({shown})'` or `--force`"
                        );
                        *uncovered = Some(Verdict::ask("default", reason));
                    }
                    Verdict::Allow { .. } => {}
                }
            }
        }
        let call = step.layers.last()?;
        let name = call.name();
        if walks(call, &name) {
            let roots = self.roots(call, directories);
            if let Some(rule) = self.hidden_below(&roots) {
                let reason = format!(
                    "`{name}` would read a whole directory, where the deny rule `{rule}` may keep something from \
                     the model; name the files, or use the grep tool"
                );
                return Some(Verdict::deny(rule, reason));
            }
            if let Some(root) = roots.iter().find(|root| self.is_near_credentials(root)) {
                let reason = format!(
                    "`{name}` would read all of `{}`, where credentials lie; name the files",
                    root.display()
                );
                return Some(Verdict::deny("credentials", reason));
            }
        }
        if name == "git" {
            // The configuration of a repository elsewhere can name programs to run.
            let mut elsewhere = directories.to_vec();
            for (option, directory) in call.args.iter().zip(call.args.iter().skip(1)) {
                if option.text == "-C" {
                    elsewhere.extend(self.resolve(&directory.text, directory.tilde, directories));
                }
            }
            if let Some(outside) = elsewhere.iter().find(|directory| !self.contains(directory)) {
                let shown = outside.display();
                let reason = format!(
                    "`git` would run in `{shown}`, outside the workspace; {MANUAL} `--add-dir {shown}`"
                );
                *uncovered = Some(Verdict::ask("outside", reason));
            }
        }
        call.args.iter().find_map(|arg| self.denied_argument(&name, arg, directories, uncovered))
    }

    fn denied_argument(
        &self,
        name: &str,
        arg: &Word,
        directories: &[PathBuf],
        uncovered: &mut Option<Verdict>,
    ) -> Option<Verdict> {
        if arg.glob
            && let Some(verdict) = self.denied_pattern(arg, directories)
        {
            return Some(verdict);
        }
        for spelling in spellings(&arg.text).filter(|spelling| !STREAMS.contains(spelling)) {
            for path in self.resolve(spelling, arg.tilde || spelling.starts_with("~/"), directories) {
                let read = self.read(&path);
                if matches!(read, Verdict::Deny { .. }) {
                    return Some(read);
                }
                if READERS.contains(&name) || spelling.starts_with('-') {
                    continue;
                }
                let Verdict::Deny { rule, reason } = self.write(&path) else { continue };
                if WRITERS.contains(&name) || self.deny.iter().any(|deny| deny.to_string() == rule) {
                    return Some(Verdict::Deny { rule, reason });
                }
                if spelling.contains('/') || spelling == ".." {
                    *uncovered = Some(Verdict::Ask { rule, reason });
                }
            }
        }
        None
    }

    /// What a pattern may become, when that is denied.
    fn denied_pattern(&self, word: &Word, directories: &[PathBuf]) -> Option<Verdict> {
        let text = &word.text;
        let rule = self.deny.iter().find(|rule| match rule {
            Rule::Read(glob) | Rule::Write(glob) => glob.may_meet(text),
            Rule::Shell(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => false,
        });
        if let Some(rule) = rule {
            let reason =
                format!("`{text}` may stand for a file that the rule `{rule}` denies; name the files");
            return Some(Verdict::deny(rule, reason));
        }
        let literal = text.split(['*', '?', '[']).next().unwrap_or("");
        let directory = literal.rfind('/').map_or("", |slash| literal.get(..=slash).unwrap_or(""));
        let found = self
            .resolve(directory, word.tilde, directories)
            .iter()
            .any(|path| self.is_near_credentials(path) || path.starts_with("/proc"));
        found.then(|| {
            Verdict::deny(
                "credentials",
                format!("`{text}` may stand for a file with credentials; name the files"),
            )
        })
    }

    /// The directories that a command may walk: its operands, and where it runs when it has none.
    fn roots(&self, call: &Call, directories: &[PathBuf]) -> Vec<PathBuf> {
        let operands = call.args.iter().filter(|arg| !arg.text.starts_with('-'));
        let mut roots: Vec<PathBuf> =
            operands.flat_map(|arg| self.resolve(&arg.text, arg.tilde, directories)).collect();
        roots.extend_from_slice(directories);
        roots
    }

    /// The deny rule that may keep something below one of these directories.
    fn hidden_below(&self, roots: &[PathBuf]) -> Option<&Rule> {
        self.deny.iter().find(|rule| match rule {
            Rule::Read(glob) => {
                roots.iter().any(|root| glob.may_lie_below(root, &self.workspace, &self.home))
            }
            Rule::Shell(_) | Rule::Write(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => false,
        })
    }

    /// True for directories outside the workspace that hold, or lie in, the home directory.
    fn is_near_credentials(&self, path: &Path) -> bool {
        !self.contains(path) && (path.starts_with(&self.home) || self.home.starts_with(path))
    }

    /// Every place that a word may mean, as `cd` may or may not have happened.
    fn resolve(&self, text: &str, tilde: bool, directories: &[PathBuf]) -> Vec<PathBuf> {
        if tilde {
            let rest = text.trim_start_matches('~').trim_start_matches('/');
            return vec![lexical(&self.home.join(rest))];
        }
        directories.iter().map(|directory| lexical(&directory.join(text))).collect()
    }

    /// Adds where a `cd` may lead.
    fn follow_cd(&self, step: &Step, directories: &mut Vec<PathBuf>) -> Result<(), Verdict> {
        let Some(call) =
            step.layers.last().filter(|call| matches!(call.name().as_str(), "cd" | "pushd" | "popd"))
        else {
            return Ok(());
        };
        let lost = || self.opaque(Opaque("a change of directory that cannot be followed"));
        let more = match call.args.as_slice() {
            [] if call.name() == "cd" => vec![self.home.clone()],
            [to] if call.name() == "cd" && !to.glob && !to.text.starts_with('-') => {
                self.resolve(&to.text, to.tilde, directories)
            }
            _ => return Err(lost()),
        };
        for directory in more {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        if directories.len() > 64 { Err(lost()) } else { Ok(()) }
    }

    /// The allow rule that covers what a step runs, or why none does.
    fn covering(&self, step: &Step) -> Result<String, Verdict> {
        let Some((call, wrappers)) = step.layers.split_last() else { return Ok("default".to_owned()) };
        let hazard = hazard::hazard(call);
        for rule in &self.allow {
            let Rule::Shell(shell) = rule else { continue };
            let any_layer =
                wrappers.iter().any(|wrapper| shell.arguments.is_some() && is_covered(shell, wrapper, None));
            if any_layer || is_covered(shell, call, hazard) {
                return Ok(rule.to_string());
            }
        }
        let name = call.program.text.as_str();
        let shown = shown(call);
        let known =
            self.allow.iter().any(|rule| matches!(rule, Rule::Shell(shell) if names(&shell.program, name)));
        Err(match hazard {
            Some(why) => Verdict::ask(
                "default",
                format!(
                    "the command `{shown}` is not covered by an allow rule{}: it {why}; {MANUAL} \
                     `--allow 'Shell({name}:*)'` or `--force`",
                    if known { " for ordinary arguments" } else { "" }
                ),
            ),
            None => Verdict::ask(
                "default",
                format!(
                    "the command `{shown}` is not covered by an allow rule; {MANUAL} `--allow 'Shell({name})'` or \
                     `--force`"
                ),
            ),
        })
    }
}

/// True when an allow rule covers a call. `hazard` is what makes its arguments extraordinary.
fn is_covered(rule: &ShellRule, call: &Call, hazard: Option<&str>) -> bool {
    if !names(&rule.program, &call.program.text) {
        return false;
    }
    let Some(glob) = &rule.arguments else { return hazard.is_none() };
    if glob.to_string() == "*" {
        return true;
    }
    let (arguments, known) = arguments(call);
    known && !call.more && glob.matches(&arguments)
}

/// True when a deny rule covers a call, plainly or hidden in what it runs.
fn is_denied(rule: &ShellRule, call: &Call) -> bool {
    let denied = rule.program.rsplit('/').next().unwrap_or_default().to_lowercase();
    if denied == "*" || call.name() == denied {
        let Some(glob) = &rule.arguments else { return true };
        let (arguments, known) = arguments(call);
        return !known || call.more || glob.matches_folded(&arguments);
    }
    hazard::runs_its_arguments(call) && call.texts().any(|text| mentions(text, &denied))
}

/// The arguments as rules see them, and whether they tell what happens.
fn arguments(call: &Call) -> (String, bool) {
    if call.name() == "git" {
        let (arguments, ordinary) = hazard::git_arguments(call);
        return (arguments.join(" "), ordinary);
    }
    (call.texts().collect::<Vec<_>>().join(" "), true)
}

/// True when a rule's program is the one that `word` runs: by its bare name, or as the system's own file.
fn names(program: &str, word: &str) -> bool {
    const SYSTEM: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];
    let bare = match word.rsplit_once('/') {
        Some((directory, name)) if SYSTEM.contains(&directory) => name,
        Some(_) | None => word,
    };
    program == word || program == bare || (program == "*" && !bare.contains('/'))
}

/// True for programs that read everything below the directories they are given.
fn walks(call: &Call, name: &str) -> bool {
    let has = |letters: &[char], long: &[&str]| {
        call.texts().any(|arg| match arg.strip_prefix("--") {
            Some(option) => long.iter().any(|known| !option.is_empty() && known.starts_with(option)),
            None => arg.strip_prefix('-').is_some_and(|cluster| cluster.contains(letters)),
        })
    };
    match name {
        "rg" | "ag" | "ack" | "rgrep" | "tar" | "bsdtar" | "rsync" => true,
        "grep" | "egrep" | "fgrep" => {
            has(&['r', 'R', 'd'], &["recursive", "dereference-recursive", "directories"])
        }
        "cp" => has(&['r', 'R', 'a'], &["recursive", "archive"]),
        "diff" | "zip" => has(&['r'], &["recursive", "recurse-paths"]),
        "find" | "fd" => hazard::hazard(call).is_some(),
        _ => false,
    }
}

/// The paths that may hide in a word: itself, an option's value, what stands behind `=`, `:` and `@`.
fn spellings(text: &str) -> impl Iterator<Item = &str> {
    let value = text.split_once('=').map(|(_, value)| value);
    let attached =
        text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let behind = text.rsplit_once([':', '@']).map(|(_, path)| path);
    let url = text.strip_prefix("file://");
    [Some(text), value, attached, behind, url].into_iter().flatten().filter(|spelling| !spelling.is_empty())
}

/// Takes `.` and `..` out of an absolute path by its spelling.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// A call on one line, for messages.
fn shown(call: &Call) -> String {
    let words: Vec<&str> = std::iter::once(call.program.text.as_str()).chain(call.texts()).collect();
    let line = words.join(" ").replace('\n', " ");
    match line.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or("")),
        None => line,
    }
}
