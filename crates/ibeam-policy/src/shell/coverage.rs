//! The decision about a command: applies the rules to every simple command in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ibeam_protocol::{PermissionMode, Sentence, sentence};

use super::Unanalyzable;
use super::builtins;
use super::filter_scripts::possible_program_names;
use super::hazard;
use super::named_files::LinkedStep;
use super::ordinary_git;
use super::publishing::{PUBLISHES, may_publish, publishing_pattern};
use super::wrapper::{self, Call, CommandStep, CommandSteps};
use crate::policy::{ApprovalMode, Policy, Verdict, either, with_alternative_flags, with_flags};
use crate::rule::{Rule, ShellRule};

impl Policy {
    /// Decides about a text for `bash -c` that starts in `directory`, or in the workspace.
    pub(crate) fn decide_command(&self, text: &str, directory: Option<&Path>) -> Verdict {
        let start = self.start_directory(directory);
        let elsewhere = start != self.workspace;
        let steps = wrapper::parse_steps(text);
        let verdict = match &steps {
            Ok(steps) => self.decide_steps(steps, start),
            Err(unanalyzable) => self.decide_unanalyzable(*unanalyzable),
        };
        let verdict = match verdict {
            Verdict::Allow { rule } if rule == SANDBOXED && self.asks_about_publishing => {
                self.publishing_question(text, &steps).unwrap_or(Verdict::Allow { rule })
            }
            verdict @ (Verdict::Allow { .. } | Verdict::Deny { .. } | Verdict::Ask { .. }) => verdict,
        };
        let verdict = match (verdict, self.start_verdict(start).filter(|_| elsewhere)) {
            (verdict @ Verdict::Deny { .. }, _) => verdict,
            (_, Some(verdict @ Verdict::Deny { .. })) | (Verdict::Allow { .. }, Some(verdict)) => verdict,
            (verdict, _) => verdict,
        };
        let in_directory = |reason: Sentence| {
            sentence!(
                "{reason} (in the working directory `{directory}`)",
                reason,
                directory = start.display()
            )
        };
        match verdict {
            Verdict::Deny { rule, reason } if elsewhere => Verdict::deny(rule, in_directory(reason)),
            Verdict::Ask { rule, reason } if elsewhere => Verdict::ask(rule, in_directory(reason)),
            verdict @ (Verdict::Allow { .. } | Verdict::Deny { .. } | Verdict::Ask { .. }) => verdict,
        }
    }

    /// Returns the question about a sandboxed command that publishes, unless allow rules cover what it publishes.
    fn publishing_question(&self, text: &str, steps: &Result<CommandSteps, Unanalyzable>) -> Option<Verdict> {
        let rules = || self.allow.iter().filter_map(shell_rule);
        let reason = match steps {
            Ok(CommandSteps { steps, .. }) => steps
                .iter()
                .filter(|step| !step.calls_function && !rules().any(|rule| allows(rule, step)))
                .filter_map(|step| step.call_chain.last())
                .find_map(|call| {
                    Some(self.uncovered_reason(call, &publishing_pattern(call)?, Some(PUBLISHES.into())))
                })?,
            Err(_) if may_publish(text) => {
                let reason = sentence!(
                    "the command publishes or changes something on a service, which `ibeam undo` does not take back"
                );
                with_flags(reason, "`--force`")
            }
            Err(_) => return None,
        };
        Some(Verdict::ask("publishing", reason))
    }

    /// Decides about the steps of a text that starts in the directory `start`.
    pub(crate) fn decide_steps(
        &self,
        CommandSteps { steps, defines_functions }: &CommandSteps,
        start: &Path,
    ) -> Verdict {
        if let Some((rule, reason)) = restricting_shell_rule(&self.deny, steps.iter(), RuleEffect::Deny) {
            return Verdict::deny(rule, reason);
        }
        let (directories, unknown_directory) = self.possible_directories(steps, start);
        // A function runs in the shell's directory when it is called; other steps run in one of the directories so far.
        let directories_at = |at: usize| -> &[PathBuf] {
            let all = directories.last().map_or(&[] as &[PathBuf], Vec::as_slice);
            if *defines_functions { all } else { directories.get(at).map_or(all, Vec::as_slice) }
        };
        let linked = match self.linked_steps(steps, directories_at) {
            Ok(linked) => linked,
            Err(unanalyzable) => return self.decide_unanalyzable(unanalyzable),
        };
        let linked_steps = || linked.iter().map(|LinkedStep { step, .. }| step);
        if let Some((rule, reason)) = restricting_shell_rule(&self.deny, linked_steps(), RuleEffect::Deny) {
            return Verdict::deny(rule, reason);
        }
        let located = || {
            let own = steps.iter().enumerate();
            own.chain(linked.iter().map(|LinkedStep { at, step }| (*at, step)))
        };
        let mut uncovered = None;
        for (at, step) in located() {
            if let Some((rule, reason)) =
                self.restricting_path_rule(&self.deny, step, directories_at(at), RuleEffect::Deny)
            {
                return Verdict::deny(rule, reason);
            }
            if let Some(verdict) = self.check_paths(step, directories_at(at), &mut uncovered) {
                return verdict;
            }
        }
        if let Some(unanalyzable) = unknown_directory {
            return self.decide_unanalyzable(unanalyzable);
        }
        if let Some(verdict) = self.read_only_denial() {
            return verdict;
        }
        if self.mode == PermissionMode::Force {
            return Verdict::allow("--force");
        }
        let every_step = steps.iter().chain(linked_steps());
        if let Some((rule, reason)) = restricting_shell_rule(&self.ask, every_step, RuleEffect::Ask) {
            return Verdict::ask(rule, reason);
        }
        let asks =
            |(at, step)| self.restricting_path_rule(&self.ask, step, directories_at(at), RuleEffect::Ask);
        if let Some((rule, reason)) = located().find_map(asks) {
            return Verdict::ask(rule, reason);
        }
        if let Some(verdict) = uncovered {
            return self.allow_if_sandboxed(verdict);
        }
        let mut rules: Vec<String> = Vec::new();
        for step in steps {
            match self.covering_rule(step) {
                Ok(rule) => rules.extend(rule.map(Rule::to_string).filter(|rule| !rules.contains(rule))),
                Err(reason) => return self.allow_if_sandboxed(Verdict::ask("default", reason)),
            }
        }
        if rules.is_empty() {
            let reason = sentence!("the command runs no program that a rule could cover");
            return self.allow_if_sandboxed(Verdict::ask("default", reason));
        }
        Verdict::allow(rules.join(", "))
    }

    /// Decides about a text that cannot be analyzed, to which any rule may apply.
    pub(crate) fn decide_unanalyzable(&self, Unanalyzable(what): Unanalyzable) -> Verdict {
        let (what, operators) = (Sentence::from(what), sentence!("`&&`, `||`, `;` or `|`"));
        if let Some(rule) = self.deny.iter().find(|rule| applies_to_commands(rule)) {
            let reason = sentence!(
                "the command has {what}, so it cannot be checked against the deny rule `{rule}`; use simple commands \
                 joined by {operators}",
                what,
                rule,
                operators
            );
            return Verdict::deny(rule, reason);
        }
        if let Some(verdict) = self.read_only_denial() {
            return verdict;
        }
        if self.mode == PermissionMode::Force {
            return Verdict::allow("--force");
        }
        let reason = sentence!(
            "the command has {what}, which no allow rule covers; use simple commands joined by {operators}",
            what,
            operators
        );
        let reason = with_alternative_flags(reason, "`--force`");
        match self.ask.iter().find(|rule| applies_to_commands(rule)) {
            Some(rule) => Verdict::ask(rule, reason),
            None => self.allow_if_sandboxed(Verdict::ask("default", reason)),
        }
    }

    /// Allows an uncovered command without approval if it is sandboxed and the approval mode permits it.
    fn allow_if_sandboxed(&self, verdict: Verdict) -> Verdict {
        match self.approval {
            ApprovalMode::Sandboxed if self.sandboxed => Verdict::allow(SANDBOXED),
            ApprovalMode::Sandboxed | ApprovalMode::Allowlist | ApprovalMode::Strict => verdict,
        }
    }

    /// Returns the allow rule that covers a step, `None` if the step does not need a rule, or the reason why no rule
    /// covers it.
    pub(crate) fn covering_rule(&self, step: &CommandStep) -> Result<Option<&Rule>, Sentence> {
        let shell_rules = self.allow.iter().filter_map(|rule| Some((rule, shell_rule(rule)?)));
        let covering = || shell_rules.clone().find(|(_, shell)| allows(shell, step)).map(|(rule, _)| rule);
        if let Some(variable) = step.assigned_variables.first() {
            if let Some(rule) = covering().filter(|_| step.is_unread_export) {
                return Ok(Some(rule));
            }
            let reason = sentence!(
                "the command sets the variable `{variable}`, which can change what programs do; leave it out",
                variable
            );
            return Err(with_alternative_flags(reason, "`--force`"));
        }
        let Some((call, _)) = step.call_chain.split_last().filter(|_| !step.calls_function) else {
            return Ok(None);
        };
        let hazard = hazard::hazard(call);
        if let Some(rule) = covering() {
            return Ok(Some(rule));
        }
        if builtins::needs_no_rule(call) {
            return Ok(None);
        }
        Err(match (publishing_pattern(call), hazard) {
            (Some(pattern), _) => self.uncovered_reason(call, &pattern, Some(PUBLISHES.into())),
            (None, Some(why)) => self.uncovered_reason(call, "*", Some(why)),
            (None, None) => self.uncovered_reason(call, "", None),
        })
    }

    /// Returns the sentence that no allow rule covers a call: because it does what `why` says, or at all. `pattern` is that
    /// of the arguments in a rule that would; a bare rule has none.
    fn uncovered_reason(&self, call: &Call, pattern: &str, why: Option<Sentence>) -> Sentence {
        let name = call.program.text.as_str();
        let shown = display_call(call);
        let mut shell_rules = self.allow.iter().filter_map(shell_rule);
        let reason = match why {
            Some(why) if shell_rules.any(|rule| names_program(&rule.program, name)) => sentence!(
                "the command `{command}` is not covered by an allow rule for ordinary arguments: it {why}",
                command = shown,
                why
            ),
            Some(why) => sentence!(
                "the command `{command}` is not covered by an allow rule: it {why}",
                command = shown,
                why
            ),
            None => sentence!("the command `{command}` is not covered by an allow rule", command = shown),
        };
        let colon = if pattern.is_empty() { "" } else { ":" };
        with_flags(reason, either(format!("`--allow 'Shell({name}{colon}{pattern})'`"), "`--force`"))
    }
}

/// The built-in rule that allows what runs in the sandbox.
const SANDBOXED: &str = "sandboxed";

/// Whether a rule can apply to commands.
fn applies_to_commands(rule: &Rule) -> bool {
    match rule {
        Rule::Shell(_) | Rule::Read(_) | Rule::Write(_) => true,
        Rule::WebFetch(_) | Rule::Mcp { .. } => false,
    }
}

pub(crate) fn shell_rule(rule: &Rule) -> Option<&ShellRule> {
    match rule {
        Rule::Shell(shell) => Some(shell),
        Rule::Read(_) | Rule::Write(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => None,
    }
}

/// The effect of a rule on an access that it applies to.
#[derive(Clone, Copy)]
pub(crate) enum RuleEffect {
    Deny,
    Ask,
    /// The explanation of a rule states only that it applies.
    Match,
}

/// Returns the first of `rules` that applies to a program among the steps, with a sentence that says so.
pub(crate) fn restricting_shell_rule<'r, 's>(
    rules: &'r [Rule],
    steps: impl Iterator<Item = &'s CommandStep> + Clone,
    effect: RuleEffect,
) -> Option<(&'r Rule, Sentence)> {
    let shell_rules = || rules.iter().filter_map(|rule| Some((rule, shell_rule(rule)?)));
    let calls = || steps.clone().flat_map(|step| &step.call_chain);
    shell_rules().next()?;
    let named = CallIndex::new(calls());
    for (rule, shell) in shell_rules() {
        if let Some(call) = named.first_match(shell) {
            let program = &call.program.text;
            let reason = match effect {
                RuleEffect::Deny => {
                    sentence!("running `{program}` is denied by the rule `{rule}`", program, rule)
                }
                RuleEffect::Ask => {
                    sentence!("running `{program}` needs approval under the rule `{rule}`", program, rule)
                }
                RuleEffect::Match => {
                    sentence!("running `{program}` is matched by the rule `{rule}`", program, rule)
                }
            };
            return Some((rule, reason));
        }
    }
    let (rule, _) = shell_rules().next()?;
    if let Some(variable) = steps.clone().find_map(|step| step.assigned_variables.first()) {
        let reason = sentence!(
            "the variable `{variable}` can change what programs do, so the command cannot be checked against the rule \
             `{rule}`; leave it out",
            variable,
            rule
        );
        return Some((rule, reason));
    }
    let call = calls().find(|call| hazard::is_dynamic(call))?;
    let program = &call.program.text;
    let reason = sentence!(
        "what `{program}` runs here is unknown, so it cannot be checked against the rule `{rule}`; run the command \
         itself",
        program,
        rule
    );
    Some((rule, reason))
}

/// Whether an allow rule covers a step, or covers a wrapper around it with any arguments.
pub(crate) fn allows(rule: &ShellRule, step: &CommandStep) -> bool {
    let Some((call, wrappers)) = step.call_chain.split_last() else {
        return step.is_unread_export && rule.program == "export" && rule.arguments.is_none();
    };
    wrappers.iter().any(|wrapper| rule.arguments.is_some() && is_covered(rule, wrapper, None))
        || is_covered(rule, call, hazard::hazard(call).as_deref())
}

/// Whether an allow rule covers a call. `hazard` is the reason why its arguments are not ordinary.
fn is_covered(rule: &ShellRule, call: &Call, hazard: Option<&str>) -> bool {
    if !names_program(&rule.program, &call.program.text) {
        return false;
    }
    let Some(glob) = &rule.arguments else { return hazard.is_none() };
    if glob.to_string() == "*" {
        return true;
    }
    let Arguments { text, known_length, is_ordinary } = arguments(call);
    let matches =
        if known_length == text.len() && !call.has_unknown_arguments { glob.matches(&text) } else { false };
    is_ordinary && (matches || glob.matches_all_with_prefix(text.get(..known_length).unwrap_or("")))
}

/// The calls of a text, indexed by names, so that many rules can be applied to many calls.
struct CallIndex<'c> {
    calls: Vec<&'c Call>,
    /// The calls of each program, in the order of the text.
    by_program: HashMap<String, Vec<usize>>,
    /// The calls that run what their arguments name, by the words of the arguments.
    by_word: HashMap<String, Vec<usize>>,
}

impl<'c> CallIndex<'c> {
    fn new(calls: impl Iterator<Item = &'c Call>) -> Self {
        let calls: Vec<&Call> = calls.collect();
        let mut by_program: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_word: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, call) in calls.iter().enumerate() {
            by_program.entry(call.name()).or_default().push(at);
            if hazard::runs_its_arguments(call) {
                for word in call.texts().flat_map(possible_program_names) {
                    by_word.entry(word).or_default().push(at);
                }
            }
        }
        Self { calls, by_program, by_word }
    }

    /// Returns the first call that a deny or ask rule applies to, directly or through what the call runs.
    fn first_match(&self, rule: &ShellRule) -> Option<&'c Call> {
        let program = rule.program.rsplit('/').next().unwrap_or_default().to_lowercase();
        let is_match = |at: &&usize| self.calls.get(**at).is_some_and(|call| may_match_arguments(rule, call));
        if program == "*" {
            return self.calls.iter().copied().find(|call| may_match_arguments(rule, call));
        }
        let direct = self.by_program.get(&program).and_then(|calls| calls.iter().find(is_match));
        let is_other = |at: &&usize| self.calls.get(**at).is_some_and(|call| call.name() != program);
        let indirect = self.by_word.get(&program).and_then(|calls| calls.iter().find(is_other));
        let first = direct.into_iter().chain(indirect).min()?;
        self.calls.get(*first).copied()
    }
}

/// Whether the arguments of a call match, or may match, those of a deny or ask rule.
fn may_match_arguments(rule: &ShellRule, call: &Call) -> bool {
    let Some(glob) = &rule.arguments else { return true };
    let Arguments { text, known_length, is_ordinary } = arguments(call);
    if known_length == text.len() && !call.has_unknown_arguments {
        return !is_ordinary || glob.matches_folded(&text);
    }
    !is_ordinary || glob.may_match_with_prefix(text.get(..known_length).unwrap_or(""))
}

/// The arguments of a call, as the patterns of rules match them.
struct Arguments {
    text: String,
    /// The length of the known start of `text`.
    known_length: usize,
    /// Whether the arguments alone determine what happens: there are no global options that change it.
    is_ordinary: bool,
}

/// Returns the arguments of a call, joined by spaces.
fn arguments(call: &Call) -> Arguments {
    let (words, is_ordinary) =
        if call.name() == "git" { ordinary_git::arguments(call) } else { (call.args.iter().collect(), true) };
    let mut arguments = Arguments { text: String::new(), known_length: 0, is_ordinary };
    let mut unknown_from = None;
    for (at, word) in words.into_iter().enumerate() {
        if at > 0 {
            arguments.text.push(' ');
        }
        if !word.is_known() {
            unknown_from.get_or_insert(arguments.text.len() + word.known_prefix().len());
        }
        arguments.text.push_str(&word.text);
    }
    arguments.known_length = unknown_from.unwrap_or(arguments.text.len());
    arguments
}

/// Whether a rule's program is the program that `word` runs: the same word, or the name of a file in a system
/// directory.
pub(crate) fn names_program(program: &str, word: &str) -> bool {
    const SYSTEM_DIRECTORIES: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];
    let bare = match word.rsplit_once('/') {
        Some((directory, name)) if SYSTEM_DIRECTORIES.contains(&directory) => name,
        Some(_) | None => word,
    };
    program == word
        || program == bare
        || (program == "*" && !bare.contains('/'))
        || (bare == "[" && program == "test")
}

/// Returns a call on one line, for messages.
pub(crate) fn display_call(call: &Call) -> String {
    let words: Vec<&str> = std::iter::once(call.program.text.as_str()).chain(call.texts()).collect();
    let line = words.join(" ").replace('\n', " ");
    match line.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or("")),
        None => line,
    }
}
