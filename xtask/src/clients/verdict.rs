//! The comparison of a client's report with the output, and of the output with the contract.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::environment::{ClientEnvironment, Observation};
use super::program_call::{OutputFormat, ProgramCall};
use crate::suite::SuiteError;

/// Returns a line about the values that the client parsed correctly, or all problems of the run. If the client `misreads`
/// the text, its text must have the documented error and all other values must be correct.
///
/// # Errors
/// `System` if `ibeam check` cannot be started.
pub(super) fn evaluate(
    environment: &ClientEnvironment,
    observation: &Observation,
    misreads: bool,
) -> Result<Result<String, String>, SuiteError> {
    let mut problems: Vec<String> = Vec::new();
    match observation.exit_status {
        Some(status) if status.success() => {}
        Some(status) => problems.push(format!("the driver ended with {status}")),
        None => problems.push("the driver did not end in time".to_owned()),
    }
    if let Some(error) = &observation.report.error {
        problems.push(format!("the client reported: {error}"));
    }
    let runs: Vec<&ProgramCall> = observation.calls.iter().filter(|call| call.is_run()).collect();
    let turns = &observation.report.turns;
    if turns.is_empty() || turns.len() != runs.len() {
        problems.push(format!("the client reports {} answer(s) of {} run(s)", turns.len(), runs.len()));
    }
    if observation.unanswered > 0 {
        problems.push(format!("{} request(s) more than the script has answers", observation.unanswered));
    }
    for call in &runs {
        if call.code != 0 {
            problems.push(format!("exit code {}: {}", call.code, call.stderr.trim_end()));
        } else if call.format() != OutputFormat::Text
            && let Some(findings) = contract_violation(environment, call)?
        {
            problems.push(format!("`ibeam check`: {findings}"));
        }
    }
    let mut matched: Vec<String> = Vec::new();
    for (turn, call) in turns.iter().zip(&runs) {
        let text_kind = turn.get("text_is").and_then(Value::as_str).unwrap_or("whole");
        for (key, value) in turn.iter().filter(|(key, _)| *key != "text_is") {
            let compared = match misreads && key == "text" {
                true => compare_misreading(value, text_kind, call),
                false => compare(key, value, text_kind, call),
            };
            match compared {
                Ok(()) => matched.push(key.replace('_', " ")),
                Err(difference) => problems.push(format!("{key}: {difference}")),
            }
        }
    }
    if problems.is_empty() {
        matched.sort();
        matched.dedup();
        return Ok(Ok(format!("{} run(s); {}", runs.len(), matched.join(", "))));
    }
    let mut report_text: String = problems.iter().map(|reason| format!("     - {reason}\n")).collect();
    report_text.extend(observation.driver_stderr.lines().map(|line| format!("     | {line}\n")));
    Ok(Err(report_text.trim_end().to_owned()))
}

/// Returns the findings of `ibeam check`, if there are any.
fn contract_violation(
    environment: &ClientEnvironment,
    call: &ProgramCall,
) -> Result<Option<String>, SuiteError> {
    let mut check = Command::new(&environment.program);
    check.args(["check", "--lang", "en", "-"]).env("IBEAM_CONTRACT", environment.contract.to_string());
    let mut check = check
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(SuiteError::system(environment.program.display()))?;
    if let Some(mut stdin) = check.stdin.take() {
        stdin.write_all(call.stdout.as_bytes()).map_err(SuiteError::system("ibeam check"))?;
    }
    let output = check.wait_with_output().map_err(SuiteError::system("ibeam check"))?;
    let findings = [output.stdout, output.stderr].concat();
    Ok((!output.status.success())
        .then(|| String::from_utf8_lossy(&findings).trim_end().replace('\n', "\n       ")))
}

/// Compares one value of the client's report with the output.
fn compare(key: &str, value: &Value, text_kind: &str, call: &ProgramCall) -> Result<(), String> {
    let check_equal = |reported: &Value, printed: &Value| match reported == printed {
        true => Ok(()),
        false => Err(format!("the client has {reported}, the output has {printed}")),
    };
    if key == "text" && text_kind == "stdout" {
        return match call.format() {
            OutputFormat::Text => check_same_text(value, &call.stdout),
            OutputFormat::Json | OutputFormat::StreamJson => {
                Err("the client expects text, and the output is JSON".to_owned())
            }
        };
    }
    let answer = call.answer()?;
    match key {
        "text" => match text_kind {
            "whole" => check_same_text(value, &answer.complete),
            "last" => check_same_text(value, answer.parts.last().unwrap_or(&answer.complete)),
            "display" => {
                let displayed = normalized_words(value.as_str().unwrap_or_default());
                if answer.parts.is_empty() {
                    return Err("no text was printed".to_owned());
                }
                let count = |part: &String| displayed.matches(&normalized_words(part)).count();
                match answer.parts.iter().find(|part| count(part) != 1) {
                    None => Ok(()),
                    Some(part) => Err(format!("{part:?} occurs {} times in {displayed:?}", count(part))),
                }
            }
            other => Err(format!("unknown key or value `{other}` from the driver")),
        },
        "json" => {
            check_equal(value, &serde_json::from_str(&answer.complete).map_err(|error| error.to_string())?)
        }
        "session_id" => check_equal(value, &answer.session_id.into()),
        "tool_calls" => check_equal(value, &answer.calls.into()),
        "input_tokens" => check_equal(value, &answer.usage.map(|usage| usage.input_tokens).into()),
        "output_tokens" => check_equal(value, &answer.usage.map(|usage| usage.output_tokens).into()),
        other => Err(format!("unknown key or value `{other}` from the driver")),
    }
}

/// Checks that the client reports the documented wrong text: one event instead of a part, each event as a part, or JSON
/// as text.
fn compare_misreading(value: &Value, text_kind: &str, call: &ProgramCall) -> Result<(), String> {
    if compare("text", value, text_kind, call).is_ok() {
        return Err("the client is documented to misread this contract, and does not".to_owned());
    }
    match text_kind {
        "last" => check_same_text(value, &call.answer()?.last_event),
        // The client treats each event as a separate text.
        "display" => check_same_text(value, &call.answer()?.events.join("\n")),
        "stdout" if call.format() == OutputFormat::StreamJson => check_same_text(value, &call.stdout),
        other => Err(format!("no misreading of `{other}` is documented")),
    }
}

fn check_same_text(reported: &Value, printed: &str) -> Result<(), String> {
    let (reported, printed) =
        (normalized_words(reported.as_str().unwrap_or_default()), normalized_words(printed));
    match reported == printed && !printed.is_empty() {
        true => Ok(()),
        false => Err(format!("the client has {reported:?}, the output has {printed:?}")),
    }
}

/// Normalizes white space, which clients may change.
fn normalized_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::program_call::tests::{STREAM, run};
    use super::*;

    #[track_caller]
    fn check(key: &str, text_kind: &str, right: &[Value], problems: &[Value]) {
        for value in right {
            assert_eq!(compare(key, value, text_kind, &run(STREAM)), Ok(()), "{key}");
        }
        for value in problems {
            assert!(
                compare(key, value, text_kind, &run(STREAM)).is_err(),
                "{key}: {value} differs from the output"
            );
        }
    }

    #[test]
    fn only_the_documented_misreading_is_accepted() {
        let stream = STREAM.replace(r#""Done.""#, r#""Do""#).replace(
            r#"{"type":"result""#,
            concat!(
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"ne."}]},"session_id":"s","timestamp_ms":6}"#,
                "\n",
                r#"{"type":"result""#
            ),
        );
        let call = run(&stream);
        assert_eq!(compare_misreading(&json!("ne."), "last", &call), Ok(()));
        assert_eq!(compare_misreading(&json!("I\nlook.\nDo\nne."), "display", &call), Ok(()));
        assert_eq!(compare_misreading(&json!(stream), "stdout", &call), Ok(()));
        for (value, text_kind) in [
            ("Done.", "last"),
            ("", "last"),
            ("Do", "last"),
            ("ne.", "stdout"),
            ("ne.", "whole"),
            ("I look. Done.", "display"),
        ] {
            assert!(compare_misreading(&json!(value), text_kind, &call).is_err(), "{value} {text_kind}");
        }
    }

    #[test]
    fn values_of_a_client_must_match_the_output() {
        let none = json!(null);
        check(
            "text",
            "whole",
            &[json!("I look.Done."), json!("I  look.Done.\n")],
            &[json!("Done."), none.clone()],
        );
        check("text", "last", &[json!("Done.")], &[json!("I look.Done."), json!("")]);
        let display = [json!("> I look.\n[call]\nDone.")];
        check("text", "display", &display, &[json!("I look."), json!("I look. I look. Done.")]);
        check("text", "stdout", &[], &[json!(STREAM)]);
        assert_eq!(
            compare("text", &json!("Read file\nDone."), "stdout", &run("Read file\n\nDone.\n")),
            Ok(())
        );
        check("text", "upside down", &[], &[json!("Done.")]);
        check("session_id", "", &[json!("s")], &[json!("t"), none.clone()]);
        check("tool_calls", "", &[json!(1)], &[json!(2), none.clone()]);
        check("input_tokens", "", &[json!(7)], &[json!(0), none.clone()]);
        check("output_tokens", "", &[json!(3)], &[json!(7), none.clone()]);
        check("json", "", &[], &[json!({}), none]);
        check("what_is_this", "", &[], &[json!(1)]);
    }
}
