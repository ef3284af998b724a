//! The one place where a failure becomes an exit code, lines on stderr, and the error file.
//!
//! Contract section 7: stderr ends with exactly one `error:` line, then `hint:` lines; or, with
//! `--error-format json`, one line that holds the `error` object. `--error-file` gets the object in any case.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use ibeam_output::{Catalogue, Explained, error_object, escape_hidden_in_json};
use ibeam_protocol::{Failure, Reason, RunFinished};
use rustix::fs::OFlags;

use crate::cli::ErrorFormat;
use crate::stderr;

/// A failure, and the end of the run that it ended, where one had begun.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    pub(crate) run: Option<Box<RunFinished>>,
}

impl Failed {
    /// The sentence and the hints for people.
    pub(crate) fn explained(&self, catalogue: &Catalogue) -> Explained {
        match &self.run {
            Some(run) => catalogue.failed_run(&self.failure, run),
            None => catalogue.failure(&self.failure),
        }
    }
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

/// How a failure is to be told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) format: ErrorFormat,
    pub(crate) file: Option<PathBuf>,
}

/// As the flags say, once they are known: a panic is told in the same way.
static REPORT: OnceLock<Report> = OnceLock::new();

/// Sets how failures are told from here on, and empties the error file: what it holds at the end is of this run.
///
/// # Errors
/// `CannotCreate` when the file cannot be written.
pub(crate) fn report_as(report: Report) -> Result<(), Reason> {
    let Report { file, .. } = REPORT.get_or_init(|| report);
    let Some(path) = file else { return Ok(()) };
    let cannot =
        |error: io::Error| Reason::CannotCreate { path: path.display().to_string(), said: error.to_string() };
    emptied(path).map(drop).map_err(cannot)
}

/// Tells the failure and gives its exit code. A closed stderr changes nothing.
pub(crate) fn fail(failed: &Failed, catalogue: &Catalogue) -> ExitCode {
    let Failed { failure, run } = failed;
    let fallback = Report::default();
    let Report { format, file } = REPORT.get().unwrap_or(&fallback);
    if let Some(path) = file {
        let object = error_object(failure, run.as_deref());
        let written = emptied(path).and_then(|mut file| writeln!(file, "{object}"));
        if let Err(error) = written {
            stderr::say(&format!("warning: `{}`: {error}", path.display()));
        }
    }
    stderr::say(&match format {
        ErrorFormat::Text => failed.explained(catalogue).to_string(),
        ErrorFormat::Json => escape_hidden_in_json(&error_object(failure, run.as_deref())).into_owned(),
    });
    ExitCode::from(failure.reason.code().exit_code())
}

/// A bug of ours ends the process as any failure does, whichever thread it is on: a half-dead program would hang.
pub(crate) fn fail_on_panic() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let reason =
            Reason::Internal { said: panic.to_string().split_whitespace().collect::<Vec<_>>().join(" ") };
        let code = reason.code().exit_code();
        fail(&reason.into(), &crate::environment::catalogue(None));
        std::process::exit(code.into());
    }));
}

/// The file, empty. A pipe that nobody reads is an error, not a wait.
fn emptied(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).custom_flags(flags).open(path)
}
