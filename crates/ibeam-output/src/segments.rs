//! Where the answer is cut: under contract 2 a segment is the text between two calls, and under both contracts the last
//! one is the final message.
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

/// The place in the text of a run where the final message begins.
#[derive(Debug, Default)]
pub(crate) struct FinalMessage {
    begin: usize,
}

impl FinalMessage {
    /// Notes a call, which begins after `text`: what follows it may be the final message.
    pub(crate) fn restart(&mut self, text: &str) {
        self.begin = text.len();
    }

    /// Returns the final message of a run that gave `text`. The next run begins anew.
    pub(crate) fn take<'a>(&mut self, text: &'a str) -> &'a str {
        text.get(std::mem::take(&mut self.begin)..).unwrap_or_default()
    }
}
