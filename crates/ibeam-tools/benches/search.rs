//! `grep` and `glob` on a tree of 100,000 files, compared with `rg` and `fd` at the same work: the same pattern, the
//! same ignore files, hidden files included, with the output read by the caller.
//!
//! ibeam's tools are calls in a running process, the others are programs that are started. ibeam returns results in
//! order, `glob` with the newest first. Rows named `by_…` are the baselines of their group; a program that is not
//! installed has no figure.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a bench that fails should stop"
)]

#[path = "search/forest.rs"]
mod forest;

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use forest::Forest;
use ibeam_core::{Stop, ToolContext};
use ibeam_protocol::tool_output::GrepMatches;
use ibeam_protocol::{ToolOutcome, ToolOutput};
use ibeam_tools::{ToolSettings, Workspace, all};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// A word and a regular expression, each in one file of a thousand: the whole tree is searched.
const PATTERNS: [&str; 2] = [forest::RARE, r"reconcile_\w+\(value_\d+\)"];
const GLOB: &str = "handler_*.rs";

mod grep {
    use super::*;

    #[divan::bench(args = PATTERNS)]
    fn call(bencher: Bencher<'_, '_>, pattern: &str) {
        let forest = Forest::grown();
        let search = || match run(&forest.root, "grep", json!({ "pattern": pattern })) {
            ToolOutput::Grep(output) => match output.matches {
                GrepMatches::Content(files) => files.into_iter().map(|found| found.file).collect(),
                other => unreachable!("{other:?}"),
            },
            other => unreachable!("{other:?}"),
        };
        let found: BTreeSet<_> = search();
        assert!(!found.is_empty(), "something is found, and not all there is: {found:?}");
        if let Some(output) = answer(&mut rg(&forest.root, pattern)) {
            let expected = output.lines().map(|line| line.split(':').next().unwrap().into());
            assert_eq!(found, expected.collect(), "both find the same files");
        }
        bencher.counter(ItemsCount::new(forest.files)).bench_local(search);
    }

    /// With as many threads as there are processors.
    #[divan::bench(args = PATTERNS)]
    fn by_rg(bencher: Bencher<'_, '_>, pattern: &str) {
        bench_program(bencher, |root| rg(root, pattern));
    }

    /// In order and with one thread, like ibeam.
    #[divan::bench(args = PATTERNS)]
    fn by_rg_in_order(bencher: Bencher<'_, '_>, pattern: &str) {
        bench_program(bencher, |root| {
            let mut rg = rg(root, pattern);
            rg.args(["--sort", "path"]);
            rg
        });
    }

    fn rg(root: &Path, pattern: &str) -> Command {
        let mut rg = Command::new("rg");
        rg.args([
            "--no-config",
            "--no-ignore-global",
            "--hidden",
            "--glob=!.git",
            "--line-number",
            "--no-heading",
        ]);
        rg.args(["--regexp", pattern]).current_dir(root);
        rg
    }
}

mod glob {
    use super::*;

    #[divan::bench]
    fn call(bencher: Bencher<'_, '_>) {
        let forest = Forest::grown();
        let search = || match run(&forest.root, "glob", json!({ "globPattern": GLOB })) {
            ToolOutput::Glob(output) => output,
            other => unreachable!("{other:?}"),
        };
        let found = search();
        assert_eq!(found.total_files, found.files.len() as u64, "all found files are returned");
        assert!(!found.files.is_empty());
        if let Some(output) = fd_name().and_then(|name| answer(&mut fd(name, &forest.root))) {
            let expected: BTreeSet<_> =
                output.lines().map(|line| line.trim_start_matches("./").into()).collect();
            assert_eq!(
                found.files.into_iter().collect::<BTreeSet<_>>(),
                expected,
                "both find the same files"
            );
        }
        bencher.counter(ItemsCount::new(forest.files)).bench_local(search);
    }

    /// With as many threads as there are processors; it does not read modification times.
    #[divan::bench]
    fn by_fd(bencher: Bencher<'_, '_>) {
        match fd_name() {
            Some(name) => bench_program(bencher, |root| fd(name, root)),
            None => eprintln!("SKIP: fd is not installed"),
        }
    }

    /// With one thread, like ibeam.
    #[divan::bench]
    fn by_fd_in_one_thread(bencher: Bencher<'_, '_>) {
        match fd_name() {
            Some(name) => bench_program(bencher, |root| {
                let mut fd = fd(name, root);
                fd.arg("--threads=1");
                fd
            }),
            None => eprintln!("SKIP: fd is not installed"),
        }
    }

    /// Its name, which Debian gives to another program.
    fn fd_name() -> Option<&'static str> {
        ["fd", "fdfind"].into_iter().find(|name| answer(Command::new(name).arg("--version")).is_some())
    }

    fn fd(name: &str, root: &Path) -> Command {
        let mut fd = Command::new(name);
        fd.args(["--no-global-ignore-file", "--hidden", "--exclude=.git", "--type=file", "--glob", GLOB]);
        fd.current_dir(root);
        fd
    }
}

/// Returns the output of a call.
fn run(root: &Path, tool: &str, arguments: Value) -> ToolOutput {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let workspace = Workspace::new(root, &[]).unwrap();
    let tool = all(workspace, ToolSettings::default()).remove(tool).unwrap();
    let call = tool.prepare(black_box(&arguments)).unwrap();
    let context = ToolContext::new(Stop::default(), Duration::from_secs(60));
    match runtime.block_on((call.run)(context)) {
        ToolOutcome::Success { output, .. } => output,
        refused => unreachable!("{refused:?}"),
    }
}

/// Returns the output of a program, `None` where it is not installed. No match is a success too.
fn answer(program: &mut Command) -> Option<String> {
    let output = program.stdin(Stdio::null()).output().ok()?;
    assert!(matches!(output.status.code(), Some(0 | 1)), "{program:?}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn bench_program(bencher: Bencher<'_, '_>, program: impl Fn(&Path) -> Command) {
    let forest = Forest::grown();
    if answer(&mut program(&forest.root)).is_none() {
        return eprintln!("SKIP: {:?} is not installed", program(&forest.root).get_program());
    }
    bencher
        .counter(ItemsCount::new(forest.files))
        .bench_local(|| answer(&mut program(&forest.root)).unwrap());
}
