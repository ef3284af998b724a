//! What a pump drives: a face of the program that turns events into bytes.

use std::io;

use ibeam_protocol::Event;

/// Turns the events of a run into bytes.
///
/// The last event of a run is `RunFinished`; after it and a `flush` nothing is held back, so there is no other
/// end. A writer never talks back: an error means that its reader is gone or its disk full, and the run ends.
pub trait EventWriter {
    /// Takes the next event; its bytes may wait for `flush`.
    ///
    /// # Errors
    /// That of the inner writer. Every later call fails with the same kind, for part of a line may be out.
    fn write(&mut self, event: &Event) -> io::Result<()>;

    /// Hands all waiting bytes to the inner writer, in one `write_all`, and flushes it.
    ///
    /// # Errors
    /// As `write`.
    fn flush(&mut self) -> io::Result<()>;

    /// Ends a line that is not whole yet, because something else is about to be shown on the same terminal.
    ///
    /// # Errors
    /// As `write`.
    fn end_line(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Nothing more is known of the run at hand, which has no last event: tells what was held back, and flushes.
    ///
    /// # Errors
    /// As `write`.
    fn finish_incomplete(&mut self) -> io::Result<()> {
        self.flush()
    }
}
