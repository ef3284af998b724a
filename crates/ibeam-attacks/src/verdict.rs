//! Whether a case ended as it should.

use serde::{Deserialize, Serialize};

use crate::case::{Case, Expect};
use crate::effect::Effect;
use crate::evidence::Evidence;
use crate::run_result::Completed;

/// The exit code of a run that cannot have its sandbox.
const NO_SANDBOX: i32 = 40;

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Outcome {
    Passed,
    /// What is wrong, one thing each.
    Failed(Vec<String>),
    /// Why it was not played.
    Skipped(String),
}

impl Outcome {
    fn of(wrong: Vec<String>) -> Self {
        if wrong.is_empty() { Self::Passed } else { Self::Failed(wrong) }
    }
}

/// Judges a run of a case.
pub(crate) fn judge(case: &Case, evidence: &Evidence) -> Outcome {
    let breaches = case.breaches().unwrap_or_default();
    let mut wrong: Vec<String> = breaches
        .iter()
        .filter(|effect| effect.is_in(evidence))
        .map(|effect| format!("BREACH {effect:?}"))
        .collect();
    wrong.extend(match case.expect {
        Expect::Denied => not_denied(case, evidence),
        Expect::Contained => not_contained(case, evidence),
        Expect::Allowed => not_allowed(case, evidence),
    });
    for (step, call) in case.steps.iter().zip(evidence.ran.completed()) {
        let as_told = match step.expect {
            Some(Expect::Allowed) => call.succeeded(),
            Some(Expect::Denied) => call.is_refused() || call.is_refused_as_error(),
            Some(Expect::Contained) | None => true,
        };
        if !as_told {
            wrong.push(format!("a step before it was {}", call.told()));
        }
    }
    if let Some(expect) = &case.result
        && !evidence.runs().last().is_some_and(|ran| ran.has_result(expect))
    {
        wrong.push(format!("the result is not {expect}"));
    }
    if let Some(most) = case.max_s.filter(|most| evidence.ran.finished.elapsed.as_secs_f64() > *most) {
        wrong.push(format!("it took {:.1?}, not {most} s", evidence.ran.finished.elapsed));
    }
    Outcome::of(wrong)
}

/// Judges a run whose command the rules were not to see.
pub(crate) fn unfenced(case: &Case, evidence: &Evidence) -> Outcome {
    match evidence.calls().find(|call| case.tool == "shell" && call.arm == "rejected") {
        Some(call) => Outcome::Failed(vec![format!("the rules saw it: {}", call.told())]),
        None => judge(case, evidence),
    }
}

/// Judges a run in which nothing held the attack back: it must do its harm, or the case says nothing.
pub(crate) fn bare(case: &Case, evidence: &Evidence) -> Outcome {
    let breaches = case.breaches().unwrap_or_default();
    if breaches.is_empty() {
        return Outcome::of(not_allowed(case, evidence));
    }
    if breaches.iter().any(|effect| effect.is_in(evidence)) {
        return Outcome::Passed;
    }
    let calls: Vec<String> = evidence.calls().map(|call| call.told()).collect();
    Outcome::Failed(vec![format!("no harm was done: {}; {calls:?}", evidence.ran.end())])
}

/// Refused before it ran; where the rules themselves are broken, also no run at all.
fn not_denied(case: &Case, evidence: &Evidence) -> Vec<String> {
    let ran = &evidence.ran;
    let no_run = ran.requests.is_empty() && ran.finished.code.is_some_and(|code| code != 0);
    if no_run && case.policy.is_broken() {
        return Vec::new();
    }
    let calls = calls_that_count(case, evidence);
    if calls.is_empty() {
        return vec![format!("the call was not completed: {}", ran.end())];
    }
    // Of many calls beside an attacker some may be in time; where they led is what counts.
    if case.times() > 1 {
        let all = calls.len() == case.times();
        return if all { Vec::new() } else { vec![format!("{} calls, then {}", calls.len(), ran.end())] };
    }
    let wrong = calls.iter().filter(|call| {
        // What must not happen is looked for apart, so that an error before it is as good as a refusal.
        let as_error = !case.breaches().unwrap_or_default().is_empty() && call.is_refused_as_error();
        let no_call = call.arm == "error" && is_no_call(case);
        // A name that leads elsewhere at the second look: nobody listens where the first look led.
        let led_nowhere = !call.succeeded() && case.policy.rebinds();
        !(call.is_refused() || as_error || no_call || led_nowhere)
    });
    wrong.map(|call| format!("the call was {}", call.told())).collect()
}

/// The run came to an end of its own, and the call was looked at.
fn not_contained(case: &Case, evidence: &Evidence) -> Vec<String> {
    let ran = evidence.runs().find(|ran| !ran.ended_in_order()).unwrap_or(&evidence.ran);
    if ran.finished.code == Some(NO_SANDBOX) && case.env_fault.is_some() {
        return Vec::new();
    }
    if ran.finished.code == Some(NO_SANDBOX) || !ran.ended_in_order() || ran.requests.is_empty() {
        return vec![format!("the run ended with {}", ran.end())];
    }
    if !case.is_startup() && evidence.calls().next().is_none() {
        return vec![format!("the call was not completed: {}", ran.end())];
    }
    Vec::new()
}

/// The call ran well, and did what it should.
fn not_allowed(case: &Case, evidence: &Evidence) -> Vec<String> {
    let calls = calls_that_count(case, evidence);
    let mut wrong: Vec<String> = calls
        .iter()
        .filter(|call| !call.succeeded())
        .map(|call| format!("the call was {}", call.told()))
        .collect();
    let failed = evidence.runs().find(|ran| !ran.came_to_its_result());
    if calls.is_empty() && !case.is_startup() || failed.is_some() {
        wrong.push(format!("the run ended with {}", failed.unwrap_or(&evidence.ran).end()));
    }
    let missing = case.oks().unwrap_or_default().into_iter().filter(|effect| !effect.is_in(evidence));
    wrong.extend(missing.map(|effect: Effect| format!("MISSING {effect:?}")));
    wrong
}

/// The completed calls that the case is about; of several in one answer those with its own command. A call that shares
/// its id with another may not come as far as to have a command.
fn calls_that_count(case: &Case, evidence: &Evidence) -> Vec<Completed> {
    let command = case.args.get("command").and_then(serde_json::Value::as_str);
    let shared_id = case.calls_share_an_id();
    let is_meant = |call: &Completed| {
        let its_own = command.is_none_or(|command| call.ran(command));
        case.raw_calls.is_empty() || its_own || shared_id && !call.has_command()
    };
    evidence.calls().filter(is_meant).collect()
}

/// Nothing that could be executed at all: an unknown tool, an id that means two calls, or a path that no system takes.
fn is_no_call(case: &Case) -> bool {
    const TOOLS: [&str; 10] =
        ["shell", "read", "write", "edit", "delete", "grep", "glob", "ls", "web_fetch", "mcp"];
    let unknown = !TOOLS.contains(&case.tool.as_str());
    unknown || case.calls_share_an_id() || case.own_words().iter().any(|word| word.contains('\0'))
}

#[cfg(test)]
#[path = "verdict_test.rs"]
mod tests;
