//! The end of an open session: its hooks, and a run that was not ended in order.

use ibeam_core::Stop;
use ibeam_hooks::HookRunner;
use ibeam_protocol::RunOutcome;

use crate::app::AppContext;
use crate::printer::Printer;
use crate::pump::CurrentStop;
use crate::run::shutdown::Shutdown;
use crate::run_error::RunError;
use crate::{signals, stderr};

/// Runs the hooks of the end of the session. Any signal ends the wait for them.
pub(super) async fn run_session_end_hooks(
    app: &AppContext,
    hooks: &HookRunner,
    outcome: &Result<(), RunError>,
) {
    let outcome = match outcome {
        Ok(()) => RunOutcome::Completed,
        Err(failed) => RunOutcome::Failed(failed.failure.clone()),
    };
    let Some(ended) = hooks.end_session(&outcome) else { return };
    let stop = Stop::default();
    let Ok(_watch) = signals::watch(&CurrentStop::new(stop.clone())) else { return };
    tokio::select! {
        biased;
        _ = stop.wait() => {}
        output = ended => {
            for notice in &output.notices {
                stderr::write_line(&format!("warning: {}", app.base.catalogue.notice(notice)));
            }
        }
    }
}

/// Returns a failure with the end of the run that is still open, which gets its last line.
pub(super) fn end_open_run(failed: RunError, printer: &Printer, shutdown: &Shutdown) -> RunError {
    match failed.run {
        Some(_) => failed,
        None => {
            let run = printer.force_end(&failed.failure, shutdown.reader_timeout()).map(Box::new);
            RunError { run, ..failed }
        }
    }
}
