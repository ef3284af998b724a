//! Prints the events of a replay run by run, each at its time, with the writers of a live run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use ibeam_output::{EventWriter, ReplayLine};
use ibeam_protocol::{Event, EventKind, RunFinished};
use ibeam_trace::Html;

use super::pace::Pace;
use super::{ReplayEnd, ReplayOptions};
use crate::event_printing::event_writer;
use crate::flags::Format;
use ibeam_agent::app::BaseContext;

enum ReplayOutput<'a> {
    /// No output yet.
    None,
    /// Events, written like those of a run.
    Events(Box<dyn EventWriter + Send + 'a>),
    /// Lines, copied from the input.
    Lines(BufWriter<&'a File>),
}

/// Prints the requested runs.
pub(super) struct ReplayPrinter<'a> {
    base: &'a BaseContext,
    options: &'a ReplayOptions,
    out: &'a File,
    pace: Pace,
    output: ReplayOutput<'a>,
    /// The title of a page; without it, the page has the first prompt as its title.
    title: Option<String>,
    /// The number of runs that have started.
    runs: u64,
    /// Whether the current run has not ended.
    is_open: bool,
}

impl<'a> ReplayPrinter<'a> {
    /// Returns a printer that writes events to `out`.
    pub(super) fn for_events(base: &'a BaseContext, options: &'a ReplayOptions, out: &'a File) -> Self {
        Self {
            base,
            options,
            out,
            pace: options.pace.clone(),
            output: ReplayOutput::None,
            title: None,
            runs: 0,
            is_open: false,
        }
    }

    /// Returns a printer that writes the events of all runs with `writer`. The format of the options is an export.
    pub(super) fn for_writer(
        base: &'a BaseContext,
        options: &'a ReplayOptions,
        out: &'a File,
        writer: Box<dyn EventWriter + Send + 'a>,
    ) -> Self {
        Self { output: ReplayOutput::Events(writer), ..Self::for_events(base, options, out) }
    }

    /// Returns a printer that copies lines to `out`, each at the time of its event.
    pub(super) fn for_lines(base: &'a BaseContext, options: &'a ReplayOptions, out: &'a File) -> Self {
        Self { output: ReplayOutput::Lines(BufWriter::new(out)), ..Self::for_events(base, options, out) }
    }

    /// Returns the printer with the title of a page.
    pub(super) fn with_title(self, title: Option<String>) -> Self {
        Self { title, ..self }
    }

    /// Writes the next event, or its line with the line end, when it is due.
    ///
    /// # Errors
    /// `RequestedRunShown` after the only requested run; the error of stdout.
    pub(super) fn show(&mut self, event: Option<&Event>, line: &[u8]) -> Result<(), ReplayEnd> {
        let kind = event.map(|event| &event.kind);
        match kind {
            Some(EventKind::RunStarted(head)) => self.begin_run(head.message_turn > 1)?,
            _ if self.runs == 0 => self.begin_run(false)?,
            _ => {}
        }
        if self.is_requested() {
            // An event without a time is due at once.
            let at_ms = event.map(|event| event.at_ms).filter(|at_ms| *at_ms > 0);
            let wait = at_ms.map_or(Duration::ZERO, |at_ms| self.pace.time_until_due(at_ms));
            if !wait.is_zero() {
                self.flush()?;
                std::thread::sleep(wait);
            }
            match (&mut self.output, event) {
                (ReplayOutput::Events(writer), Some(event)) => writer.write(event)?,
                (ReplayOutput::Lines(out), _) => out.write_all(line)?,
                (ReplayOutput::None, _) | (ReplayOutput::Events(_), None) => {}
            }
            if self.options.is_live {
                self.flush()?;
            }
        }
        if let Some(EventKind::RunFinished(run)) = kind {
            self.end_run(run)?;
        }
        Ok(())
    }

    /// Writes the last lines of a run that has no end.
    ///
    /// # Errors
    /// `RequestedRunShown` after the only requested run; the error of stdout.
    pub(super) fn write_rest(&mut self, lines: &[u8]) -> Result<(), ReplayEnd> {
        if lines.is_empty() { Ok(()) } else { self.show(None, lines) }
    }

    /// Flushes the output, warns about a run without an end, and returns the number of runs.
    ///
    /// # Errors
    /// `RequestedRunShown` after the only requested run; the error of stdout.
    pub(super) fn finish(&mut self) -> Result<u64, ReplayEnd> {
        self.finish_incomplete()?;
        self.end_document()?;
        Ok(self.runs)
    }

    fn is_requested(&self) -> bool {
        self.options.run.is_none_or(|run| run.get() == self.runs)
    }

    /// Begins the output of a run, which is the next turn of a stream of messages if `is_turn`.
    fn begin_run(&mut self, is_turn: bool) -> Result<(), ReplayEnd> {
        self.finish_incomplete()?;
        self.runs += 1;
        self.is_open = true;
        self.pace.start_run();
        // An export contains all runs; the other formats contain one.
        let has_output = match self.output {
            ReplayOutput::None => false,
            ReplayOutput::Events(_) => {
                self.options.format().is_export() || (is_turn && self.options.format() == Format::StreamJson)
            }
            ReplayOutput::Lines(_) => true,
        };
        if self.is_requested() && !has_output {
            self.output = ReplayOutput::Events(self.new_writer());
        }
        Ok(())
    }

    fn new_writer(&mut self) -> Box<dyn EventWriter + Send + 'a> {
        if self.options.format() == Format::Html {
            let catalogue = Arc::clone(&self.base.catalogue);
            return Box::new(Html::new(self.out, catalogue, self.title.take()));
        }
        event_writer(self.base, self.options.form, self.out)
    }

    fn end_run(&mut self, run: &RunFinished) -> Result<(), ReplayEnd> {
        self.is_open = false;
        if !self.is_requested() {
            return Ok(());
        }
        self.flush()?;
        let is_shown = self.options.format() == Format::StreamJson || self.options.format().is_export();
        if let Some(failure) = run.failure().filter(|_| !is_shown) {
            let message = self.base.catalogue.failure(failure).message;
            self.options.warn(self.base, &ReplayLine::Failed { run: self.runs, message: &message });
        }
        if self.options.run.is_some() {
            self.end_document()?;
            return Err(ReplayEnd::RequestedRunShown);
        }
        Ok(())
    }

    /// Ends the output of a run whose last event is missing, and warns about it.
    fn finish_incomplete(&mut self) -> Result<(), ReplayEnd> {
        if std::mem::take(&mut self.is_open) && self.is_requested() {
            match &mut self.output {
                ReplayOutput::None => {}
                ReplayOutput::Events(writer) => writer.finish_incomplete_run()?,
                ReplayOutput::Lines(out) => out.flush()?,
            }
            self.options.warn(self.base, &ReplayLine::NoEnd { run: self.runs });
            if self.options.run.is_some() {
                self.end_document()?;
                return Err(ReplayEnd::RequestedRunShown);
            }
        }
        Ok(())
    }

    /// Ends the page that contains all runs; flushes other output.
    fn end_document(&mut self) -> io::Result<()> {
        match &mut self.output {
            ReplayOutput::None => Ok(()),
            ReplayOutput::Events(writer) => writer.end_document(),
            ReplayOutput::Lines(out) => out.flush(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.output {
            ReplayOutput::None => Ok(()),
            ReplayOutput::Events(writer) => writer.flush(),
            ReplayOutput::Lines(out) => out.flush(),
        }
    }
}
