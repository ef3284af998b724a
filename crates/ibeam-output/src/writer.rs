//! The trait of output formats.

use std::io;

use ibeam_protocol::Event;

/// Turns the events of a run into bytes.
///
/// The last event of a run is `RunFinished`. After it and a `flush` a writer holds no bytes back, so there is no other
/// end. A writer returns nothing but errors: its reader is gone or its disk is full, and the run ends.
pub trait EventWriter {
    /// Writes the next event. Its bytes may wait for `flush`.
    ///
    /// # Errors
    /// The inner writer failed. Every later call fails with the same kind, because part of a line may be written.
    fn write(&mut self, event: &Event) -> io::Result<()>;

    /// Passes all pending bytes to the inner writer, in one `write_all`, and flushes it.
    ///
    /// # Errors
    /// The inner writer failed, as in `write`.
    fn flush(&mut self) -> io::Result<()>;

    /// Ends an incomplete line, because another writer is about to use the same terminal.
    ///
    /// # Errors
    /// The inner writer failed, as in `write`.
    fn end_line(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Ends a run that has no last event: writes the bytes that were held back, and flushes.
    ///
    /// # Errors
    /// The inner writer failed, as in `write`.
    fn finish_incomplete(&mut self) -> io::Result<()> {
        self.flush()
    }
}
