//! The longest common subsequence of two lists of calls.

/// The maximum number of pairs of entries that are compared. Where the lists differ in more, they have nothing in common.
const MAX_PAIRS: usize = 4_000_000;

/// The lists that contain an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Both,
    First,
    Second,
}

impl Presence {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::First => "a",
            Self::Second => "b",
        }
    }
}

/// Returns the entries of both lists in one order, common entries once.
pub(super) fn merge<'a, T: PartialEq>(first: &'a [T], second: &'a [T]) -> Vec<(Presence, &'a T)> {
    let is_equal = |(a, b): &(&T, &T)| a == b;
    let head = first.iter().zip(second).take_while(is_equal).count();
    let (same, first) = first.split_at_checked(head).unwrap_or((&[], first));
    let second = second.get(head..).unwrap_or_default();
    let tail = first.iter().rev().zip(second.iter().rev()).take_while(is_equal).count();
    let (first, last) = first.split_at_checked(first.len() - tail).unwrap_or((first, &[]));
    let second = second.get(..second.len() - tail).unwrap_or_default();
    let both = |entry| (Presence::Both, entry);
    let mut merged: Vec<_> = same.iter().map(both).collect();
    merge_middle(first, second, &mut merged);
    merged.extend(last.iter().map(both));
    merged
}

fn merge_middle<'a, T: PartialEq>(first: &'a [T], second: &'a [T], merged: &mut Vec<(Presence, &'a T)>) {
    let width = second.len() + 1;
    let mut lengths = Vec::new();
    if first.len().saturating_mul(second.len()) <= MAX_PAIRS {
        // The length of the longest common subsequence of the rest of both lists, from each pair of places on.
        lengths = vec![0_u32; (first.len() + 1) * width];
        for (row, a) in first.iter().enumerate().rev() {
            for (column, b) in second.iter().enumerate().rev() {
                let at = |row: usize, column: usize| lengths.get(row * width + column).copied().unwrap_or(0);
                let length = match a == b {
                    true => at(row + 1, column + 1) + 1,
                    false => at(row + 1, column).max(at(row, column + 1)),
                };
                if let Some(cell) = lengths.get_mut(row * width + column) {
                    *cell = length;
                }
            }
        }
    }
    let at = |row: usize, column: usize| lengths.get(row * width + column).copied().unwrap_or(0);
    let (mut row, mut column) = (0, 0);
    loop {
        match (first.get(row), second.get(column)) {
            (Some(a), Some(b)) if a == b && !lengths.is_empty() => {
                merged.push((Presence::Both, a));
                (row, column) = (row + 1, column + 1);
            }
            (Some(a), Some(_)) if at(row + 1, column) >= at(row, column + 1) => {
                merged.push((Presence::First, a));
                row += 1;
            }
            (_, Some(b)) => {
                merged.push((Presence::Second, b));
                column += 1;
            }
            (Some(a), None) => {
                merged.push((Presence::First, a));
                row += 1;
            }
            (None, None) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Presence, merge};

    #[track_caller]
    fn check(first: &str, second: &str, expect: &str) {
        let (first, second): (Vec<char>, Vec<char>) = (first.chars().collect(), second.chars().collect());
        let merged = merge(&first, &second);
        let sign = |presence| match presence {
            Presence::Both => ' ',
            Presence::First => '-',
            Presence::Second => '+',
        };
        let text: Vec<_> =
            merged.iter().map(|(presence, entry)| format!("{}{entry}", sign(*presence))).collect();
        assert_eq!(text.concat(), expect);
    }

    #[test]
    fn common_entries_are_listed_once() {
        check("", "", "");
        check("abc", "abc", " a b c");
        check("abc", "axc", " a-b+x c");
        check("abcd", "bd", "-a b-c d");
        check("b", "abc", "+a b+c");
        check("aa", "a", " a-a");
    }

    #[test]
    fn lists_that_differ_too_much_have_nothing_in_common() {
        let (first, second): (Vec<u32>, Vec<u32>) = ((0..3000).collect(), (1..3001).rev().collect());
        let merged = merge(&first, &second);
        assert!(merged.iter().all(|(presence, _)| *presence != Presence::Both));
        assert_eq!(merged.len(), 6000);
    }

    proptest! {
        #[test]
        fn each_list_is_a_part_of_the_merged_list(
            first in prop::collection::vec(0_u8..4, 0..20),
            second in prop::collection::vec(0_u8..4, 0..20),
        ) {
            let merged = merge(&first, &second);
            let without = |other| -> Vec<u8> {
                merged.iter().filter(|(presence, _)| *presence != other).map(|(_, entry)| **entry).collect()
            };
            prop_assert_eq!(without(Presence::Second), first.clone());
            prop_assert_eq!(without(Presence::First), second.clone());
        }
    }
}
