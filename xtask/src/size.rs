//! The size of the distributed program, with the embedded engine and without, and the instructions of its runs.
//!
//! Builds the profile `dist`, which takes minutes. Fails if a figure is over its limit, or if the shortest run uses a
//! library that it does not need. A limit must not be raised without a decision of the maintainers. Without valgrind only
//! the size is checked, and a note is printed.

mod instructions;
mod measured_run;
mod unused_libraries;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ibeam_testkit::build_program_with;
use measured_run::Figure;
pub(crate) use measured_run::SizeError;

const MIB: u64 = 1 << 20;
/// The size was 20.94 MiB when the limit was set, with editors, both sides of MCP, sub-agents, web search, traces, batches,
/// and fleets with SQLite (0.6 MiB). The last 0.95 MiB is for the requests of today's models (rows that are configured,
/// refused parts, recorded prompts: 0.3), for the endings of runs and files of other programs (0.2), for the guards (the
/// record of changes and the quarantine, views of repositories, hints: 0.2), and for fleets that can be believed (verdicts
/// with three values, the log of requests, leases of limits, the commands of fleets, key pools, the store of answers,
/// statistics: 0.25), until the program is made smaller.
const WITHOUT_ENGINE: Build = Build {
    what: "without the engine",
    options: &["--profile", "dist", "--no-default-features"],
    limit: 2096 * MIB / 100,
};
/// The engine and the client of queues add about 3.8 MiB.
const WITH_ENGINE: Build =
    Build { what: "with everything", options: &["--profile", "dist", "--features", "nats"], limit: 24 * MIB };

/// A build of the program.
#[derive(Clone, Copy)]
struct Build {
    /// The name of the build in the table.
    what: &'static str,
    /// The options of `cargo build`.
    options: &'static [&'static str],
    /// The largest size, in bytes.
    limit: u64,
}

/// Returns the command that builds the distribution without the engine.
pub(crate) fn distribution_command() -> String {
    format!("cargo build --locked -p ibeam {}", WITHOUT_ENGINE.options.join(" "))
}

/// Builds, prints the table and checks the limits. `--without-engine` skips the build with the engine.
pub(crate) fn run(root: &Path, option: Option<&str>) -> Result<(), SizeError> {
    let builds: &[Build] = match option {
        None => &[WITHOUT_ENGINE, WITH_ENGINE],
        Some("--without-engine") => &[WITHOUT_ENGINE],
        Some(other) => return Err(SizeError::Option(other.to_owned())),
    };
    let valgrind = Command::new("valgrind").arg("--version").output();
    let valgrind = valgrind.is_ok_and(|output| output.status.success());
    if !valgrind {
        eprintln!("SKIP: instructions are not counted, since valgrind is not installed");
    }
    let mut over_limit = Vec::new();
    for Build { what, options, limit } in builds {
        let started = Instant::now();
        let program = build_program_with(root, options)?;
        println!(
            "\n| {what}, built in {} s | measured | limit |\n|---|---|---|",
            started.elapsed().as_secs()
        );
        let bytes = fs::metadata(&program)?.len();
        let mut figures = vec![Figure { what: "bytes", measured: bytes, limit: *limit }];
        if valgrind {
            figures.extend(instructions::measure(&program)?);
        }
        for Figure { what: figure, measured, limit } in figures {
            println!("| {figure} | {measured} | {limit} |");
            if measured > limit {
                over_limit.push(format!("{figure} {what}, {measured} of {limit}"));
            }
        }
    }
    if !over_limit.is_empty() {
        return Err(SizeError::OverLimit(over_limit.join("; ")));
    }
    if valgrind { unused_libraries::check(root) } else { Ok(()) }
}
