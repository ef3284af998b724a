//! One run with the real embedded model, where its file is set up.

use std::path::PathBuf;
use std::time::Duration;

use ibeam_testkit::{Ibeam, Workspace};

use crate::scene::BINARY;

const FILE: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";
const README: &str = "# Tide tables\n\nA small program that prints the tides of the North Sea for a given day.\n\n\
                      ## Usage\n\n    tides 2026-11-21 Cuxhaven\n\nIt reads its data from `tides.csv`.\n";

/// Where the model is on this machine.
fn model_file() -> Option<PathBuf> {
    let own = std::env::var_os("IBEAM_LOCAL_MODEL").map(PathBuf::from);
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    own.or_else(|| Some(data?.join("ibeam/models").join(FILE))).filter(|file| file.is_file())
}

#[test]
fn the_embedded_model_reads_a_file_and_writes_a_summary() {
    let Some(file) = model_file() else {
        eprintln!("SKIP: the embedded model is not set up on this machine; `ibeam setup` installs it");
        return;
    };
    let workspace = Workspace::new().file("README.md", README);
    let prompt = "Read README.md and write a summary to summary.txt";
    let run = Ibeam::new(BINARY, &workspace).args(["-p", "--model", "embedded", prompt]);
    // A debug build on a slow machine takes a while for its first token.
    let ran = run.env("IBEAM_LOCAL_MODEL", file).guard(Duration::from_secs(600)).run().succeeded();
    let stream = ran.stream();
    assert_eq!(stream.init()["model"], "Qwen2.5-Coder 1.5B (embedded)");
    assert_eq!(
        (&stream.init()["apiKeySource"], &stream.init()["ibeam"]["api_key"]),
        (&"env".into(), &"none".into())
    );
    let summary = workspace.read("summary.txt").unwrap_or_default();
    assert!(!summary.trim().is_empty(), "{ran}");
    assert_eq!(workspace.read("README.md").as_deref(), Some(README), "what was not asked for is not touched");
    let outline = stream.outline();
    let at = |word: &str| {
        outline.iter().position(|event| event == word).unwrap_or_else(|| panic!("no {word}; {ran}"))
    };
    assert!(at("completed read") < at("started write"), "{outline:?}");
    assert!(ran.stderr_lines("warning: ").iter().any(|line| line.contains("Qwen2.5-Coder 1.5B")), "{ran}");
}
