//! The part of a sweep that runs: all of it, or one of several parts.

use std::str::FromStr;

/// The environment variable with the part of the sweeps that tests run: `whole`, or `K/N` for the parts 0/N to N-1/N.
pub const SWEEP_VARIABLE: &str = "IBEAM_SWEEP";

/// A part of a sweep: the cases whose number leaves `index` when it is divided by `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepPart {
    index: usize,
    count: usize,
}

/// A text that names no part of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a part of a sweep; write `whole`, or `0/8` to `7/8` for an eighth")]
pub struct InvalidSweep(String);

impl SweepPart {
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Returns the part in [`SWEEP_VARIABLE`], and without it the first eighth.
    ///
    /// # Panics
    /// If the variable names no part, since another part would run than was asked for.
    #[must_use]
    pub fn from_environment() -> Self {
        match std::env::var(SWEEP_VARIABLE) {
            Ok(text) => text.parse().unwrap_or_else(|error| panic!("{SWEEP_VARIABLE}: {error}")),
            Err(_) => Self { index: 0, count: 8 },
        }
    }

    /// Whether the case with this number, counted from 0, is in the part.
    #[must_use]
    pub fn includes(self, number: usize) -> bool {
        number % self.count == self.index
    }

    /// Returns how many of `all` random trials the part has, at least one.
    #[must_use]
    pub fn share_of(self, all: usize) -> usize {
        all.div_ceil(self.count).max(1)
    }

    /// Returns the index of the part, from 0: another seed for the random trials of each part.
    #[must_use]
    pub fn index(self) -> usize {
        self.index
    }

    /// Whether this is the complete sweep.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.count == 1
    }
}

impl FromStr for SweepPart {
    type Err = InvalidSweep;

    fn from_str(text: &str) -> Result<Self, InvalidSweep> {
        if text == "whole" {
            return Ok(Self::WHOLE);
        }
        let (index, count) = text.split_once('/').ok_or_else(|| InvalidSweep(text.to_owned()))?;
        match (index.parse(), count.parse()) {
            (Ok(index), Ok(count)) if index < count => Ok(Self { index, count }),
            _ => Err(InvalidSweep(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_sweep_have_every_case_once() {
        for number in 0..40 {
            let parts =
                (0..8).filter(|index| format!("{index}/8").parse::<SweepPart>().unwrap().includes(number));
            assert_eq!(parts.count(), 1);
            assert!("whole".parse::<SweepPart>().unwrap().includes(number));
        }
    }

    #[test]
    fn a_text_that_is_no_part_is_refused() {
        for text in ["", "8/8", "1", "0/0", "-1/8", "all"] {
            assert!(text.parse::<SweepPart>().is_err(), "{text}");
        }
    }
}
