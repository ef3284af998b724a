//! Edits of a valid stream, each of which breaks one rule, and the golden file of all findings.
//!
//! `write_the_golden_findings` renews the file after an intended change:
//! `cargo test -p ibeam-wire --test wire -- --ignored write_the_golden_findings`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ibeam_wire::check::{Report, Rule, Severity};

use crate::samples::{checked, documented_run};
use crate::segments;

/// An edit of a stream. Line numbers start at 1.
pub(crate) enum Edit {
    /// Replaces the first text by the second in a line.
    Replace(usize, &'static str, &'static str),
    /// Removes a line.
    Drop(usize),
    /// Inserts a copy of the first line before the second.
    Copy(usize, usize),
    /// Swaps two lines.
    Swap(usize, usize),
    /// Inserts a text before a line.
    Insert(usize, &'static str),
    /// Changes the complete stream.
    Rewrite(fn(&str) -> Vec<u8>),
}
use Edit::{Copy, Drop, Insert, Replace, Rewrite, Swap};

impl Edit {
    pub(crate) fn apply_to(&self, stream: &str) -> Vec<u8> {
        let mut lines: Vec<String> = stream.lines().map(str::to_owned).collect();
        match *self {
            Replace(line, from, to) => {
                assert!(lines[line - 1].contains(from), "{from} in {}", lines[line - 1]);
                lines[line - 1] = lines[line - 1].replacen(from, to, 1);
            }
            Drop(line) => drop(lines.remove(line - 1)),
            Copy(line, before) => lines.insert(before - 1, lines[line - 1].clone()),
            Swap(one, other) => lines.swap(one - 1, other - 1),
            Insert(before, text) => lines.insert(before - 1, text.to_owned()),
            Rewrite(change) => return change(stream),
        }
        lines.concat_lines()
    }
}

trait ConcatLines {
    fn concat_lines(&self) -> Vec<u8>;
}

impl ConcatLines for Vec<String> {
    fn concat_lines(&self) -> Vec<u8> {
        self.iter().flat_map(|line| [line.as_bytes(), b"\n"]).flatten().copied().collect()
    }
}

const ID: &str = r#""session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff""#;
const OTHER_ID: &str = r#""session_id":"00000000-7ead-4fd6-9922-e952131177ff""#;

/// The rule, the line of the finding, and the edit that breaks the rule.
pub(crate) const VIOLATIONS: &[(Rule, u64, Edit)] = &[
    // Bytes.
    (Rule::Empty, 1, Rewrite(|_| Vec::new())),
    (Rule::NotUtf8, 3, Rewrite(|stream| in_line(stream, 3, |line| line.insert(90, 0xff)))),
    (Rule::ByteOrderMark, 1, Rewrite(|stream| format!("\u{feff}{stream}").into_bytes())),
    (Rule::NotJson, 3, Replace(3, r#""message":"#, r#""message" "#)),
    (Rule::NotJson, 7, Rewrite(|stream| stream.as_bytes()[..stream.len() - 40].to_vec())),
    (Rule::NotJson, 1, Insert(1, "ibeam is starting")),
    (Rule::NotJson, 3, Replace(3, "I will ", "I will \t")),
    (Rule::NotJson, 4, Replace(4, "}", "}}")),
    (
        Rule::NotAnObject,
        1,
        Rewrite(|stream| format!("[{}]\n", stream.trim_end().replace('\n', ",")).into_bytes()),
    ),
    (Rule::NotAnObject, 3, Insert(3, "[]")),
    (Rule::NotAnObject, 3, Insert(3, "null")),
    (Rule::TooDeep, 5, Rewrite(deep)),
    (Rule::EmptyLine, 4, Insert(4, "")),
    (Rule::EmptyLine, 8, Rewrite(|stream| format!("{stream}\n").into_bytes())),
    (Rule::CarriageReturn, 1, Rewrite(|stream| stream.replace('\n', "\r\n").into_bytes())),
    (Rule::NoLineEnd, 7, Rewrite(|stream| stream.trim_end().as_bytes().to_vec())),
    (Rule::BareControl, 4, Replace(4, "read", "read\u{2028}")),
    (Rule::BareControl, 6, Replace(6, "# Project", "# \u{9b}31mProject")),
    (Rule::DuplicateKey, 3, Replace(3, r#""role""#, r#""role":"assistant","role""#)),
    (Rule::DuplicateKey, 6, Replace(6, r#""result":"#, r#""result":{},"result":"#)),
    // Keys and values.
    (Rule::MissingKey, 1, Replace(1, r#""apiKeySource":"login","#, "")),
    (Rule::MissingKey, 1, Replace(1, r#""mcp_servers":[],"#, "")),
    (Rule::MissingKey, 1, Replace(1, r#","limits":{"max_turns":100}"#, "")),
    (Rule::MissingKey, 2, Replace(2, r#""role":"user","#, "")),
    (Rule::MissingKey, 3, Replace(3, r#""type":"assistant","#, "")),
    (Rule::MissingKey, 3, Replace(3, r#","timestamp_ms":1764000000000"#, "")),
    (Rule::MissingKey, 5, Replace(5, r#""model_call_id":"1","#, "")),
    (Rule::MissingKey, 6, Replace(6, r#","totalChars":10"#, "")),
    (Rule::MissingKey, 7, Replace(7, r#""duration_ms":1234,"#, "")),
    (Rule::MissingKey, 7, Replace(7, r#","cacheWriteTokens":0"#, "")),
    (Rule::MissingKey, 7, Replace(7, r#""turns":2,"#, "")),
    (Rule::WrongType, 1, Replace(1, r#""tools":["read","write"]"#, r#""tools":["read",1]"#)),
    (
        Rule::WrongType,
        2,
        Replace(2, r#""content":[{"type":"text","text":"Read README.md"}]"#, r#""content":"x""#),
    ),
    (Rule::WrongType, 3, Replace(3, "1764000000000", "\"1764000000000\"")),
    (Rule::WrongType, 6, Replace(6, r#""isEmpty":false"#, r#""isEmpty":0"#)),
    (Rule::WrongType, 7, Replace(7, r#""duration_ms":1234"#, r#""duration_ms":1234.5"#)),
    (Rule::WrongType, 7, Replace(7, r#""request_id":"req_01""#, r#""request_id":null"#)),
    (Rule::WrongType, 7, Replace(7, r#""api_ms":1200"#, r#""api_ms":-1"#)),
    (Rule::WrongValue, 1, Replace(1, r#""apiKeySource":"login""#, r#""apiKeySource":"none""#)),
    (
        Rule::WrongValue,
        1,
        Replace(1, r#""permissionMode":"default""#, r#""permissionMode":"predeterminado""#),
    ),
    (Rule::WrongValue, 1, Replace(1, "/home/me/project", "project")),
    (Rule::WrongValue, 1, Replace(1, r#""contract":"1""#, r#""contract":"3""#)),
    (Rule::WrongValue, 2, Replace(2, r#""role":"user""#, r#""role":"assistant""#)),
    (Rule::WrongValue, 3, Replace(3, r#"{"type":"text","text":"I will "}"#, "")),
    (Rule::WrongValue, 3, Replace(3, ID, r#""session_id":"c6b62c6f""#)),
    (Rule::WrongValue, 7, Replace(7, r#""is_error":false"#, r#""is_error":true"#)),
    (Rule::WrongValue, 7, Replace(7, r#""subtype":"success""#, r#""subtype":"correcto""#)),
    (
        Rule::KeyOrder,
        1,
        Replace(1, r#""type":"system","subtype":"init""#, r#""subtype":"init","type":"system""#),
    ),
    (Rule::KeyOrder, 7, Replace(7, r#""turns":2,"api_ms":1200"#, r#""api_ms":1200,"turns":2"#)),
    (Rule::Thinking, 3, Insert(3, r#"{"type":"thinking","subtype":"delta","text":"hm"}"#)),
    (Rule::Thinking, 3, Replace(3, r#"{"type":"text","text""#, r#"{"type":"thinking","text""#)),
    (Rule::DurationsDiffer, 7, Replace(7, r#""duration_api_ms":1234"#, r#""duration_api_ms":1200"#)),
    // Order.
    (Rule::InitNotFirst, 1, Drop(1)),
    (Rule::InitNotFirst, 1, Swap(1, 2)),
    (Rule::InitAgain, 4, Copy(1, 4)),
    (Rule::UserNotSecond, 2, Drop(2)),
    (Rule::UserNotSecond, 2, Swap(2, 3)),
    (Rule::UserAgain, 5, Copy(2, 5)),
    (Rule::NoEnd, 7, Drop(7)),
    (Rule::EndAgain, 8, Copy(7, 8)),
    (Rule::LateOutput, 8, Copy(4, 8)),
    (Rule::LateOutput, 7, Swap(6, 7)),
    (Rule::SessionChanged, 4, Replace(4, ID, OTHER_ID)),
    (Rule::SessionChanged, 7, Replace(7, ID, OTHER_ID)),
    // Calls.
    (Rule::OneTool, 5, Replace(5, r#""tool_call":{"#, r#""tool_call":{"shellToolCall":{"args":{}},"#)),
    (Rule::OneTool, 5, Replace(5, r#"{"readToolCall":{"args":{"path":"README.md"}}}"#, "{}")),
    (Rule::OneArm, 6, Replace(6, r#""result":{"#, r#""result":{"error":{"errorMessage":"x"},"#)),
    (
        Rule::OneArm,
        6,
        Replace(
            6,
            r##"{"success":{"content":"# Project\n","isEmpty":false,"exceededLimit":false,"totalLines":1,"totalChars":10}}"##,
            "{}",
        ),
    ),
    (Rule::WrongArm, 6, Replace(6, r#""success":"#, r#""spawnError":"#)),
    (
        Rule::WrongType,
        6,
        Replace(
            6,
            r##""success":{"content":"# Project\n","isEmpty":false,"exceededLimit":false,"totalLines":1,"totalChars":10}"##,
            r##""success":true"##,
        ),
    ),
    (Rule::EarlyResult, 5, Replace(5, r#"{"path":"README.md"}"#, r#"{"path":"README.md"},"result":{}"#)),
    (
        Rule::MissingKey,
        6,
        Replace(
            6,
            r##","result":{"success":{"content":"# Project\n","isEmpty":false,"exceededLimit":false,"totalLines":1,"totalChars":10}}"##,
            "",
        ),
    ),
    (
        Rule::CallIdDiffers,
        5,
        Replace(5, r#"{"path":"README.md"}"#, r#"{"path":"README.md","toolCallId":"toolu_02"}"#),
    ),
    (Rule::CallStartedTwice, 6, Copy(5, 6)),
    (Rule::CallStartedTwice, 7, Copy(5, 7)),
    (Rule::CallNotStarted, 5, Drop(5)),
    (Rule::CallNotStarted, 5, Swap(5, 6)),
    (Rule::CallCompletedTwice, 7, Copy(6, 7)),
    (Rule::CallNotCompleted, 5, Drop(6)),
    (Rule::CallNotCompleted, 5, Replace(6, "toolu_01", "toolu_02")),
    (Rule::CallChanged, 6, Replace(6, r#""path":"README.md""#, r#""path":"LICENSE""#)),
    (Rule::CallChanged, 6, Replace(6, r#""model_call_id":"1""#, r#""model_call_id":"2""#)),
    (Rule::CallChanged, 6, Replace(6, "readToolCall", "lsToolCall")),
    (Rule::TooManyOpenCalls, 1029, Rewrite(many_calls)),
    // The text.
    (Rule::ResultDiffers, 7, Replace(7, "I will read it.", "I will read it!")),
    (Rule::ResultDiffers, 6, Drop(3)),
    (Rule::ResultDiffers, 8, Copy(4, 5)),
    (Rule::ResultDiffers, 7, Swap(3, 4)),
    (Rule::FinalDiffers, 7, Replace(7, r#""final":""#, r#""final":"read it."#)),
    (Rule::FinalDiffers, 7, Rewrite(|stream| failed(stream, r#""turns":2"#, r#""final":"it.","turns":2"#))),
    // A failed run.
    (Rule::ExitCodeDiffers, 7, Rewrite(|stream| failed(stream, r#""exit_code":24"#, r#""exit_code":25"#))),
    (
        Rule::ExitCodeDiffers,
        7,
        Rewrite(|stream| failed(stream, r#""retryable":true"#, r#""retryable":false"#)),
    ),
    (Rule::MissingKey, 7, Rewrite(|stream| failed(stream, r#""resumable":true,"#, ""))),
    (Rule::ResultDiffers, 7, Rewrite(|stream| failed(stream, r#","result":"I will read it.""#, ""))),
    (
        Rule::WrongType,
        7,
        Rewrite(|stream| failed(stream, r#""retry_after_ms":900"#, r#""retry_after_ms":"soon""#)),
    ),
    (Rule::WrongValue, 7, Rewrite(|stream| failed(stream, r#""http_status":429"#, r#""http_status":4290"#))),
    (
        Rule::WrongValue,
        7,
        Rewrite(|stream| {
            failed(
                stream,
                r#""rate_limited","message":"too many requests","exit_code":24"#,
                r#""new","message":"","exit_code":256"#,
            )
        }),
    ),
    // The one object of `json`.
    (Rule::FinalDiffers, 1, Rewrite(|stream| object(stream, r#""final":""#, r#""final":"I will"#))),
    (Rule::LateOutput, 2, Rewrite(|stream| object(stream, "}\n", "}\n{}\n"))),
    (
        Rule::KeyOrder,
        1,
        Rewrite(|stream| {
            object(stream, r#""is_error":false,"duration_ms":1234"#, r#""duration_ms":1234,"is_error":false"#)
        }),
    ),
    (Rule::MissingKey, 1, Rewrite(|stream| object(stream, r#""result":"I will read it.","#, ""))),
    (Rule::NoLineEnd, 1, Rewrite(|stream| object(stream, "\n", ""))),
];

/// Edits that cause warnings only.
pub(crate) const WARNINGS: &[(Rule, u64, Edit)] = &[
    (Rule::UnknownEvent, 3, Insert(3, r#"{"type":"progress","subtype":"tick"}"#)),
    (Rule::UnknownEvent, 2, Insert(2, r#"{"type":"connection","subtype":"open"}"#)),
    (
        Rule::UnknownValue,
        1,
        Replace(1, r#""mcp_servers":[]"#, r#""mcp_servers":[{"name":"a","status":"asleep"}]"#),
    ),
    (Rule::UnknownValue, 7, Rewrite(|stream| failed(stream, "rate_limited", "tired"))),
    (Rule::UnknownTool, 5, Rewrite(|stream| stream.replace("readToolCall", "danceToolCall").into_bytes())),
    (Rule::UnknownArm, 6, Replace(6, r#""success":"#, r#""postponed":"#)),
];

fn in_line(stream: &str, line: usize, change: fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = stream.lines().map(|line| line.as_bytes().to_vec()).collect();
    change(&mut lines[line - 1]);
    lines.iter().flat_map(|line| [line.as_slice(), b"\n"]).flatten().copied().collect()
}

fn deep(stream: &str) -> Vec<u8> {
    let args = format!(r#""path":{}{}"#, "[".repeat(600), "]".repeat(600));
    let mut lines: Vec<String> = stream.lines().map(str::to_owned).collect();
    lines[4] = lines[4].replace(r#""path":"README.md""#, &args);
    lines.concat_lines()
}

fn many_calls(stream: &str) -> Vec<u8> {
    let mut lines: Vec<String> = stream.lines().take(5).map(str::to_owned).collect();
    for number in 0..1100 {
        lines.push(lines[4].replace("toolu_01", &format!("toolu_more_{number}")));
    }
    lines.extend(stream.lines().skip(5).map(str::to_owned));
    lines.concat_lines()
}

/// Returns the documented run with a failure at its end, and one replacement in that line.
fn failed(stream: &str, from: &str, to: &str) -> Vec<u8> {
    let (events, last) = stream.trim_end().rsplit_once('\n').unwrap();
    let (_, summary) = last.split_once(r#""ibeam":"#).unwrap();
    let summary = summary.strip_suffix('}').unwrap().replace(r#","final":"""#, "");
    let error = format!(
        r#"{{"type":"error","code":"rate_limited","message":"too many requests","exit_code":24,"retryable":true,"retry_after_ms":900,"http_status":429,{ID},"ibeam":{summary},"resumable":true,"result":"I will read it."}}"#
    );
    assert!(error.contains(from), "{error}");
    format!("{events}\n{}\n", error.replacen(from, to, 1)).into_bytes()
}

/// Returns the result of the documented run as the object of `json`, with one replacement.
fn object(stream: &str, from: &str, to: &str) -> Vec<u8> {
    let last = stream.lines().last().unwrap();
    let object = last.replacen(r#""is_error":false,"#, "", 1).replacen(
        r#""duration_ms""#,
        r#""is_error":false,"duration_ms""#,
        1,
    );
    let object = format!("{object}\n");
    assert!(object.contains(from), "{object}");
    object.replacen(from, to, 1).into_bytes()
}

#[track_caller]
fn check_violation(rule: Rule, line: u64, edit: &Edit, expect: Severity) {
    let report = checked(edit.apply_to(documented_run()));
    let found = report.findings.iter().find(|finding| finding.rule == rule && finding.line == line);
    let found = found.unwrap_or_else(|| panic!("{rule} in line {line}: {:?}", report.findings));
    assert_eq!(found.severity, expect, "{found:?}");
    assert_eq!(report.is_valid(), expect == Severity::Warning, "{:?}", report.findings);
    assert!(found.column >= 1);
    assert!(!found.message.is_empty() && !found.message.ends_with('.'), "{found:?}");
    assert!(!found.message.contains(char::is_control), "{found:?}");
}

#[test]
fn each_violation_is_found_by_its_rule_in_its_line() {
    assert!(VIOLATIONS.len() >= 50);
    for (rule, line, edit) in VIOLATIONS {
        check_violation(*rule, *line, edit, Severity::Error);
    }
}

#[test]
fn unknown_events_tools_and_values_are_warnings() {
    for (rule, line, edit) in WARNINGS {
        check_violation(*rule, *line, edit, Severity::Warning);
    }
}

#[test]
fn the_base_streams_of_the_violations_follow_the_contract() {
    assert_eq!(checked(failed(documented_run(), "x", "x")).findings, []);
    let report = checked(object(documented_run(), "is", "is"));
    assert_eq!((report.findings, report.is_single_object, report.is_from_ibeam), (Vec::new(), true, true));
}

#[test]
fn every_rule_is_broken_by_some_stream() {
    let broken: BTreeSet<&str> = VIOLATIONS.iter().chain(WARNINGS).map(|(rule, ..)| rule.as_str()).collect();
    // The module `segments` breaks the rules of contract 2.
    for rule in Rule::ALL.iter().filter(|rule| !rule.meaning().starts_with("Under contract 2, ")) {
        // The tests of `lines` in the library break this rule.
        assert!(broken.contains(rule.as_str()) || *rule == Rule::LineTooLong, "{rule}");
    }
}

#[test]
fn unknown_keys_are_ignored() {
    for line in documented_run().lines() {
        let extended = line.strip_suffix('}').unwrap().to_owned() + r#","more":{"of":["it"]}}"#;
        let stream = documented_run().replace(line, &extended);
        assert_eq!(checked(stream).findings, [], "{extended}");
    }
}

#[test]
fn columns_count_characters_and_point_at_the_value() {
    #[track_caller]
    fn check(edit: &Edit, expect: &str) {
        let stream = edit.apply_to(documented_run());
        let report = checked(&stream);
        let finding = &report.findings[0];
        let text = String::from_utf8(stream).unwrap();
        let line = text.lines().nth(usize::try_from(finding.line).unwrap() - 1).unwrap();
        let rest: String = line.chars().skip(usize::try_from(finding.column).unwrap() - 1).collect();
        assert!(rest.starts_with(expect), "{rest}");
    }
    check(&Replace(1, r#""apiKeySource":"login""#, r#""apiKeySource":"café""#), "\"café\"");
    check(&Replace(1, r#"["read","write"]"#, r#"["読む",[1]]"#), "[1]");
    check(&Replace(7, r#""outputTokens":40"#, r#""outputTokens":"é""#), "\"é\"");
    check(&Replace(4, "read it.", "read\u{85}"), "\u{85}");
    check(&Replace(4, r#""role""#, r#""role":"é","role""#), r#""role":"assistant""#);
    check(&Replace(4, r#""role":"#, r#""role""#), "\"assistant\"");
    check(&Replace(3, ID, OTHER_ID), "\"00000000");
    check(&Drop(6), "\"toolu_01\"");
}

#[test]
fn an_unreadable_line_causes_no_findings_in_other_lines() {
    for line in 1..=6 {
        let report = checked(Insert(line, "oops").apply_to(documented_run()));
        let mut lines: Vec<u64> = report.findings.iter().map(|finding| finding.line).collect();
        lines.dedup();
        assert!(report.findings.len() <= 2, "{:?}", report.findings);
        let mut broken: Vec<String> = documented_run().lines().map(str::to_owned).collect();
        broken[line - 1].pop();
        let report = checked(broken.concat_lines());
        let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
        assert_eq!((finding.rule, finding.line), (Rule::NotJson, line as u64));
    }
}

#[test]
fn the_page_has_a_row_for_each_rule() {
    let page = include_str!("../../../../docs/check.md");
    for rule in Rule::ALL {
        let breach = match (rule.severity(true), rule.severity(false)) {
            (Severity::Error, Severity::Error) => "error",
            (Severity::Error, Severity::Warning) => "warning, in a stream of ibeam an error",
            (Severity::Warning, _) => "warning",
        };
        let row = format!("| `{rule}` | {} | {breach} |\n", rule.meaning());
        assert!(page.contains(&row), "no row {row}");
    }
    assert_eq!(page.matches(" | error |").count() + page.matches(" | warning").count(), Rule::ALL.len());
}

/// Returns every finding of every edit, as in the golden file.
fn all_findings() -> String {
    let mut text = String::new();
    let mut add = |name: &str, report: Report| {
        let Report { is_single_object, is_from_ibeam, contract, events, errors, warnings, .. } = report;
        text.push_str(&format!(
            "{name}: single object {is_single_object}, from ibeam {is_from_ibeam}, contract {}, \
             {events} events, {errors} errors, {warnings} warnings\n",
            contract.as_str()
        ));
        for finding in report.findings {
            let (rule, severity) = (finding.rule, finding.severity.as_str());
            let (line, column, message) = (finding.line, finding.column, finding.message);
            text.push_str(&format!("  {line}:{column}: {severity}: {rule}: {message}\n"));
        }
    };
    for (index, (_, _, edit)) in VIOLATIONS.iter().chain(WARNINGS).enumerate() {
        add(&format!("contract 1, {index}"), checked(edit.apply_to(documented_run())));
    }
    for (stream, violations) in [
        (segments::without_deltas(), segments::VIOLATIONS_WITHOUT_DELTAS),
        (segments::with_deltas(), segments::VIOLATIONS_WITH_DELTAS),
    ] {
        for (index, (_, _, edit)) in violations.iter().enumerate() {
            add(&format!("contract 2, {index}"), checked(edit.apply_to(&stream)));
        }
    }
    text
}

fn golden_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/findings.txt")
}

#[test]
fn every_finding_is_as_in_the_golden_file() {
    let golden = std::fs::read_to_string(golden_path()).unwrap();
    for (found, golden) in all_findings().lines().zip(golden.lines()) {
        assert_eq!(found, golden);
    }
    assert_eq!(all_findings().len(), golden.len());
}

#[test]
#[ignore = "writes the file that the other test compares with"]
fn write_the_golden_findings() {
    std::fs::write(golden_path(), all_findings()).unwrap();
}
