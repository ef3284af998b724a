//! The size of the distributed program, with the embedded engine and without, and the memory and instructions of its runs.
//!
//! Builds the profile `dist`, which takes minutes. Fails if a figure is over its limit, or if the shortest run uses a
//! library that it does not need. A limit must not be raised without a decision of the maintainers. Without valgrind only
//! the size is checked, and a note is printed; the file is then not sorted either.

mod instructions;
mod measured_run;
mod memory;
mod unused_libraries;

use std::fs;
use std::path::Path;
use std::time::Instant;

use measured_run::Figure;
pub(crate) use measured_run::SizeError;

use crate::distribution::{Distribution, has_valgrind};

const MIB: u64 = 1 << 20;
/// The size was 19.45 MiB when the limit was set, 2 % less: with editors, both sides of MCP, sub-agents, web search, traces,
/// batches, and fleets with SQLite (0.6 MiB).
const WITHOUT_ENGINE: u64 = 1980 * MIB / 100;
/// The engine and the client of queues add 3.4 MiB: 23.0 in all when the limit was set.
const WITH_EVERYTHING: u64 = 2369 * MIB / 100;

/// Builds, prints the table and checks the limits. `without_engine` skips the build with the engine.
pub(crate) fn run(root: &Path, without_engine: bool) -> Result<(), SizeError> {
    let mut builds = vec![(Distribution::WithoutEngine, WITHOUT_ENGINE)];
    if !without_engine {
        builds.push((Distribution::WithEverything, WITH_EVERYTHING));
    }
    let valgrind = has_valgrind();
    if !valgrind {
        eprintln!("SKIP: memory and instructions are not measured, since valgrind is not installed");
    }
    let mut over_limit = Vec::new();
    for (distribution, limit) in builds {
        let started = Instant::now();
        let (what, program) = (distribution.name(), distribution.build(root)?);
        println!(
            "\n| {what}, built in {} s | measured | limit |\n|---|---|---|",
            started.elapsed().as_secs()
        );
        let bytes = fs::metadata(&program)?.len();
        let mut figures = vec![Figure { what: "bytes", measured: bytes, limit }];
        if valgrind {
            figures.push(memory::measure(&program));
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
