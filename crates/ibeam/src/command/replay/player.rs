//! Events on their way to a reader again: run by run, each in its time, by the writers of a live run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use ibeam_output::{EventWriter, ReplayLine};
use ibeam_protocol::{Event, EventKind, RunFinished};

use super::pace::Pace;
use super::{Ended, ReplayOptions, warn};
use crate::app::BaseContext;
use crate::cli::Format;
use crate::run::event_writer;

/// What the reader sees.
enum Face<'a> {
    /// Nothing yet.
    None,
    /// Events, as a run writes them.
    Events(Box<dyn EventWriter + Send + 'a>),
    /// Lines as they were read.
    Lines(BufWriter<&'a File>),
}

/// Shows the runs that are wanted.
pub(super) struct Player<'a> {
    base: &'a BaseContext,
    options: &'a ReplayOptions,
    out: &'a File,
    pace: Pace,
    face: Face<'a>,
    /// Runs that have begun.
    runs: u64,
    /// The last of them has not ended.
    open: bool,
}

impl<'a> Player<'a> {
    /// Shows events on `out`.
    pub(super) fn of_events(base: &'a BaseContext, options: &'a ReplayOptions, out: &'a File) -> Self {
        Self { base, options, out, pace: options.pace.clone(), face: Face::None, runs: 0, open: false }
    }

    /// Shows lines on `out`, in the time of their events.
    pub(super) fn of_lines(base: &'a BaseContext, options: &'a ReplayOptions, out: &'a File) -> Self {
        Self { face: Face::Lines(BufWriter::new(out)), ..Self::of_events(base, options, out) }
    }

    /// Shows what comes next when it is due: the event, or the line, with its end, that stood for it.
    ///
    /// # Errors
    /// `Enough` after the only run that is wanted; what the reader's end says.
    pub(super) fn show(&mut self, event: Option<&Event>, line: &[u8]) -> Result<(), Ended> {
        let kind = event.map(|event| &event.kind);
        if matches!(kind, Some(EventKind::SessionStarted(_))) || self.runs == 0 {
            self.begin()?;
        }
        if self.is_wanted() {
            // What tells no time happens at once.
            let at_ms = event.map(|event| event.at_ms).filter(|at_ms| *at_ms > 0);
            let left = at_ms.map_or(Duration::ZERO, |at_ms| self.pace.left(at_ms));
            if !left.is_zero() {
                self.flush()?;
                std::thread::sleep(left);
            }
            match (&mut self.face, event) {
                (Face::Events(writer), Some(event)) => writer.write(event)?,
                (Face::Lines(out), _) => out.write_all(line)?,
                (Face::None, _) | (Face::Events(_), None) => {}
            }
        }
        if let Some(EventKind::RunFinished(run)) = kind {
            self.end(run)?;
        }
        Ok(())
    }

    /// Shows lines that end the run at hand, which has no end of its own.
    ///
    /// # Errors
    /// What the reader's end says.
    pub(super) fn show_left(&mut self, lines: &[u8]) -> Result<(), Ended> {
        if lines.is_empty() { Ok(()) } else { self.show(None, lines) }
    }

    /// Hands over what waits and tells of a run without an end. Gives how many runs there were.
    ///
    /// # Errors
    /// What the reader's end says.
    pub(super) fn finish(&mut self) -> Result<u64, Ended> {
        self.finish_incomplete()?;
        self.flush()?;
        Ok(self.runs)
    }

    fn is_wanted(&self) -> bool {
        self.options.run.is_none_or(|run| run.get() == self.runs)
    }

    fn begin(&mut self) -> Result<(), Ended> {
        self.finish_incomplete()?;
        self.runs += 1;
        self.open = true;
        self.pace.begin();
        // A page holds all runs; the other formats know of one.
        let is_kept = match self.face {
            Face::None => false,
            Face::Events(_) => self.options.format == Format::Html,
            Face::Lines(_) => true,
        };
        if self.is_wanted() && !is_kept {
            self.face = Face::Events(event_writer(self.base, self.options.format, self.out));
        }
        Ok(())
    }

    fn end(&mut self, run: &RunFinished) -> Result<(), Ended> {
        self.open = false;
        if !self.is_wanted() {
            return Ok(());
        }
        self.flush()?;
        let is_shown = matches!(self.options.format, Format::StreamJson | Format::Html);
        if let Some(failure) = run.failure().filter(|_| !is_shown) {
            let message = self.base.catalogue.failure(failure).message;
            warn(self.base, &ReplayLine::Failed { run: self.runs, message: &message });
        }
        if self.options.run.is_some() { Err(Ended::Enough) } else { Ok(()) }
    }

    /// The run at hand has no end.
    fn finish_incomplete(&mut self) -> Result<(), Ended> {
        if std::mem::take(&mut self.open) && self.is_wanted() {
            match &mut self.face {
                Face::None => {}
                Face::Events(writer) => writer.finish_incomplete()?,
                Face::Lines(out) => out.flush()?,
            }
            warn(self.base, &ReplayLine::NoEnd { run: self.runs });
            if self.options.run.is_some() {
                return Err(Ended::Enough);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.face {
            Face::None => Ok(()),
            Face::Events(writer) => writer.flush(),
            Face::Lines(out) => out.flush(),
        }
    }
}
