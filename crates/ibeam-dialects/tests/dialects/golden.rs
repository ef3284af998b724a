//! `tests/golden/NAME`: a stream and its conversions. `IBEAM_BLESS=1` writes the present conversions.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_dialects::{DialectName, Losses};

use crate::convert::{converted, keeps_the_contract};
use crate::facts::comes_back;
use crate::shapes;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn streams() -> Vec<(DialectName, PathBuf)> {
    let mut found: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            (name.split('-').next().unwrap().parse().unwrap(), path)
        })
        .collect();
    found.sort_by(|one: &(_, PathBuf), other| one.1.cmp(&other.1));
    assert!(found.len() >= 15, "the streams are gone");
    found
}

fn others(from: DialectName) -> impl Iterator<Item = DialectName> {
    DialectName::ALL.iter().copied().filter(move |to| *to != from)
}

#[test]
fn conversions_are_unchanged() {
    let bless = std::env::var_os("IBEAM_BLESS").is_some();
    for (from, path) in streams() {
        let source = fs::read_to_string(path.join("source.ndjson")).unwrap();
        let mut all = Vec::new();
        for to in others(from) {
            let (target, losses) = converted(from, to, &source);
            all.push(report(to, &losses));
            hold(&path.join(format!("target-{to}.ndjson")), &target, bless);
        }
        hold(&path.join("losses.json"), &format!("{{\n{}\n}}\n", all.join(",\n")), bless);
    }
}

/// Returns the losses of a conversion, one loss a line.
fn report(to: DialectName, losses: &Losses) -> String {
    let lines: Vec<String> =
        losses.iter().map(|loss| format!("\n  {}", serde_json::to_string(&loss).unwrap())).collect();
    format!("\"{to}\": [{}\n]", lines.join(","))
}

#[track_caller]
fn hold(path: &Path, now: &str, bless: bool) {
    if bless {
        return fs::write(path, now).unwrap();
    }
    let was = fs::read_to_string(path).unwrap_or_default();
    assert!(was == now, "{} has changed; see with IBEAM_BLESS=1 and `git diff`", path.display());
}

#[test]
fn converted_streams_have_the_shape_of_the_target() {
    for (from, path) in streams() {
        let source = fs::read_to_string(path.join("source.ndjson")).unwrap();
        for to in others(from) {
            let (target, _) = converted(from, to, &source);
            match to {
                DialectName::Cursor => keeps_the_contract(&target),
                to => shapes::hold(to, &target),
            }
        }
        // The recorded streams also have the shape of their dialect.
        if from != DialectName::Cursor {
            shapes::hold(from, &source);
        }
    }
}

#[test]
fn parts_that_are_not_reported_as_lost_return() {
    for (from, path) in streams() {
        let source = fs::read_to_string(path.join("source.ndjson")).unwrap();
        let has_turns = path.ends_with(format!("{from}-turns"));
        for to in others(from) {
            // These dialects have one turn. The outline does not know of turns that are lost.
            if has_turns && [DialectName::Gemini, DialectName::Opencode].contains(&to) {
                continue;
            }
            comes_back(from, to, &source);
        }
    }
}

#[test]
fn the_same_dialect_is_the_same_bytes() {
    for (from, path) in streams() {
        let source = fs::read_to_string(path.join("source.ndjson")).unwrap();
        for source in [source.trim_end(), &source, &source.replace('\n', "\r\n\n")] {
            let (target, losses) = converted(from, from, source);
            assert_eq!(target, source);
            assert!(losses.is_empty());
        }
    }
}
