//! The one place where a failure becomes an exit code and lines on stderr.
//!
//! Contract section 7: stderr ends with exactly one `error:` line, then `hint:` lines; or, with
//! `--error-format json`, one line that holds the `error` object.

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use ibeam_output::Catalogue;
use ibeam_protocol::{Failure, Reason, RunFinished};

use crate::cli::ErrorFormat;

/// A failure, and the end of the run that it ended, where one had begun.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    pub(crate) run: Option<Box<RunFinished>>,
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self { failure, run: None }
    }
}

impl From<Reason> for Failed {
    fn from(reason: Reason) -> Self {
        Failure::from(reason).into()
    }
}

/// Tells the failure and gives its exit code. A closed stderr changes nothing.
pub(crate) fn fail(failed: &Failed, catalogue: &Catalogue, format: ErrorFormat) -> ExitCode {
    let Failed { failure, run } = failed;
    let told = match format {
        ErrorFormat::Text => catalogue.failure(failure).to_string(),
        ErrorFormat::Json => ibeam_output::error_object(failure, run.as_deref()),
    };
    drop(writeln!(io::stderr(), "{told}"));
    ExitCode::from(failure.reason.code().exit_code())
}

/// A bug of ours ends the process as any failure does, whichever thread it is on: a half-dead program would hang.
pub(crate) fn fail_on_panic() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let reason =
            Reason::Internal { said: panic.to_string().split_whitespace().collect::<Vec<_>>().join(" ") };
        let code = reason.code().exit_code();
        fail(&reason.into(), &crate::environment::catalogue(None), ErrorFormat::Text);
        std::process::exit(code.into());
    }));
}
