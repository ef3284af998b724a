//! Checks everything that a program printed against the contract, whatever the test itself checks.
//!
//! Finds each stream and each object of `--output-format json`; one stdout may contain several. Other output is ignored:
//! text, a report, or the format of another agent.

use ibeam_wire::check::{self, Rule};

/// The end of the program. It decides whether stdout may be incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The program ended by itself, so its output is complete.
    Complete,
    /// The program was killed, or its reader was closed. The last stream may be cut anywhere.
    Cut,
    /// The program printed recorded runs, as `replay` does. These runs may have been killed, so each stream may be cut.
    Replayed,
}

/// Returns the violations of the contract, one per line, or `None` if there are none.
pub(crate) fn violations(stdout: &str, end: StreamEnd) -> Option<String> {
    let all = streams(stdout);
    let last = all.len().saturating_sub(1);
    let mut findings = Vec::new();
    for (index, stream) in all.iter().enumerate() {
        let cut = end == StreamEnd::Replayed || end == StreamEnd::Cut && index == last;
        // Reading a slice does not fail.
        let report = check::check(stream.as_bytes(), 20).ok()?;
        let lines = stream.lines().count() as u64;
        let excused = |rule: Rule, line: u64| {
            let torn = line == lines && [Rule::NotJson, Rule::NoLineEnd].contains(&rule);
            cut && (torn || [Rule::NoEnd, Rule::CallNotCompleted, Rule::SegmentMissing].contains(&rule))
        };
        let unexcused = report.findings.iter().filter(|finding| !excused(finding.rule, finding.line));
        findings.extend(unexcused.map(|finding| {
            let check::Finding { line, column, rule, message, .. } = finding;
            format!("{line}:{column}: {rule}: {message}")
        }));
    }
    (!findings.is_empty()).then(|| findings.join("\n"))
}

/// Returns the streams and objects of the contract, each from its first line to the next stream or object.
fn streams(stdout: &str) -> Vec<&str> {
    let mut stream_starts = Vec::new();
    let mut at = 0;
    let mut may_start_object = true;
    for line in stdout.split_inclusive('\n') {
        let begins = |kind: &str, extra: &str| line.starts_with(kind) && line.contains(extra);
        let stream = begins(r#"{"type":"system","subtype":"init","apiKeySource":"#, r#""ibeam":{"version":"#);
        let object = may_start_object
            && begins(r#"{"type":"result","subtype":"success","is_error":"#, r#""ibeam":{"turns":"#);
        if stream || object {
            stream_starts.push(at);
            may_start_object = object;
        }
        at += line.len();
    }
    let ends = stream_starts.iter().skip(1).copied().chain([stdout.len()]);
    stream_starts.iter().zip(ends).filter_map(|(start, end)| stdout.get(*start..end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = r#""session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff""#;

    fn init() -> String {
        format!(
            r#"{{"type":"system","subtype":"init","apiKeySource":"env","cwd":"/x",{SESSION},"model":"M","permissionMode":"default","tools":["read"],"mcp_servers":[],"ibeam":{{"version":"0","contract":"1","api_key":"env","sandbox":{{"mode":"off","layers":[],"network":true,"reason":"r"}},"limits":{{"max_turns":1}}}}}}"#
        ) + "\n"
    }

    fn user() -> String {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":"hi"}}]}},{SESSION}}}"#
        ) + "\n"
    }

    fn totals() -> &'static str {
        r#""ibeam":{"turns":1,"api_ms":1,"permission_denials":[],"failed_tool_calls":0,"files_changed":[],"retries":0,"compactions":0,"tool_calls":0,"background_stopped":0}}"#
    }

    fn result(text: &str) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":1,"is_error":false,"result":"{text}",{SESSION},{}"#,
            totals()
        ) + "\n"
    }

    fn object(is_error: bool) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":{is_error},"duration_ms":1,"duration_api_ms":1,"result":"",{SESSION},{}"#,
            totals()
        ) + "\n"
    }

    #[track_caller]
    fn check(stdout: &str, end: StreamEnd, expect: &[&str]) {
        let findings = violations(stdout, end).unwrap_or_default();
        let rules: Vec<&str> = findings.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
        assert_eq!(rules, expect, "{findings}");
    }

    #[test]
    fn every_stream_and_object_is_checked_separately() {
        let good = init() + &user() + &result("");
        let bad = init() + &user() + &result("x");
        check(&good, StreamEnd::Complete, &[]);
        check(&format!("{good}{good}"), StreamEnd::Replayed, &[]);
        check(&bad, StreamEnd::Complete, &["result-differs"]);
        check(&format!("{good}{bad}{good}"), StreamEnd::Complete, &["result-differs"]);
        check(&format!("{}{}", object(false), object(false)), StreamEnd::Replayed, &[]);
        check(&object(true), StreamEnd::Complete, &["wrong-value"]);
        check(&format!("{good}oops\n"), StreamEnd::Complete, &["not-json"]);
    }

    #[test]
    fn only_a_killed_run_may_be_cut() {
        let cut = init() + &user();
        let torn = format!("{cut}{{\"type\":");
        check(&cut, StreamEnd::Complete, &["no-end"]);
        check(&torn, StreamEnd::Complete, &["not-json", "no-line-end", "no-end"]);
        for end in [StreamEnd::Cut, StreamEnd::Replayed] {
            check(&cut, end, &[]);
            check(&torn, end, &[]);
        }
        check(&format!("{cut}{}", cut.clone() + &result("")), StreamEnd::Cut, &["no-end"]);
    }

    #[test]
    fn other_output_is_ignored() {
        for stdout in [
            "",
            "Read file\n\nDone.\n",
            "{\"keeps\":false}\n",
            "{\"type\":\"system\",\"subtype\":\"init\"}\n",
        ] {
            check(stdout, StreamEnd::Complete, &[]);
        }
    }
}
