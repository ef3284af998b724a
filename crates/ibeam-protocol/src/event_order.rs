//! The order of the events of a journal, by their numbers.
//!
//! Numbers begin at 0 and have no gaps. A record that was lost, repeated or moved breaks the order.

use std::ops::Range;

/// The largest number of missing ranges; further ones are joined with the last one.
const MAX_MISSING_RANGES: usize = 1024;

/// The position of an event relative to the events before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPosition {
    /// Its number is the next one.
    Next,
    /// Numbers before it are missing.
    AfterGap,
    /// Its number was missing until now.
    Late,
    /// An event with this number came before.
    Repeated,
}

/// Checks the numbers of the events of a journal, one after another.
#[derive(Debug, Default)]
pub struct EventOrder {
    /// One more than the largest number so far.
    next: u64,
    /// One more than the number of the last event.
    expected: u64,
    missing: Vec<Range<u64>>,
    gaps: u64,
}

impl EventOrder {
    /// Checks the number of the next event and returns its position.
    pub fn check(&mut self, seq: u64) -> EventPosition {
        self.gaps += u64::from(seq != self.expected);
        self.expected = seq.saturating_add(1);
        if seq >= self.next {
            let missing = self.next..seq;
            self.next = self.expected;
            if missing.is_empty() {
                return EventPosition::Next;
            }
            let is_full = self.missing.len() >= MAX_MISSING_RANGES;
            match self.missing.last_mut().filter(|_| is_full) {
                Some(last) => last.end = missing.end,
                None => self.missing.push(missing),
            }
            return EventPosition::AfterGap;
        }
        let Some(index) = self.missing.iter().position(|range| range.contains(&seq)) else {
            return EventPosition::Repeated;
        };
        let range = self.missing.remove(index);
        let rest = [range.start..seq, seq + 1..range.end].into_iter().filter(|range| !range.is_empty());
        self.missing.splice(index..index, rest);
        EventPosition::Late
    }

    /// Returns the number for the next recorded event, which is larger than all numbers so far.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of places where an event does not follow the event before it.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::EventPosition::{AfterGap, Late, Next, Repeated};
    use super::*;

    #[track_caller]
    fn check(numbers: &[u64], expect: &[EventPosition], gaps: u64) {
        let mut order = EventOrder::default();
        let places: Vec<EventPosition> = numbers.iter().map(|seq| order.check(*seq)).collect();
        assert_eq!((places.as_slice(), order.gaps()), (expect, gaps), "{numbers:?}");
        assert_eq!(order.next(), numbers.iter().max().map_or(0, |largest| largest + 1));
    }

    #[test]
    fn events_in_order_have_no_gaps() {
        check(&[], &[], 0);
        check(&[0, 1, 2], &[Next, Next, Next], 0);
    }

    #[test]
    fn a_lost_repeated_or_moved_event_is_a_gap() {
        check(&[1, 2], &[AfterGap, Next], 1);
        check(&[0, 2, 3], &[Next, AfterGap, Next], 1);
        check(&[0, 1, 1, 2], &[Next, Next, Repeated, Next], 1);
        check(&[0, 2, 1, 3], &[Next, AfterGap, Late, Next], 3);
        check(&[0, 4, 2, 3, 1, 1], &[Next, AfterGap, Late, Late, Late, Repeated], 4);
    }

    #[test]
    fn gaps_do_not_increase_memory_use() {
        let mut order = EventOrder::default();
        for seq in 0..10_000 {
            assert_eq!(order.check(2 * seq + 1), AfterGap);
        }
        assert_eq!((order.missing.len(), order.gaps()), (MAX_MISSING_RANGES, 10_000));
        assert_eq!((order.check(0), order.check(0)), (Late, Repeated));
        assert_eq!(order.check(u64::MAX), AfterGap);
    }
}
