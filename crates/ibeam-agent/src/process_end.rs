//! The functions of the program around runs, for ends that a run cannot report itself.

use std::sync::{Arc, OnceLock};

use ibeam_output::{Catalogue, EventWriter};
use ibeam_protocol::{Failure, Reason, RunFinished, RunStarted};

/// The restoration of the mode of the terminal.
pub type TerminalRestorer = Box<dyn Fn() + Send + Sync>;

/// The functions of the program. Without them, as in a library, a run that hangs is left to its caller.
#[derive(Debug)]
pub struct ProcessEnd {
    /// Ends the process although a thread hangs; called after a second signal, and when a run does not end in time.
    pub force_exit: fn(&Reason) -> !,
    /// Receives the catalogue for messages at a forced end.
    pub set_catalogue: fn(&Arc<Catalogue>),
    /// Receives the writer of a run that ends before it has started.
    pub set_unstarted_run_writer: fn(Box<dyn EventWriter + Send>),
    /// Receives the head and the prompt of the run that is about to start.
    pub set_expected_run: fn(RunStarted, Vec<String>),
    /// Prints the end of a run that was stopped before it started, and returns it if its head is known.
    pub print_unstarted_run: fn(&Failure) -> Option<RunFinished>,
    /// Receives what restores the mode of the terminal at a forced end, from any thread.
    pub set_terminal_restorer: fn(TerminalRestorer),
    /// Learns that a run has started, whose stream has its own end.
    pub on_run_started: fn(),
}

static PROCESS_END: OnceLock<ProcessEnd> = OnceLock::new();

/// Sets the functions of the program; later calls have no effect.
pub fn install(functions: ProcessEnd) {
    let _ = PROCESS_END.set(functions);
}

pub(crate) fn force_exit(reason: &Reason) {
    if let Some(functions) = PROCESS_END.get() {
        (functions.force_exit)(reason);
    }
}

pub(crate) fn set_catalogue(catalogue: &Arc<Catalogue>) {
    if let Some(functions) = PROCESS_END.get() {
        (functions.set_catalogue)(catalogue);
    }
}

pub(crate) fn set_unstarted_run_writer(writer: Box<dyn EventWriter + Send>) {
    if let Some(functions) = PROCESS_END.get() {
        (functions.set_unstarted_run_writer)(writer);
    }
}

pub(crate) fn set_expected_run(head: RunStarted, prompt: Vec<String>) {
    if let Some(functions) = PROCESS_END.get() {
        (functions.set_expected_run)(head, prompt);
    }
}

pub(crate) fn print_unstarted_run(failure: &Failure) -> Option<RunFinished> {
    PROCESS_END.get().and_then(|functions| (functions.print_unstarted_run)(failure))
}

pub(crate) fn on_run_started() {
    if let Some(functions) = PROCESS_END.get() {
        (functions.on_run_started)();
    }
}

pub fn set_terminal_restorer(restore: TerminalRestorer) {
    if let Some(functions) = PROCESS_END.get() {
        (functions.set_terminal_restorer)(restore);
    }
}
