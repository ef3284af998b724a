//! A writer that also passes each event to a function.

use std::io;

use ibeam_output::EventWriter;
use ibeam_protocol::Event;

/// Passes events to a function, then to a writer.
pub(super) struct EventTap<F> {
    writer: Box<dyn EventWriter + Send>,
    on_event: F,
}

impl<F: FnMut(&Event) + Send + 'static> EventTap<F> {
    /// Returns a writer that calls `on_event` before it passes an event to `writer`.
    pub(super) fn wrap(writer: Box<dyn EventWriter + Send>, on_event: F) -> Box<dyn EventWriter + Send> {
        Box::new(Self { writer, on_event })
    }
}

impl<F: FnMut(&Event)> EventWriter for EventTap<F> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        (self.on_event)(event);
        self.writer.write(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.writer.end_line()
    }

    fn finish_incomplete_run(&mut self) -> io::Result<()> {
        self.writer.finish_incomplete_run()
    }

    fn end_document(&mut self) -> io::Result<()> {
        self.writer.end_document()
    }
}
