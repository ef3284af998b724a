//! The trait of output formats.

use std::io;

use ibeam_protocol::Event;

/// Turns the events of a run into bytes.
///
/// The last event of a run is `RunFinished`. After it and a `flush`, a writer has no pending bytes. A writer returns only
/// I/O errors, for example of a closed pipe or a full disk. Such an error ends the run.
pub trait EventWriter {
    /// Writes the next event. Its bytes may wait for `flush`.
    ///
    /// # Errors
    /// The inner writer failed. Every later call fails with the same error kind, because a part of a line may be written.
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

    /// Writes the last line with as little memory as possible, because the system refuses memory.
    fn spare_memory(&mut self) {}

    /// Ends a run without a last event: writes all pending bytes and flushes.
    ///
    /// # Errors
    /// The inner writer failed, as in `write`.
    fn finish_incomplete_run(&mut self) -> io::Result<()> {
        self.flush()
    }

    /// Ends the document after the last run. Formats whose runs are separate documents only flush.
    ///
    /// # Errors
    /// The inner writer failed, as in `write`.
    fn end_document(&mut self) -> io::Result<()> {
        self.flush()
    }
}
