//! Every failure with its codes, its error object and its lines in every language, and every notice with its sentences:
//! one of the golden files.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write};

use ibeam_output::{Catalogue, Locale, error_object};
use ibeam_protocol::{Failure, Notice, Reason, Signal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::catalogue_texts::{every_notice, every_reason};

/// Returns more values of reasons whose message depends on the value.
fn more_reasons() -> Vec<Reason> {
    let s = || "other".to_owned();
    let mut reasons = vec![
        Reason::NoKey { provider: s(), variable: s(), embedded: false, without_engine: true },
        Reason::NoModel { unused_key: None },
        Reason::UnknownProvider { provider: s(), near: None },
        Reason::UnknownModel { model: s(), provider: Some(s()), near: Some(s()), also_near: Vec::new() },
        Reason::UnknownModel { model: s(), provider: None, near: None, also_near: Vec::new() },
        Reason::Stalled { provider: s(), waited_ms: 90_000 },
        Reason::TurnLimit { limit: 1 },
        Reason::TokenLimit { limit: 1_234_567 },
        Reason::CostLimit { limit_micros: 1_250 },
        Reason::ToolErrors { count: 1200 },
        Reason::BadConfig { path: s(), line: None, column: None, detail: "a\n\u{1b}[31mb ".into() },
        Reason::BadConfig { path: s(), line: Some(3), column: None, detail: "".into() },
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

/// Returns the content of the golden file.
pub(crate) fn table() -> String {
    let reasons = every_reason().into_iter().chain(more_reasons());
    reasons.map(failure_entry).chain(every_notice().iter().map(notice_entry)).collect()
}

/// Returns the tags of all variants of an enum, which serde lists in its error about an unknown variant.
fn tags<T: DeserializeOwned + Debug>() -> Vec<String> {
    let error = serde_json::from_str::<T>("\"?\"").unwrap_err().to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

fn tag(variant: &impl Serialize) -> String {
    match serde_json::to_value(variant).unwrap() {
        Value::String(tag) => tag,
        other => other.as_object().unwrap().keys().next().unwrap().clone(),
    }
}

#[test]
fn the_table_has_every_failure_and_every_notice() {
    let listed: BTreeSet<String> = every_reason().iter().map(tag).collect();
    assert_eq!(listed, BTreeSet::from_iter(tags::<Reason>()));
    let listed: BTreeSet<String> = every_notice().iter().map(tag).collect();
    assert_eq!(listed, BTreeSet::from_iter(tags::<Notice>()));
}
