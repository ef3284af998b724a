//! Explains a verdict: what was found in an access, and how each rule applies to it.
//!
//! For people who write rules (`ibeam policy test`). Does not decide itself: it uses the same functions as the
//! decision and collects their results.

use std::path::{Path, PathBuf};

use ibeam_protocol::{Sentence, sentence, sentence_text};

use crate::fetch::{ImplicitPorts, covers_origin, parse_origin};
use crate::policy::Access;
use crate::policy::{Policy, Verdict, without_flags};
use crate::rule::Rule;
use crate::shell::Unanalyzable;
use crate::shell::coverage::{RuleEffect, allows, display_call, names_program, restricting_shell_rule};
use crate::shell::hazard::hazard;
use crate::shell::redirect::Redirect;
use crate::shell::wrapper::{self, Call, CommandStep, CommandSteps};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictExplanation {
    /// The result of [`Policy::decide`].
    pub verdict: Verdict,
    /// Why a command cannot be analyzed, as a noun phrase ("an unclosed quote"). `parts` is empty then.
    pub unanalyzable: Option<&'static str>,
    /// One part for a file, an address or a tool; for a command one part per simple command, in the order of the text.
    pub parts: Vec<AccessPart>,
}

/// One thing that an access touches, and how the rules apply to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessPart {
    /// The file, the address, `server:tool`, or the simple command on one line.
    pub subject: String,
    /// The program that is named, followed by what it runs through wrappers; the last one is what finally runs. Empty
    /// if no program runs.
    pub programs: Vec<String>,
    /// The arguments of the last program, without quotes.
    pub arguments: Vec<String>,
    /// Files that the command is redirected to or from.
    pub redirections: Vec<Redirection>,
    /// Deny rules first, then ask rules, then allow rules, each in the order in which they were given, then built-in
    /// rules.
    pub findings: Vec<RuleFinding>,
}

/// A file that a command reads or writes through a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// Whether the file is opened for writing.
    pub writes: bool,
    /// The file name as written in the command.
    pub target: String,
}

/// The result of one rule on one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFinding {
    /// The list that contains the rule.
    pub list: RuleList,
    /// The token, or the name of a built-in rule.
    pub rule: String,
    pub applies: bool,
    /// Why, in one clause.
    pub reason: Sentence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleList {
    /// Denies, whatever other rules allow.
    Deny,
    /// Requires the approval of a person.
    Ask,
    Allow,
    /// Built-in rules: protected paths, the workspace, the mode, the default.
    BuiltIn,
}

/// The name of the rule for what no other rule covers.
const DEFAULT: &str = "default";

/// Whether a finding is that of the rule for what no other rule covers.
fn is_default(finding: &RuleFinding) -> bool {
    finding.list == RuleList::BuiltIn && finding.rule == DEFAULT
}

/// Removes from the reason how a person could allow the access.
fn remove_allow_hint(finding: &mut RuleFinding) {
    if let Some(reason) = without_flags(&finding.reason) {
        finding.reason = reason.clone();
    }
}

impl Policy {
    /// Decides about one access like [`Policy::decide`] and explains the decision.
    pub fn explain(&self, access: &Access) -> VerdictExplanation {
        let verdict = self.decide(access);
        let (unanalyzable, mut parts) = match access {
            Access::Nothing | Access::Task { .. } => (None, Vec::new()),
            Access::Command { text, directory } => match wrapper::parse_steps(text) {
                Ok(steps) => (None, self.explain_command(&steps, self.start_directory(directory.as_deref()))),
                Err(Unanalyzable(what)) => (Some(what), Vec::new()),
            },
            Access::Read(path) | Access::Write(path) => (None, vec![self.explain_path(access, path)]),
            Access::Fetch { url } => {
                (None, vec![self.explain_part(url, |list, rule| explain_host_rule(list, rule, url))])
            }
            Access::Mcp { server, tool, .. } => (
                None,
                vec![self.explain_part(&format!("{server}:{tool}"), |list, rule| {
                    explain_tool_rule(list, rule, server, tool)
                })],
            ),
        };
        let is_built_in = is_built_in(self, &verdict);
        if let (Verdict::Allow { rule }, true) = (&verdict, is_built_in) {
            // Then no token is needed: what no rule covers is up to this rule and not to the default.
            let findings = parts.iter_mut().flat_map(|part| &mut part.findings);
            findings.filter(|finding| is_default(finding)).for_each(|finding| finding.rule.clone_from(rule));
        }
        if let (Some(last), true) = (parts.last_mut(), is_built_in) {
            let finding = built_in_finding(&verdict);
            let is_known = |found: &RuleFinding| last.findings.iter().any(|known| known.rule == found.rule);
            last.findings.extend(finding.filter(|found| !is_known(found)));
        }
        if !matches!(verdict, Verdict::Ask { .. }) {
            parts.iter_mut().flat_map(|part| &mut part.findings).for_each(remove_allow_hint);
        }
        VerdictExplanation { verdict, unanalyzable, parts }
    }

    fn explain_command(&self, steps: &CommandSteps, start: &Path) -> Vec<AccessPart> {
        let (directories, _) = self.possible_directories(&steps.steps, start);
        let everywhere = directories.last().cloned().unwrap_or_default();
        let has_content = |step: &CommandStep| {
            *step != CommandStep { may_repeat: step.may_repeat, ..CommandStep::default() }
        };
        let parts = steps.steps.iter().enumerate().filter(|(_, step)| has_content(step)).map(|(at, step)| {
            let places = if steps.defines_functions {
                &everywhere
            } else {
                directories.get(at).unwrap_or(&everywhere)
            };
            let explain = |list, rule: &Rule| self.explain_command_rule(list, rule, step, places);
            let mut part = self.explain_part(&display_step(step), explain);
            part.programs = step.call_chain.iter().map(|call| call.program.text.clone()).collect();
            part.arguments =
                step.call_chain.last().into_iter().flat_map(Call::texts).map(str::to_owned).collect();
            part.redirections = step
                .redirects
                .iter()
                .map(|redirect| Redirection { writes: redirect.writes, target: redirect.target.text.clone() })
                .collect();
            let mut uncovered = None;
            let place = self.check_paths(step, places, &mut uncovered).or(uncovered);
            part.findings.extend(
                place.filter(|verdict| is_built_in(self, verdict)).as_ref().and_then(built_in_finding),
            );
            if let Err(reason) = self.covering_rule(step) {
                part.findings.push(RuleFinding {
                    list: RuleList::BuiltIn,
                    rule: DEFAULT.to_owned(),
                    applies: true,
                    reason,
                });
            }
            part
        });
        parts.collect()
    }

    /// Returns whether a rule of `list` applies to a step that runs in one of `places`, and why.
    fn explain_command_rule(
        &self,
        list: RuleList,
        rule: &Rule,
        step: &CommandStep,
        places: &[PathBuf],
    ) -> (bool, Sentence) {
        let alone = std::slice::from_ref(rule);
        match (list, rule) {
            (RuleList::Deny | RuleList::Ask, Rule::Shell(_)) => {
                match restricting_shell_rule(alone, std::iter::once(step), RuleEffect::Match) {
                    Some((_, reason)) => (true, reason),
                    None => (false, sentence!("it is about other programs or arguments")),
                }
            }
            (RuleList::Deny | RuleList::Ask, Rule::Read(_) | Rule::Write(_)) => {
                match self.restricting_path_rule(alone, step, places, RuleEffect::Match) {
                    Some((_, reason)) => (true, reason),
                    None => (false, sentence!("no word of the command is such a file")),
                }
            }
            (RuleList::Allow, Rule::Shell(shell)) => {
                let call = step.call_chain.last().filter(|_| !step.calls_function);
                let hazard =
                    call.filter(|call| names_program(&shell.program, &call.program.text)).and_then(hazard);
                match (allows(shell, step), hazard) {
                    (true, _) => (true, sentence!("it covers this program with these arguments")),
                    (false, Some(why)) => {
                        (false, sentence!("it covers other arguments: this one {why}", why))
                    }
                    (false, None) => (false, sentence!("it is about other programs or arguments")),
                }
            }
            (RuleList::Allow, Rule::Write(glob)) => {
                let covers = |redirect: &Redirect| {
                    let target = &redirect.target;
                    let paths = self.resolve(&target.text, target.has_tilde, places);
                    redirect.writes && paths.iter().all(|path| glob.allows(path, &self.workspace, &self.home))
                };
                let covered = !step.redirects.is_empty() && step.redirects.iter().all(covers);
                let reason = match covered {
                    true => sentence!("it covers the redirection"),
                    false => sentence!("it covers no redirection of the command"),
                };
                (covered, reason)
            }
            (RuleList::Allow | RuleList::BuiltIn | RuleList::Deny | RuleList::Ask, _) => {
                (false, OTHER_KIND.into())
            }
        }
    }

    /// Explains a read or write of a file.
    fn explain_path(&self, access: &Access, path: &Path) -> AccessPart {
        let writes = matches!(access, Access::Write(_));
        self.explain_part(&path.display().to_string(), |list, rule| {
            let glob = match rule {
                Rule::Read(glob) if !writes || list != RuleList::Allow => glob,
                Rule::Write(glob) if writes => glob,
                Rule::Shell(_) | Rule::Read(_) | Rule::Write(_) | Rule::WebFetch(_) | Rule::Mcp { .. } => {
                    return (false, OTHER_KIND.into());
                }
            };
            let applies = if list == RuleList::Allow {
                glob.allows(path, &self.workspace, &self.home)
            } else {
                glob.denies(path, &self.workspace, &self.home)
            };
            explain_match(applies, &sentence!("the path"))
        })
    }

    /// Returns a part with the finding of each rule.
    fn explain_part(
        &self,
        subject: &str,
        explain: impl Fn(RuleList, &Rule) -> (bool, Sentence),
    ) -> AccessPart {
        let lists =
            [(RuleList::Deny, &self.deny), (RuleList::Ask, &self.ask), (RuleList::Allow, &self.allow)];
        let rules = lists.into_iter().flat_map(|(list, rules)| rules.iter().map(move |rule| (list, rule)));
        let findings = rules
            .map(|(list, rule)| {
                let (applies, reason) = explain(list, rule);
                RuleFinding { list, rule: rule.to_string(), applies, reason }
            })
            .collect();
        AccessPart { subject: subject.to_owned(), findings, ..AccessPart::default() }
    }
}

/// Returns a step on one line.
fn display_step(step: &CommandStep) -> String {
    let sets = step.assigned_variables.iter().map(|name| format!("{name}=…"));
    let redirects = step
        .redirects
        .iter()
        .map(|redirect| format!("{} {}", if redirect.writes { ">" } else { "<" }, redirect.target.text));
    sets.chain(step.call_chain.last().map(display_call)).chain(redirects).collect::<Vec<_>>().join(" ")
}

/// The reason why a rule of another kind does not apply.
const OTHER_KIND: &str = sentence_text!("it is about something else");

/// Returns whether a rule applies because of its pattern, with a clause that says so.
fn explain_match(applies: bool, subject: &Sentence) -> (bool, Sentence) {
    let reason = match applies {
        true => sentence!("{subject} matches its pattern", subject),
        false => sentence!("{subject} does not match its pattern", subject),
    };
    (applies, reason)
}

fn explain_host_rule(list: RuleList, rule: &Rule, url: &str) -> (bool, Sentence) {
    let implicit_ports = match list {
        RuleList::Allow => ImplicitPorts::Web,
        RuleList::Deny | RuleList::Ask | RuleList::BuiltIn => ImplicitPorts::All,
    };
    match (rule, parse_origin(url)) {
        (Rule::WebFetch(domain), Some((host, port))) => explain_match(
            covers_origin(domain, &host, port, implicit_ports),
            &sentence!("the host `{host}` at port {port}", host, port),
        ),
        (Rule::WebFetch(_), None) => (false, "the address has no unambiguous host".into()),
        (Rule::Shell(_) | Rule::Read(_) | Rule::Write(_) | Rule::Mcp { .. }, _) => (false, OTHER_KIND.into()),
    }
}

fn explain_tool_rule(list: RuleList, rule: &Rule, server: &str, tool: &str) -> (bool, Sentence) {
    match rule {
        Rule::Mcp { server: servers, tool: tools } if list == RuleList::Allow => {
            explain_match(servers.matches(server) && tools.matches(tool), &sentence!("the tool"))
        }
        Rule::Mcp { server: servers, tool: tools } => explain_match(
            servers.matches_folded(server) && tools.matches_folded(tool),
            &sentence!("the tool"),
        ),
        Rule::Shell(_) | Rule::Read(_) | Rule::Write(_) | Rule::WebFetch(_) => (false, OTHER_KIND.into()),
    }
}

/// Whether the verdict comes from a built-in rule and not from a token.
fn is_built_in(policy: &Policy, verdict: &Verdict) -> bool {
    let (Verdict::Allow { rule } | Verdict::Deny { rule, .. } | Verdict::Ask { rule, .. }) = verdict;
    let lists = [&policy.deny, &policy.ask, &policy.allow];
    !lists.into_iter().flatten().any(|token| rule.split(", ").any(|part| part == token.to_string()))
}

/// Returns the finding of the built-in rule that made the verdict.
fn built_in_finding(verdict: &Verdict) -> Option<RuleFinding> {
    let (rule, reason) = match verdict {
        Verdict::Allow { rule } => (rule, sentence!("nothing narrower applies")),
        Verdict::Deny { rule, reason } | Verdict::Ask { rule, reason } => (rule, reason.clone()),
    };
    // `explain_command` adds the finding of the default rule itself.
    let default = matches!(verdict, Verdict::Ask { rule, .. } if rule == DEFAULT);
    (!default).then(|| RuleFinding { list: RuleList::BuiltIn, rule: rule.clone(), applies: true, reason })
}
