//! Checks of paths in commands: working directories, the paths that words and redirections may refer to, and the rules
//! and protected paths that apply to them.

use std::path::{Path, PathBuf};

use ibeam_protocol::{PermissionMode, Sentence, sentence};

use super::Unanalyzable;
use super::coverage::RuleEffect;
use super::hazard;
use super::named_files::NamedFile;
use super::ordinary_git;
use super::program_lists::{READERS, WRITERS};
use super::word::Word;
use super::wrapper::{self, Call, CommandStep, CommandSteps};
use super::written_files::{is_changed_by_git, writes_argument};
use crate::links::normalize;
use crate::pattern::CharPairs;
use crate::policy::{Policy, Verdict, either, with_alternative_flags, with_flags};
use crate::rule::Rule;

impl Policy {
    /// Returns the directory in which a command starts.
    pub(crate) fn start_directory<'a>(&'a self, directory: Option<&'a Path>) -> &'a Path {
        directory.unwrap_or(&self.workspace)
    }

    /// Returns the verdict of path rules about starting in `directory`, as for `cd DIRECTORY`.
    pub(crate) fn start_verdict(&self, directory: &Path) -> Option<Verdict> {
        match self.decide_read(directory) {
            Verdict::Deny { rule, .. } if self.is_enforced_by_sandbox(&rule, directory) => None,
            verdict @ Verdict::Deny { .. } => Some(verdict),
            verdict @ Verdict::Ask { .. } if self.mode == PermissionMode::Default => Some(verdict),
            // `--force` lifts questions, and read-only modes run no commands at all.
            Verdict::Allow { .. } | Verdict::Ask { .. } => None,
        }
    }

    /// Returns the possible working directories of each step when the first runs in `start`, and those after the last
    /// step, and the reason if they are unknown.
    pub(crate) fn possible_directories(
        &self,
        steps: &[CommandStep],
        start: &Path,
    ) -> (Vec<Vec<PathBuf>>, Option<Unanalyzable>) {
        let mut now = vec![normalize(start)];
        let mut unknown_directory = None;
        let mut all = Vec::new();
        for step in steps {
            all.push(now.clone());
            if unknown_directory.is_none() && !self.follow_cd(step, &mut now) {
                unknown_directory = Some(Unanalyzable("a change of directory that cannot be followed"));
            }
        }
        all.push(now);
        (all, unknown_directory)
    }

    /// Adds the possible targets of a `cd`. Returns false if they are unknown.
    fn follow_cd(&self, step: &CommandStep, directories: &mut Vec<PathBuf>) -> bool {
        let changes = |call: &&Call| matches!(call.name().as_str(), "cd" | "pushd" | "popd");
        let Some(call) = step.call_chain.last().filter(changes) else { return true };
        let options =
            call.args.iter().take_while(|arg| matches!(arg.text.as_str(), "-L" | "-P" | "--")).count();
        let more = match call.args.get(options..).unwrap_or_default() {
            [] if call.name() == "cd" => vec![self.home.clone()],
            [to] if call.name() == "cd" && !to.has_glob && to.is_known() && !to.text.starts_with('-') => {
                if step.may_repeat && !to.has_tilde && !to.text.starts_with('/') {
                    return false;
                }
                self.resolve(&to.text, to.has_tilde, directories)
            }
            _ => return false,
        };
        for directory in more {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        directories.len() <= 64
    }

    /// Returns the first of `rules` that covers a path of a step, with a sentence that says so.
    pub(crate) fn restricting_path_rule<'r>(
        &self,
        rules: &'r [Rule],
        step: &CommandStep,
        directories: &[PathBuf],
        effect: RuleEffect,
    ) -> Option<(&'r Rule, Sentence)> {
        if !rules.iter().any(|rule| matches!(rule, Rule::Read(_) | Rule::Write(_))) {
            return None;
        }
        for redirect in &step.redirects {
            let found = self.restricting_word_rule(
                rules,
                "",
                &redirect.target,
                directories,
                !redirect.writes,
                redirect.writes,
            );
            if let Some((rule, path)) = found {
                let reason = match effect {
                    RuleEffect::Deny => {
                        sentence!(
                            "the redirection touches `{path}`, which the rule `{rule}` denies",
                            path,
                            rule
                        )
                    }
                    RuleEffect::Ask => sentence!(
                        "the redirection touches `{path}`, which the rule `{rule}` asks a person about",
                        path,
                        rule
                    ),
                    RuleEffect::Match => {
                        sentence!(
                            "the redirection touches `{path}`, which the rule `{rule}` matches",
                            path,
                            rule
                        )
                    }
                };
                return Some((rule, reason));
            }
        }
        let call = step.call_chain.last().filter(|_| !step.calls_function)?;
        let name = call.name();
        let name = name.as_str();
        if reads_directory_trees(call, name)
            && let Some(rule) = self.rule_hiding_below(rules, &self.walked_directories(call, directories))
        {
            let reason = sentence!(
                "`{program}` would read a whole directory, where the rule `{rule}` may keep something from the model; \
                 name the files, or use the grep tool",
                program = name,
                rule
            );
            return Some((rule, reason));
        }
        for (at, arg) in call.args.iter().enumerate() {
            if !arg.is_known() && !hazard::is_relevant_unknown(call, at) {
                continue;
            }
            let writes = !READERS.contains(&name) || writes_argument(call, at) || is_changed_by_git(call);
            if let Some((rule, path)) =
                self.restricting_word_rule(rules, name, arg, directories, true, writes)
            {
                let reason = match effect {
                    RuleEffect::Deny => {
                        sentence!("`{path}` is or may be a file that the rule `{rule}` denies", path, rule)
                    }
                    RuleEffect::Ask => {
                        sentence!(
                            "`{path}` is or may be a file that the rule `{rule}` asks a person about",
                            path,
                            rule
                        )
                    }
                    RuleEffect::Match => {
                        sentence!("`{path}` is or may be a file that the rule `{rule}` matches", path, rule)
                    }
                };
                return Some((rule, reason));
            }
        }
        None
    }

    /// Returns the first of `rules` that covers a path that a word may refer to.
    fn restricting_word_rule<'r>(
        &self,
        rules: &'r [Rule],
        name: &str,
        word: &Word,
        directories: &[PathBuf],
        reads: bool,
        writes: bool,
    ) -> Option<(&'r Rule, String)> {
        if word.is_process_substitution {
            return None;
        }
        let first_match = |path: Option<&Path>| {
            let pairs = path.map(CharPairs::in_path);
            rules.iter().find(|rule| {
                let glob = match rule {
                    Rule::Read(glob) if reads || writes => glob,
                    Rule::Write(glob) if writes => glob,
                    Rule::Shell(_)
                    | Rule::Read(_)
                    | Rule::Write(_)
                    | Rule::WebFetch(_)
                    | Rule::Mcp { .. } => return false,
                };
                match path.zip(pairs) {
                    Some((path, pairs)) => {
                        glob.may_deny(pairs) && glob.denies(path, &self.workspace, &self.home)
                    }
                    None => !word.is_known() || (word.has_glob && glob.may_overlap(&word.text)),
                }
            })
        };
        if (!word.is_known() || word.has_glob)
            && let Some(rule) = first_match(None)
        {
            return Some((rule, word.text.clone()));
        }
        // A pattern that matches too many files is denied with the credentials.
        let files = self.named_files(name, word, directories).unwrap_or_default();
        files.into_iter().find_map(|NamedFile { spelling, path, .. }| {
            first_match(Some(&path)).map(|rule| (rule, spelling.to_owned()))
        })
    }

    /// Checks a step against built-in protection: credentials, protected paths, paths outside. If a path only needs an
    /// allow rule, stores that verdict in `uncovered`.
    pub(crate) fn check_paths(
        &self,
        step: &CommandStep,
        directories: &[PathBuf],
        uncovered: &mut Option<Verdict>,
    ) -> Option<Verdict> {
        for redirect in &step.redirects {
            if !redirect.target.is_known() {
                *uncovered = Some(unknown_file(&redirect.target.text));
            }
            for path in self.resolve(&redirect.target.text, redirect.target.has_tilde, directories) {
                let verdict =
                    if redirect.writes { self.decide_write(&path) } else { self.decide_read(&path) };
                match verdict {
                    Verdict::Deny { ref rule, .. } if self.is_enforced_by_sandbox(rule, &path) => {}
                    Verdict::Deny { .. } => return Some(verdict),
                    // Ask rules were checked separately.
                    Verdict::Ask { ref rule, .. } if rule != "default" => {}
                    Verdict::Ask { .. } => *uncovered = Some(verdict),
                    Verdict::Allow { rule } if redirect.writes && rule == "workspace" => {
                        let shown = path.display();
                        let reason = sentence!(
                            "the redirection to `{path}` needs a rule; write the file with the write tool",
                            path = shown
                        );
                        let flags = either(format!("`--allow 'Write({shown})'`"), "`--force`");
                        *uncovered = Some(Verdict::ask("default", with_alternative_flags(reason, flags)));
                    }
                    Verdict::Allow { .. } => {}
                }
            }
        }
        let call = step.call_chain.last().filter(|_| !step.calls_function)?;
        let name = call.name();
        if reads_directory_trees(call, &name)
            && let Some(root) =
                self.walked_directories(call, directories).iter().find(|root| self.is_near_credentials(root))
        {
            let reason = sentence!(
                "`{program}` would read all of `{directory}`, which contains credentials; name the files",
                program = name,
                directory = root.display()
            );
            return Some(Verdict::deny("credentials", reason));
        }
        if hazard::depends_on_directory(call) {
            // A program uses the configuration of its working directory and runs code in it.
            let mut places = directories.to_vec();
            if name == "git" {
                places.extend(self.git_directories(call, directories));
            }
            if let Some(outside) = places.iter().find(|directory| !self.is_in_workspace(directory)) {
                let shown = outside.display();
                let reason = sentence!(
                    "`{program}` would run in `{directory}`, outside the workspace",
                    program = name,
                    directory = shown
                );
                let reason = with_flags(reason, format!("`--add-dir {shown}`"));
                *uncovered = Some(Verdict::ask("outside", reason));
            }
        }
        // The sandbox would keep the protected names.
        if !self.sandboxed && WRITERS.contains(&name.as_str()) {
            let mut computed = (0..call.args.len()).filter(|at| hazard::is_relevant_unknown(call, *at));
            if let Some(arg) = computed.find_map(|at| call.args.get(at).filter(|arg| !arg.is_number)) {
                *uncovered = Some(unknown_file(&arg.text));
            }
        }
        call.args.iter().enumerate().find_map(|(at, arg)| {
            self.check_argument(&name, arg, writes_argument(call, at), directories, uncovered)
        })
    }

    /// Returns the directories in which git searches for a repository when a text runs.
    pub(crate) fn git_search_directories(&self, text: &str, directory: Option<&Path>) -> Vec<PathBuf> {
        let Ok(CommandSteps { steps, defines_functions }) = wrapper::parse_steps(text) else {
            return Vec::new();
        };
        let (directories, _) = self.possible_directories(&steps, self.start_directory(directory));
        let mut places = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let Some(call) =
                step.call_chain.last().filter(|call| !step.calls_function && call.name() == "git")
            else {
                continue;
            };
            let at = if defines_functions { directories.len().saturating_sub(1) } else { at };
            let (_, is_ordinary) = ordinary_git::arguments(call);
            if let Some(start) = directories.get(at).filter(|_| is_ordinary) {
                places.extend(self.git_directories(call, start));
            }
        }
        places.sort();
        places.dedup();
        places
    }

    /// Returns the directories in which a git command searches for its repository. Each `-C` is relative to the one
    /// before.
    pub(crate) fn git_directories(&self, call: &Call, directories: &[PathBuf]) -> Vec<PathBuf> {
        let mut places = directories.to_vec();
        for (option, directory) in call.args.iter().zip(call.args.iter().skip(1)) {
            if option.text == "-C" {
                let more = self.resolve(&directory.text, directory.has_tilde, &places);
                places = [directories, more.as_slice()].concat();
                places.truncate(256);
            }
        }
        places
    }

    /// Checks one argument against built-in protection, as [`Self::check_paths`] does.
    fn check_argument(
        &self,
        name: &str,
        arg: &Word,
        writes: bool,
        directories: &[PathBuf],
        uncovered: &mut Option<Verdict>,
    ) -> Option<Verdict> {
        if arg.is_process_substitution {
            return None;
        }
        if arg.has_glob
            && let Some(verdict) = self.check_credential_pattern(arg, directories)
        {
            return Some(verdict);
        }
        let Some(files) = self.named_files(name, arg, directories) else {
            let reason = sentence!(
                "`{pattern}` matches more files than can be checked for links to credentials; name the files",
                pattern = arg.text
            );
            return Some(Verdict::deny("credentials", reason));
        };
        for NamedFile { spelling, path, is_linked } in files {
            if let Verdict::Deny { rule, reason } = self.decide_read(&path)
                && !self.is_enforced_by_sandbox(&rule, &path)
            {
                return Some(Verdict::Deny { rule, reason });
            }
            let only_reads = READERS.contains(&name) && !hazard::runs_code(name) && !writes;
            if only_reads || spelling.starts_with('-') {
                continue;
            }
            let Verdict::Deny { rule, reason } = self.decide_write(&path) else { continue };
            if self.is_enforced_by_sandbox(&rule, &path) {
                continue;
            }
            if matches!(name, "mkdir" | "rmdir") && self.protected_name(&path) == Some("HEAD") {
                continue;
            }
            let is_plain = !is_linked && !arg.has_glob && arg.is_known();
            if matches!(name, "rm" | "unlink")
                && is_plain
                && rule == "protected"
                && self.is_left_index_lock(&path)
            {
                continue;
            }
            if writes {
                return Some(Verdict::Deny { rule, reason });
            }
            if is_linked || spelling.contains('/') || spelling == ".." {
                *uncovered = Some(Verdict::Ask { rule, reason });
            }
        }
        None
    }

    /// Whether `path` is the lock of the index of a repository in the workspace, which a killed git has left.
    fn is_left_index_lock(&self, path: &Path) -> bool {
        let mut roots = std::iter::once(&self.workspace).chain(&self.extra_dirs);
        roots.any(|root| path == root.join(".git/index.lock")) && (self.is_left_lock)(path)
    }

    /// Whether the sandbox enforces a built-in rule for `path`. The sandbox confines writes, and it gives commands
    /// their own `/dev` and `/proc`, to which the rule about credentials does not apply.
    fn is_enforced_by_sandbox(&self, rule: &str, path: &Path) -> bool {
        let own = || ["/dev", "/proc"].iter().any(|own| path.starts_with(own));
        self.sandboxed && (rule == "outside" || (rule == "credentials" && own()))
    }

    /// Returns the denial for a pattern that may match a credential file.
    fn check_credential_pattern(&self, word: &Word, directories: &[PathBuf]) -> Option<Verdict> {
        let text = &word.text;
        let literal = text.split(['*', '?', '[']).next().unwrap_or("");
        let directory = literal.rfind('/').map_or("", |slash| literal.get(..=slash).unwrap_or(""));
        let found = self
            .resolve(directory, word.has_tilde, directories)
            .iter()
            .any(|path| self.is_near_credentials(path) || (path.starts_with("/proc") && !self.sandboxed));
        found.then(|| {
            let reason =
                sentence!("`{pattern}` may match a file with credentials; name the files", pattern = text);
            Verdict::deny("credentials", reason)
        })
    }

    /// Returns the directories that a command may walk: its operands, and its working directories if it has none.
    fn walked_directories(&self, call: &Call, directories: &[PathBuf]) -> Vec<PathBuf> {
        let operands = call.args.iter().filter(|arg| !arg.text.starts_with('-'));
        let mut roots: Vec<PathBuf> =
            operands.flat_map(|arg| self.resolve(&arg.text, arg.has_tilde, directories)).collect();
        roots.extend_from_slice(directories);
        roots
    }

    /// Returns the first of `rules` that may hide something below one of these directories.
    fn rule_hiding_below<'r>(&self, rules: &'r [Rule], roots: &[PathBuf]) -> Option<&'r Rule> {
        rules.iter().find(|rule| match rule {
            Rule::Read(glob) => {
                roots.iter().any(|root| glob.may_match_below(root, &self.workspace, &self.home))
            }
            Rule::Shell(_) | Rule::Write(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => false,
        })
    }

    /// Whether a directory outside the workspace contains, or is in, the home directory.
    fn is_near_credentials(&self, path: &Path) -> bool {
        !self.is_in_workspace(path) && (path.starts_with(&self.home) || self.home.starts_with(path))
    }
}

/// Returns the question about a file whose name the shell computes.
fn unknown_file(shown: &str) -> Verdict {
    let reason = sentence!("the file `{path}` is unknown; write its name", path = shown);
    Verdict::ask("default", with_alternative_flags(reason, "`--force`"))
}

/// Whether a program reads everything below the directories it is given.
fn reads_directory_trees(call: &Call, name: &str) -> bool {
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
