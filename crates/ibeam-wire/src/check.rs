//! Whether a stream, the one object of `json`, or that of a failure keeps its contract, and where it does not.
//!
//! A stream that has the object `ibeam` in its `init` promises all that docs/output-format.md says; one without it is
//! another program's, and is held to the published page: what ibeam adds may be absent, and what the page's own
//! samples get wrong is a warning. `init.ibeam.contract` says which contract it is; where a stream does not say, the
//! caller does. Memory is that of the longest line and of the calls that are open, whatever the
//! length of the stream. Judges the bytes only: exit code and stderr are not in them.

mod answer;
mod call_payload;
mod call_tracker;
mod finding;
mod rule;
mod stream;
mod value;

use std::io::{self, BufRead};

pub(crate) use self::call_payload::FUNCTION_CALL;
pub use self::finding::{Finding, Report};
pub use self::rule::{Rule, Severity};
use self::stream::Checker;
use crate::Contract;
use crate::lines::Lines;

/// Reads to the end and tells every breach; the first `most` findings are kept, all are counted.
///
/// What begins with a `result` is taken for the one object of `json`, what begins with an `error` for that of a failure,
/// anything else for a stream.
///
/// # Errors
/// Those of the reader. What it gave until then is lost.
pub fn check<R: BufRead>(stream: R, most: usize) -> io::Result<Report> {
    check_with_contract(Contract::One, stream, most)
}

/// The same; a stream that does not say which contract it keeps is held to `contract`.
///
/// # Errors
/// As `check`.
pub fn check_with_contract<R: BufRead>(contract: Contract, stream: R, most: usize) -> io::Result<Report> {
    check_lines(contract, Lines::new(stream), most)
}

pub(crate) fn check_lines<R: BufRead>(
    contract: Contract,
    mut lines: Lines<R>,
    most: usize,
) -> io::Result<Report> {
    let mut checker = Checker::new(contract, most);
    while let Some(line) = lines.next()? {
        checker.line(line);
    }
    Ok(checker.end())
}
