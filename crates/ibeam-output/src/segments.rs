//! Where the answer is cut under contract 2: a segment is the text between two calls.
//!
//! Holds no text of its own; the run's is kept for the last line anyway.

/// The segments of one run.
#[derive(Debug)]
pub(crate) struct Segments {
    /// Deltas are printed too, before the segment that repeats them.
    pub(crate) partial: bool,
    /// The byte of the run's text that the segment at hand begins with.
    begin: usize,
}

impl Segments {
    pub(crate) fn new(partial: bool) -> Self {
        Self { partial, begin: 0 }
    }

    /// Ends the segment at hand: the end of `said`, the text of the run so far. `None` where nothing was said.
    pub(crate) fn end<'a>(&mut self, said: &'a str) -> Option<&'a str> {
        let segment = said.get(self.begin..).filter(|segment| !segment.is_empty());
        self.begin = said.len();
        segment
    }
}
