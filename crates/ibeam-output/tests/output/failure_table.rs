//! Every failure with its codes, its error object and its lines in every language, and every notice with its sentences,
//! compared with a stored file.
//!
//! `UPDATE_GOLDEN=1 cargo test -p ibeam-output --test output failure_table` rewrites the file.

use std::fmt::Write;

use ibeam_output::{Catalogue, Locale, error_object};
use ibeam_protocol::{Failure, Notice, Reason, Signal};

use crate::words::{every_notice, every_reason};

/// Other values of reasons whose message depends on them.
fn more_reasons() -> Vec<Reason> {
    let s = || "other".to_owned();
    let mut reasons = vec![
        Reason::NoKey { provider: s(), variable: s(), embedded: false },
        Reason::UnknownProvider { provider: s(), near: None },
        Reason::UnknownModel { model: s(), provider: Some(s()), near: Some(s()) },
        Reason::UnknownModel { model: s(), provider: None, near: None },
        Reason::ModelNotInstalled { model: s(), unused_key: None },
        Reason::Stalled { provider: s(), waited_ms: 90_000 },
        Reason::TurnLimit { limit: 1 },
        Reason::TokenLimit { limit: 1_234_567 },
        Reason::CostLimit { limit_micros: 1_250 },
        Reason::ToolErrors { count: 1200 },
        Reason::BadConfig { path: s(), line: None, column: None, detail: "a\n\u{1b}[31mb ".into() },
        Reason::BadConfig { path: s(), line: Some(3), column: None, detail: String::new() },
    ];
    reasons.extend([Signal::Hup, Signal::Int, Signal::Quit].map(Reason::Signalled));
    reasons
}

fn failure_entry(reason: Reason) -> String {
    let code = reason.code();
    let mut text = format!("== {reason:?}\n");
    let resumable = reason.is_resumable();
    writeln!(
        text,
        "{} {} retryable={} resumable={resumable}",
        code.exit_code(),
        code.as_str(),
        code.is_retryable()
    )
    .unwrap();
    for locale in Locale::ALL {
        writeln!(text, "{}: {}", locale.code(), Catalogue::new(locale).reason(&reason)).unwrap();
    }
    writeln!(text, "{}\n", error_object(&Failure::from(reason), None)).unwrap();
    text
}

fn notice_entry(notice: &Notice) -> String {
    let mut text = format!("== {notice:?}\n");
    for locale in Locale::ALL {
        writeln!(text, "{}: {}", locale.code(), Catalogue::new(locale).notice(notice)).unwrap();
    }
    text + "\n"
}

#[test]
fn every_failure_and_notice_has_the_codes_and_lines_of_the_stored_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/failures.txt");
    let table: String = every_reason()
        .into_iter()
        .chain(more_reasons())
        .map(failure_entry)
        .chain(every_notice().iter().map(notice_entry))
        .collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let expect = std::fs::read_to_string(path).unwrap();
    let differs = table.lines().zip(expect.lines()).find(|(line, expected)| line != expected);
    assert_eq!(differs, None, "if the change is intended, run with UPDATE_GOLDEN=1");
    assert_eq!(table.len(), expect.len());
}
