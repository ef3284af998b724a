//! Lines that a person types, read on a thread of their own: whoever waits for one can be stopped.
//!
//! A line typed before a question is asked is no answer to it; it is kept and becomes the next prompt.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use ibeam_protocol::Reason;
use tokio::sync::mpsc;

use crate::stderr;

/// stdin by lines, in the order of typing.
pub(super) struct TerminalInput {
    arriving: mpsc::UnboundedReceiver<io::Result<String>>,
    early: VecDeque<io::Result<String>>,
}

impl TerminalInput {
    /// Takes stdin; the thread ends with it, or with the process.
    ///
    /// # Errors
    /// The system's error when no thread can be had.
    pub(super) fn start() -> io::Result<Self> {
        let (lines, arriving) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("typed-lines".to_owned()).spawn(move || {
            for line in io::stdin().lock().lines() {
                if lines.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { arriving, early: VecDeque::new() })
    }

    /// Asks for the next prompt; `None` at the end of input. Cancel safe.
    ///
    /// # Errors
    /// `Io` when stdin cannot be read.
    pub(super) async fn prompt(&mut self) -> Result<Option<String>, Reason> {
        stderr::write("> ");
        let line = match self.early.pop_front() {
            Some(line) => Some(line),
            None => self.arriving.recv().await,
        };
        let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() };
        line.transpose().map_err(failed)
    }

    /// Asks a question; `None` when nobody can answer it. Cancel safe.
    pub(super) async fn answer(&mut self, question: &str) -> Option<String> {
        while let Ok(line) = self.arriving.try_recv() {
            self.early.push_back(line);
        }
        stderr::write(question);
        self.arriving.recv().await?.ok()
    }
}
