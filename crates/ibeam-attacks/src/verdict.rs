//! The outcome of a case, from its expectation and the evidence.

use serde::{Deserialize, Serialize};

use crate::case::{Case, ExpectedOutcome};
use crate::effect::Effect;
use crate::evidence::Evidence;
use crate::run_result::CompletedCall;

/// The exit code of a run without a usable sandbox.
const NO_SANDBOX: i32 = 40;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum CaseOutcome {
    Passed,
    /// The problems, one each.
    Failed(Vec<String>),
    /// The reason why the case was skipped.
    Skipped(String),
}

impl CaseOutcome {
    fn from_problems(problems: Vec<String>) -> Self {
        if problems.is_empty() { Self::Passed } else { Self::Failed(problems) }
    }
}

pub(crate) fn judge(case: &Case, evidence: &Evidence) -> CaseOutcome {
    let forbidden_effects = case.forbidden_effects().unwrap_or_default();
    let mut problems: Vec<String> = forbidden_effects
        .iter()
        .filter(|effect| effect.is_contained_in(evidence))
        .map(|effect| format!("BREACH {effect:?}"))
        .collect();
    problems.extend(match case.expect {
        ExpectedOutcome::Denied => denied_problems(case, evidence),
        ExpectedOutcome::Contained => contained_problems(case, evidence),
        ExpectedOutcome::Allowed => allowed_problems(case, evidence),
    });
    for (step, call) in case.steps.iter().zip(evidence.first_run.completed_calls()) {
        let is_as_expected = match step.expect {
            Some(ExpectedOutcome::Allowed) => call.is_success(),
            Some(ExpectedOutcome::Denied) => call.is_refused() || call.is_refused_as_error(),
            Some(ExpectedOutcome::Contained) | None => true,
        };
        if !is_as_expected {
            problems.push(format!("a step before the call was {}", call.summary()));
        }
    }
    if let Some(expect) = &case.result
        && !evidence.runs().last().is_some_and(|run| run.has_result(expect))
    {
        problems.push(format!("the result is not {expect}"));
    }
    if let Some(limit) = case.max_s.filter(|limit| evidence.first_run.finished.elapsed.as_secs_f64() > *limit)
    {
        problems.push(format!("the run took {:.1?}, not {limit} s", evidence.first_run.finished.elapsed));
    }
    CaseOutcome::from_problems(problems)
}

/// Judges a run whose command is hidden from the rules.
pub(crate) fn judge_sandbox_only(case: &Case, evidence: &Evidence) -> CaseOutcome {
    match evidence.calls().find(|call| case.tool == "shell" && call.result_kind == "rejected") {
        Some(call) => CaseOutcome::Failed(vec![format!("the rules refused the call: {}", call.summary())]),
        None => judge(case, evidence),
    }
}

/// Judges a run without protection, in which the attack must do its harm.
pub(crate) fn judge_bare(case: &Case, evidence: &Evidence) -> CaseOutcome {
    let forbidden_effects = case.forbidden_effects().unwrap_or_default();
    if forbidden_effects.is_empty() {
        return CaseOutcome::from_problems(allowed_problems(case, evidence));
    }
    if forbidden_effects.iter().any(|effect| effect.is_contained_in(evidence)) {
        return CaseOutcome::Passed;
    }
    let calls: Vec<String> = evidence.calls().map(|call| call.summary()).collect();
    CaseOutcome::Failed(vec![format!("no harm was done: {}; {calls:?}", evidence.first_run.end_summary())])
}

/// Checks that the call was refused. With invalid rules, a program that refuses to start is also fine.
fn denied_problems(case: &Case, evidence: &Evidence) -> Vec<String> {
    let run = &evidence.first_run;
    let no_run = run.requests.is_empty() && run.finished.code.is_some_and(|code| code != 0);
    if no_run && case.policy.is_invalid() {
        return Vec::new();
    }
    let calls = relevant_calls(case, evidence);
    if calls.is_empty() {
        return vec![format!("the call was not completed: {}", run.end_summary())];
    }
    // Some of the repeated calls may succeed. Only their effects count.
    if case.repetitions() > 1 {
        let all = calls.len() == case.repetitions();
        return if all {
            Vec::new()
        } else {
            vec![format!("{} calls, then {}", calls.len(), run.end_summary())]
        };
    }
    let problems = calls.iter().filter(|call| {
        // The forbidden effects are checked separately, so an error is as good as a refusal.
        let is_early_error =
            !case.forbidden_effects().unwrap_or_default().is_empty() && call.is_refused_as_error();
        let is_impossible_call = call.result_kind == "error" && is_uncallable(case);
        // Nothing listens at the first address of a name whose address changes.
        let has_no_listener = !call.is_success() && case.policy.rebinds();
        !(call.is_refused() || is_early_error || is_impossible_call || has_no_listener)
    });
    problems.map(|call| format!("the call was {}", call.summary())).collect()
}

/// Checks that the run ended cleanly after a completed call.
fn contained_problems(case: &Case, evidence: &Evidence) -> Vec<String> {
    let run = evidence.runs().find(|run| !run.ended_cleanly()).unwrap_or(&evidence.first_run);
    if run.finished.code == Some(NO_SANDBOX) && case.env_fault.is_some() {
        return Vec::new();
    }
    if run.finished.code == Some(NO_SANDBOX) || !run.ended_cleanly() || run.requests.is_empty() {
        return vec![format!("the run ended with {}", run.end_summary())];
    }
    if !case.is_startup() && evidence.calls().next().is_none() {
        return vec![format!("the call was not completed: {}", run.end_summary())];
    }
    Vec::new()
}

/// Checks that the call succeeded with the required effects.
fn allowed_problems(case: &Case, evidence: &Evidence) -> Vec<String> {
    let calls = relevant_calls(case, evidence);
    let mut problems: Vec<String> = calls
        .iter()
        .filter(|call| !call.is_success())
        .map(|call| format!("the call was {}", call.summary()))
        .collect();
    let failed = evidence.runs().find(|run| !run.is_complete());
    if calls.is_empty() && !case.is_startup() || failed.is_some() {
        problems.push(format!("the run ended with {}", failed.unwrap_or(&evidence.first_run).end_summary()));
    }
    let missing = case
        .expected_effects()
        .unwrap_or_default()
        .into_iter()
        .filter(|effect| !effect.is_contained_in(evidence));
    problems.extend(missing.map(|effect: Effect| format!("MISSING {effect:?}")));
    problems
}

/// Returns the completed calls that the case is about. Of several in one answer these are the calls with its command. A
/// call with a shared id may lack a command.
fn relevant_calls(case: &Case, evidence: &Evidence) -> Vec<CompletedCall> {
    let command = case.args.get("command").and_then(serde_json::Value::as_str);
    let shared_id = case.calls_share_an_id();
    let is_relevant = |call: &CompletedCall| {
        let is_own_command = command.is_none_or(|command| call.has_command(command));
        case.raw_calls.is_empty() || is_own_command || shared_id && !call.is_command()
    };
    evidence.calls().filter(is_relevant).collect()
}

/// Whether the call cannot be executed at all: an unknown tool, an id of two calls, or a path that no system accepts.
fn is_uncallable(case: &Case) -> bool {
    const TOOLS: [&str; 10] =
        ["shell", "read", "write", "edit", "delete", "grep", "glob", "ls", "web_fetch", "mcp"];
    let is_unknown_tool = !TOOLS.contains(&case.tool.as_str());
    is_unknown_tool || case.calls_share_an_id() || case.own_texts().iter().any(|word| word.contains('\0'))
}

#[cfg(test)]
#[path = "verdict_test.rs"]
mod tests;
