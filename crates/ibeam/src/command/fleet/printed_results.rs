//! The record of the results that commands have printed, in the directory of the fleet.
//!
//! A result is recorded after it was printed: a kill between the two may print it twice, but loses none.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// The name of the record: a hash on each line.
const NAME: &str = "printed";
/// The digits of a hash. A line that a loss of power has cut has fewer.
const DIGITS: usize = 16;

/// The results that were printed.
#[derive(Debug)]
pub(super) struct PrintedResults {
    file: File,
    known: HashSet<String>,
}

impl PrintedResults {
    /// Opens the record of a fleet. In a fleet of an earlier version, no result was recorded.
    pub(super) fn open(fleet: &Path) -> io::Result<Self> {
        let path = fleet.join(NAME);
        let file = File::options().create(true).append(true).open(&path)?;
        let text = fs::read_to_string(&path)?;
        let known = text.lines().filter(|line| line.len() == DIGITS).map(str::to_owned).collect();
        Ok(Self { file, known })
    }

    /// Whether a result was printed. One of a later attempt at the task is another one.
    pub(super) fn contains(&self, result: &str) -> bool {
        self.known.contains(&digits(result))
    }

    /// Records a result that was printed.
    pub(super) fn add(&mut self, result: &str) -> io::Result<()> {
        let digits = digits(result);
        self.file.write_all(format!("{digits}\n").as_bytes())?;
        self.known.insert(digits);
        Ok(())
    }
}

/// Returns the hash of a result (FNV-1a), which later versions of the program compute in the same way.
fn digits(result: &str) -> String {
    let hash = result.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:0DIGITS$x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_known_to_the_next_command_and_a_torn_line_is_not() {
        let home = tempfile::tempdir().unwrap();
        let mut printed = PrintedResults::open(home.path()).unwrap();
        assert!(!printed.contains("a"));
        printed.add("a").unwrap();
        printed.add("b").unwrap();
        let path = home.path().join(NAME);
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 3]).unwrap();
        let mut printed = PrintedResults::open(home.path()).unwrap();
        assert!(printed.contains("a") && !printed.contains("b"));
        printed.add("c").unwrap();
        printed.add("d").unwrap();
        let printed = PrintedResults::open(home.path()).unwrap();
        assert!(printed.contains("d") && !printed.contains("e"));
    }
}
