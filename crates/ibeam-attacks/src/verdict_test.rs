//! Outcomes of cases.

use serde_json::{Value, json};

use super::*;
use crate::effect::tests::evidence_of;

fn case(expect: &str, more: &Value) -> Case {
    let mut line =
        json!({"id": "x", "tool": "shell", "args": {"command": "ls"}, "expect": expect, "breach": ["conn"]});
    for (name, value) in more.as_object().into_iter().flatten() {
        line[name] = value.clone();
    }
    Case::parse(&line).unwrap()
}

fn rejected() -> Evidence {
    evidence_of(json!({"rejected": {"reason": "no rule"}}))
}

fn failed() -> Evidence {
    evidence_of(json!({"error": {"errorMessage": "no such tool"}}))
}

fn succeeded() -> Evidence {
    evidence_of(json!({"success": {"stdout": "", "stderr": "", "exitCode": 0}}))
}

#[track_caller]
fn check(case: &Case, evidence: &Evidence, passes: bool) {
    let outcome = judge(case, evidence);
    assert_eq!(outcome == CaseOutcome::Passed, passes, "{outcome:?}");
}

#[test]
fn a_breach_fails_with_every_result() {
    for (expect, mut evidence) in
        [("denied", rejected()), ("contained", succeeded()), ("allowed", succeeded())]
    {
        check(&case(expect, &Value::Null), &evidence, true);
        evidence.traffic.connections = 1;
        check(&case(expect, &Value::Null), &evidence, false);
    }
}

#[test]
fn only_a_refusal_is_denied() {
    let denied = case("denied", &Value::Null);
    check(&denied, &evidence_of(json!({"permissionDenied": {}})), true);
    check(&denied, &succeeded(), false);
    check(&denied, &failed(), false);
    let mut no_call = rejected();
    no_call.first_run.finished.stdout = "{\"type\":\"result\"}\n".to_owned();
    check(&denied, &no_call, false);
}

#[test]
fn an_early_error_is_a_refusal_if_harm_would_be_visible() {
    let error = |text: &str| evidence_of(json!({"error": {"errorMessage": text}}));
    let denied = case("denied", &Value::Null);
    check(&denied, &error("invalid arguments: `workingDirectory` leaves the workspace"), true);
    check(&denied, &error("cannot open `x`: No such file or directory (os error 2)"), false);
    check(&denied, &evidence_of(json!({"failure": {"exitCode": 1, "stderr": "bad"}})), false);
    check(&case("denied", &json!({"breach": []})), &error("invalid arguments"), false);
    let mut harm = error("invalid arguments");
    harm.traffic.connections = 1;
    check(&denied, &harm, false);
}

#[test]
fn the_result_is_compared() {
    let with = |result: Value| case("contained", &json!({"result": result}));
    let mut evidence = succeeded();
    check(&with(json!("done")), &evidence, false);
    evidence.first_run.finished.stdout = evidence
        .first_run
        .finished
        .stdout
        .replace("\"subtype\":\"success\"", "\"subtype\":\"success\",\"result\":\"done\",\"is_error\":false");
    check(&with(json!("done")), &evidence, true);
    check(&with(json!("other")), &evidence, false);
    check(&with(json!({"is_error": false, "result": "done"})), &evidence, true);
    check(&with(json!({"is_error": true})), &evidence, false);
    evidence.resumed = Some(succeeded().first_run);
    check(&with(json!("done")), &evidence, false);
}

#[test]
fn the_second_run_must_end_well_and_its_calls_count() {
    let resumed = |expect: &str| case(expect, &json!({"resume": {"tool": "shell"}, "breach": []}));
    let with = |run: crate::run_result::RunResult| Evidence { resumed: Some(run), ..succeeded() };
    check(&resumed("allowed"), &with(succeeded().first_run), true);
    check(&resumed("allowed"), &with(rejected().first_run), false);
    check(&resumed("denied"), &Evidence { resumed: Some(rejected().first_run), ..rejected() }, true);
    check(&resumed("denied"), &Evidence { resumed: Some(succeeded().first_run), ..rejected() }, false);
    let mut killed = succeeded().first_run;
    killed.finished.code = None;
    check(&resumed("contained"), &with(killed), false);
}

#[test]
fn an_impossible_call_is_denied_by_an_error() {
    check(&case("denied", &json!({"tool": "no_such_tool"})), &failed(), true);
    check(&case("denied", &json!({"tool": "read", "args": {"path": "a\0b"}})), &failed(), true);
    check(&case("denied", &json!({"tool": "no_such_tool"})), &succeeded(), false);
}

#[test]
fn a_call_under_an_id_of_another_is_denied_by_an_error() {
    let calls = json!([{"id": "c1", "command": "true"}, {"id": "c1", "command": "ls"}]);
    let twice = case("denied", &json!({"raw_calls": calls}));
    check(&twice, &succeeded(), false);
    let mut refused = failed();
    refused.first_run.finished.stdout = refused.first_run.finished.stdout.replace("\"command\"", "\"text\"");
    check(&twice, &refused, true);
    let apart = json!([{"id": "c1", "command": "true"}, {"id": "c2", "command": "ls"}]);
    check(&case("denied", &json!({"raw_calls": apart})), &refused, false);
}

#[test]
fn broken_rules_may_prevent_the_run() {
    let mut no_run = failed();
    no_run.first_run.requests.clear();
    no_run.first_run.finished.stdout.clear();
    no_run.first_run.finished.code = Some(2);
    check(&case("denied", &json!({"policy": {"deny": ["Shel(ls)"]}})), &no_run, true);
    check(&case("denied", &json!({"policy": {"deny": ["Shell(ls)"]}})), &no_run, false);
    check(&case("contained", &Value::Null), &no_run, false);
}

#[test]
fn contained_needs_a_run_that_ended_in_order() {
    let contained = case("contained", &Value::Null);
    check(&contained, &rejected(), true);
    let mut without_sandbox = succeeded();
    without_sandbox.first_run.finished.code = Some(40);
    without_sandbox.first_run.finished.stderr = "error: no sandbox\n".to_owned();
    check(&contained, &without_sandbox, false);
    check(&case("contained", &json!({"env_fault": "deny clone(CLONE_NEWUSER)"})), &without_sandbox, true);
    let mut killed = succeeded();
    killed.first_run.finished.code = None;
    check(&contained, &killed, false);
}

#[test]
fn allowed_needs_success_and_every_effect() {
    let allowed = case("allowed", &json!({"breach": [], "ok": ["conn"]}));
    let mut fetched = succeeded();
    check(&allowed, &fetched, false);
    fetched.traffic.connections = 1;
    check(&allowed, &fetched, true);
    let mut refused = rejected();
    refused.traffic.connections = 1;
    check(&allowed, &refused, false);
}

#[test]
fn an_unexpected_result_of_a_step_fails_the_case() {
    let steps = |expect: &str| json!({"steps": [{"tool": "shell", "expect": expect}], "breach": []});
    let evidence = |preceding_calls: usize| Evidence { preceding_calls, ..succeeded() };
    check(&case("contained", &steps("denied")), &evidence(0), false);
    check(&case("contained", &steps("allowed")), &evidence(0), true);
    // The only call was the step; the relevant one is missing.
    check(&case("contained", &steps("allowed")), &evidence(1), false);
}

#[test]
fn the_time_limit_is_checked() {
    check(&case("contained", &json!({"max_s": 5})), &succeeded(), true);
    check(&case("contained", &json!({"max_s": 0.5})), &succeeded(), false);
}

#[test]
fn only_the_harm_of_many_calls_counts() {
    let twice = case("denied", &json!({"repeat": 2}));
    check(&twice, &succeeded(), false);
    let mut both = succeeded();
    both.first_run.finished.stdout = both.first_run.finished.stdout.repeat(2);
    check(&twice, &both, true);
}

#[test]
fn a_name_with_changing_addresses_may_lead_nowhere() {
    let rebinding = json!({"policy": {"resolve": {"a.test": "first public, then 127.0.0.1"}}});
    check(&case("denied", &rebinding), &failed(), true);
    check(&case("denied", &rebinding), &succeeded(), false);
}

#[test]
fn an_attack_without_protection_must_do_harm() {
    let attack = case("denied", &Value::Null);
    let mut evidence = succeeded();
    assert_ne!(judge_bare(&attack, &evidence), CaseOutcome::Passed);
    evidence.traffic.connections = 1;
    assert_eq!(judge_bare(&attack, &evidence), CaseOutcome::Passed);
}

#[test]
fn a_refusal_by_rules_fails_in_the_sandbox_mode() {
    let contained = case("contained", &Value::Null);
    assert_ne!(judge_sandbox_only(&contained, &rejected()), CaseOutcome::Passed);
    assert_eq!(
        judge_sandbox_only(&contained, &evidence_of(json!({"permissionDenied": {}}))),
        CaseOutcome::Passed
    );
}
