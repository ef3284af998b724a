//! Whatever a program printed, held against the contract, whether its test looks at it or not.
//!
//! Takes every stream of ours and every object of `json` for itself, so one stdout may hold several. Refuses nothing
//! else: stdout may be text, a report, or another program's dialect.

use ibeam_wire::check::{self, Rule};

/// How the program ended, as far as its stdout can be blamed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself: what it printed is whole.
    Whole,
    /// It was killed, or its reader went away: the last stream may be cut anywhere.
    Cut,
    /// It printed again what was recorded, of runs that may have been killed.
    Replayed,
}

/// What breaks the contract, one finding a line; `None` where all of it holds.
pub(crate) fn broken(stdout: &str, end: End) -> Option<String> {
    let printed = printed(stdout);
    let last = printed.len().saturating_sub(1);
    let mut told = Vec::new();
    for (index, stream) in printed.iter().enumerate() {
        let cut = end == End::Replayed || end == End::Cut && index == last;
        // A slice is always read.
        let report = check::check(stream.as_bytes(), 20).ok()?;
        let lines = stream.lines().count() as u64;
        let excused = |rule: Rule, line: u64| {
            let torn = line == lines && [Rule::NotJson, Rule::NoLineEnd].contains(&rule);
            cut && (torn || [Rule::NoEnd, Rule::CallNotCompleted, Rule::SegmentMissing].contains(&rule))
        };
        let findings = report.findings.iter().filter(|finding| !excused(finding.rule, finding.line));
        told.extend(findings.map(|finding| {
            let check::Finding { line, column, rule, message, .. } = finding;
            format!("{line}:{column}: {rule}: {message}")
        }));
    }
    (!told.is_empty()).then(|| told.join("\n"))
}

/// The streams and objects of ours: each from its first line to the next of the kind.
fn printed(stdout: &str) -> Vec<&str> {
    let mut starts = Vec::new();
    let mut at = 0;
    let mut ended = true;
    for line in stdout.split_inclusive('\n') {
        let begins = |kind: &str, extra: &str| line.starts_with(kind) && line.contains(extra);
        let stream = begins(r#"{"type":"system","subtype":"init","apiKeySource":"#, r#""ibeam":{"version":"#);
        let object =
            ended && begins(r#"{"type":"result","subtype":"success","is_error":"#, r#""ibeam":{"turns":"#);
        if stream || object {
            starts.push(at);
            ended = object;
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([stdout.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| stdout.get(*start..end)).collect()
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

    fn sums() -> &'static str {
        r#""ibeam":{"turns":1,"api_ms":1,"permission_denials":[],"failed_tool_calls":0,"files_changed":[],"retries":0,"compactions":0,"tool_calls":0,"background_stopped":0}}"#
    }

    fn result(text: &str) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":1,"is_error":false,"result":"{text}",{SESSION},{}"#,
            sums()
        ) + "\n"
    }

    fn object(is_error: bool) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":{is_error},"duration_ms":1,"duration_api_ms":1,"result":"",{SESSION},{}"#,
            sums()
        ) + "\n"
    }

    #[track_caller]
    fn check(stdout: &str, end: End, expect: &[&str]) {
        let told = broken(stdout, end).unwrap_or_default();
        let rules: Vec<&str> = told.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
        assert_eq!(rules, expect, "{told}");
    }

    #[test]
    fn every_stream_and_object_is_held_on_its_own() {
        let good = init() + &user() + &result("");
        let bad = init() + &user() + &result("x");
        check(&good, End::Whole, &[]);
        check(&format!("{good}{good}"), End::Replayed, &[]);
        check(&bad, End::Whole, &["result-differs"]);
        check(&format!("{good}{bad}{good}"), End::Whole, &["result-differs"]);
        check(&format!("{}{}", object(false), object(false)), End::Replayed, &[]);
        check(&object(true), End::Whole, &["wrong-value"]);
        check(&format!("{good}oops\n"), End::Whole, &["not-json"]);
    }

    #[test]
    fn a_run_that_was_killed_may_be_cut_and_no_other() {
        let cut = init() + &user();
        let torn = format!("{cut}{{\"type\":");
        check(&cut, End::Whole, &["no-end"]);
        check(&torn, End::Whole, &["not-json", "no-line-end", "no-end"]);
        for end in [End::Cut, End::Replayed] {
            check(&cut, end, &[]);
            check(&torn, end, &[]);
        }
        check(&format!("{cut}{}", cut.clone() + &result("")), End::Cut, &["no-end"]);
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        for stdout in [
            "",
            "Read file\n\nDone.\n",
            "{\"keeps\":false}\n",
            "{\"type\":\"system\",\"subtype\":\"init\"}\n",
        ] {
            check(stdout, End::Whole, &[]);
        }
    }
}
