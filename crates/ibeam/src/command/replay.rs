//! `replay`: prints a recorded session or stream again with the writers of a live run, offline.
//!
//! stdout has what the runs printed; stderr and the exit code are those of the replay. A replay does not lock the
//! session and changes nothing, so it can also show a session that another process is still writing. It shows what is
//! intact before it reports damage.

mod contract_converter;
mod foreign_stream;
mod from_wire;
mod pace;
mod replay_printer;
mod stream;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ibeam_agent::app::{BaseContext, resolve_workspace};
use ibeam_agent::run::{damaged_session_reason, nth_newest, session_error_reason, session_store_reason};
use ibeam_agent::session_name::find_by_prefix;
use ibeam_agent::stderr;
use ibeam_output::{EventWriter, ReplayLine};
use ibeam_protocol::{Event, Reason, SessionId};
use ibeam_session::{Damage, ReadReport, SessionError};

use self::foreign_stream::ForeignStream;
use self::pace::Pace;
use self::replay_printer::ReplayPrinter;
use super::facts::CommandFacts;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::event_printing::OutputForm;
use crate::flags::{Flags, Format};
use crate::mode::{check_partial, default_format};

/// Show a recorded session, or a file with a stream, again
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "`--output-format html` prints one page to read, `otlp` and `atif` print traces for other programs: `ibeam help trace`.\n\
                  stderr and the exit code are those of the replay, not of the run: `ibeam help sessions`"
)]
pub(crate) struct ReplayArgs {
    /// A session ID or its beginning (at least 4 characters), `-1` for the newest of this directory, `-2` …; or a file with the stream of any agent, `-` for stdin
    #[arg(value_name = "SESSION|FILE", allow_negative_numbers = true)]
    what: OsString,
    /// Only this run, counted from 1 [default: all]
    #[arg(long, value_name = "N")]
    run: Option<NonZeroU64>,
    /// `max`, `real`, or a factor of the real speed, e.g. `2` [default: max]
    #[arg(long, value_name = "SPEED")]
    speed: Option<String>,
    /// Maximum pause between two events, e.g. `2s`
    #[arg(long, value_name = "TIME")]
    longest_pause: Option<String>,
}

impl SubCommand for ReplayArgs {
    const FACTS: CommandFacts = CommandFacts::new("replay")
        .uses(&["contract", "output_format", "stream_partial_output", "verbose", "workspace"])
        .with_examples(&[
            "ibeam replay -1 --output-format text --verbose",
            "ibeam replay run.ndjson --output-format html",
        ]);
    const IS_OFFLINE: bool = true;

    fn execute_offline(&self, base: &BaseContext, call: Call<'_>) -> Result<ExitCode, CliError> {
        let options = ReplayOptions::new(base, self, &call)?;
        replay(base, &self.what, &options, call.stdout).map(success)
    }
}

pub(super) struct ReplayOptions {
    form: OutputForm,
    /// The only run to show.
    run: Option<NonZeroU64>,
    pace: Pace,
    /// Whether each event is shown before the next one is read.
    is_live: bool,
    /// Whether the replay warns about what is missing.
    warns: bool,
}

impl ReplayOptions {
    /// Returns the options for the lines of runs that may still work, as text unless a flag sets another format.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn for_log(base: &BaseContext, flags: &Flags) -> Result<Self, Reason> {
        let form = output_form(base, flags, Format::Text)?;
        Ok(Self { form, run: None, pace: Pace::new(None, None)?, is_live: true, warns: true })
    }

    /// Returns the options that the flags request. The default format is `text` on a terminal, else that of a run.
    ///
    /// # Errors
    /// `Usage` for an invalid speed or time, and for partial output in a format that has none.
    fn new(base: &BaseContext, args: &ReplayArgs, call: &Call<'_>) -> Result<Self, Reason> {
        let usual = match rustix::termios::isatty(call.stdout.as_fd()) {
            true => Format::Text,
            false => default_format(base.contract()),
        };
        let pace = Pace::new(args.speed.as_deref(), args.longest_pause.as_deref())?;
        let form = output_form(base, call.flags, usual)?;
        Ok(Self { form, run: args.run, pace, is_live: false, warns: true })
    }

    fn format(&self) -> Format {
        self.form.format
    }
}

/// Returns the form that the flags request, in the format `usual` unless they name one.
///
/// # Errors
/// `Usage` for partial output in a format that has none.
fn output_form(base: &BaseContext, flags: &Flags, usual: Format) -> Result<OutputForm, Reason> {
    let format = flags.output.output_format.unwrap_or(usual);
    check_partial(base.contract(), flags.output.stream_partial_output, Some(format))?;
    Ok(OutputForm { format, partial: flags.output.stream_partial_output })
}

/// The reason why a replay ended before the end of its input.
#[derive(Debug)]
enum ReplayEnd {
    RequestedRunShown,
    /// stdout or the input failed.
    Failed(CliError),
    /// The session cannot be read.
    Session(SessionError),
}

impl From<SessionError> for ReplayEnd {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

/// An error of stdout.
impl From<io::Error> for ReplayEnd {
    fn from(error: io::Error) -> Self {
        let reason = match error.kind() {
            io::ErrorKind::BrokenPipe => Reason::OutputClosed,
            _ => Reason::Io { what: "stdout".to_owned(), detail: error.to_string() },
        };
        Self::Failed(reason.into())
    }
}

fn replay(base: &BaseContext, what: &OsStr, options: &ReplayOptions, stdout: &File) -> Result<(), CliError> {
    let source = ReplaySource::resolve(base, what)?;
    let is_stream = !matches!(source, ReplaySource::Session(..));
    // A stream already has these formats; its lines are copied with unknown keys.
    let copies_lines = is_stream && matches!(options.format(), Format::StreamJson | Format::Json);
    let printer = match copies_lines {
        true => ReplayPrinter::for_lines(base, options, stdout),
        false => ReplayPrinter::for_events(base, options, stdout),
    };
    play_source(base, source, options, printer)
}

/// Writes what can be read of a session to `out`, in a format of all its runs, without warnings.
///
/// # Errors
/// The errors of a replay.
pub(super) fn export(base: &BaseContext, session: &str, format: Format, out: &File) -> Result<(), CliError> {
    let form = OutputForm { format, partial: false };
    let pace = Pace::new(None, None)?;
    let options = ReplayOptions { form, run: None, pace, is_live: false, warns: false };
    replay(base, OsStr::new(session), &options, out)
}

/// Passes the events of all runs of a session or a stream to `writer`.
///
/// # Errors
/// The errors of a replay.
pub(super) fn read_events(
    base: &BaseContext,
    what: &OsStr,
    writer: Box<dyn EventWriter + Send + '_>,
    stdout: &File,
) -> Result<(), CliError> {
    // An export has one writer for all runs.
    let form = OutputForm { format: Format::Otlp, partial: false };
    let options =
        ReplayOptions { form, run: None, pace: Pace::new(None, None)?, is_live: false, warns: true };
    let printer = ReplayPrinter::for_writer(base, &options, stdout, writer);
    play_source(base, ReplaySource::resolve(base, what)?, &options, printer)
}

fn play_source(
    base: &BaseContext,
    source: ReplaySource,
    options: &ReplayOptions,
    printer: ReplayPrinter<'_>,
) -> Result<(), CliError> {
    match source {
        ReplaySource::Session(directory, id) => replay_session(base, &directory, id, options, printer),
        ReplaySource::Stdin => {
            let lines = ForeignStream::new(io::stdin().lock(), "stdin")?;
            replay_stream(base, "stdin", lines, options, printer)
        }
        ReplaySource::File(path) => {
            let source = path.display().to_string();
            let file = File::open(&path)
                .map_err(|error| Reason::NoInput { path: source.clone(), detail: error.to_string() })?;
            let lines = ForeignStream::new(BufReader::new(file), &source)?;
            replay_stream(base, &source, lines, options, printer)
        }
    }
}

/// Prints the lines of a stream; messages name it `source`.
///
/// # Errors
/// The errors of a replay.
pub(super) fn replay_lines(
    base: &BaseContext,
    source: &str,
    lines: impl BufRead,
    options: &ReplayOptions,
    stdout: &File,
) -> Result<(), CliError> {
    let printer = match options.format() {
        Format::StreamJson | Format::Json => ReplayPrinter::for_lines(base, options, stdout),
        Format::Text | Format::Html | Format::Otlp | Format::Atif => {
            ReplayPrinter::for_events(base, options, stdout)
        }
    };
    replay_stream(base, source, ForeignStream::new(lines, source)?, options, printer)
}

enum ReplaySource {
    Session(PathBuf, SessionId),
    File(PathBuf),
    Stdin,
}

impl ReplaySource {
    /// Resolves `-`, `-1`, an ID, the beginning of one, or a path. A session of that id comes before a file of that name.
    ///
    /// # Errors
    /// `NoSessionOrFile`; `NoSessionToContinue`, `UnknownSession`, `AmbiguousSession`; the errors of [`resolve_workspace`]
    /// where no file has the name.
    fn resolve(base: &BaseContext, what: &OsStr) -> Result<Self, CliError> {
        let name = what.to_string_lossy();
        if name == "-" {
            return Ok(Self::Stdin);
        }
        if let Some(position) = name.strip_prefix('-').and_then(|number| number.parse().ok()) {
            let (workspace, dirs) = resolve_workspace(&base.options)?;
            let id = nth_newest(&dirs.sessions(), &workspace, position)?;
            return Ok(Self::Session(dirs.sessions(), id));
        }
        let path = PathBuf::from(what);
        let Ok(id) = name.parse() else {
            // A file comes before a session whose ID starts like its name.
            if path.try_exists().unwrap_or(true) {
                return Ok(Self::File(path));
            }
            let neither = || CliError::NoSessionOrFile { name: name.clone().into_owned() };
            let (_, dirs) = resolve_workspace(&base.options).map_err(|_| neither())?;
            return match find_by_prefix(&dirs.sessions(), &name) {
                Ok(Some(id)) => Ok(Self::Session(dirs.sessions(), id)),
                Ok(None) | Err(Reason::SessionIdTooShort { .. }) => Err(neither()),
                Err(reason) => Err(reason.into()),
            };
        };
        match resolve_workspace(&base.options) {
            Ok((_, dirs)) if !path.exists() || ibeam_session::exists(&dirs.sessions(), id) => {
                Ok(Self::Session(dirs.sessions(), id))
            }
            Err(reason) if !path.exists() => Err(reason.into()),
            Ok(_) | Err(_) => Ok(Self::File(path)),
        }
    }
}

/// Replays a stored session.
fn replay_session(
    base: &BaseContext,
    directory: &Path,
    id: SessionId,
    options: &ReplayOptions,
    replay_printer: ReplayPrinter<'_>,
) -> Result<(), CliError> {
    let mut replay_printer = replay_printer.with_title(ibeam_session::given_title(directory, id));
    let (mut gaps, mut next) = (0, 0);
    let mut show = |event: Event| {
        gaps += u64::from(event.seq != next);
        next = event.seq + 1;
        replay_printer.show(Some(&event), b"")
    };
    let read = ibeam_session::read(directory, id, &mut show);
    let read = read.and_then(|recorded| Ok((recorded, replay_printer.finish()?)));
    if gaps > 0 {
        options.warn(base, &ReplayLine::Gaps { count: gaps });
    }
    let (ReadReport { torn_bytes, damage }, runs) = match read {
        Ok(done) => done,
        Err(ReplayEnd::RequestedRunShown) => return Ok(()),
        Err(ReplayEnd::Failed(reason)) => return Err(reason),
        Err(ReplayEnd::Session(error)) => return Err(session_error_reason(&error, id).into()),
    };
    if torn_bytes > 0 {
        options.warn(base, &ReplayLine::TruncatedRecord { bytes: torn_bytes });
    }
    if let Some(Damage { path, line, detail }) = damage {
        return Err(damaged_session_reason(id, &path, line, &detail).into());
    }
    options.check_run_exists(runs, &id.to_string())
}

/// Replays a stream; messages name it `source`.
fn replay_stream(
    base: &BaseContext,
    source: &str,
    lines: impl BufRead,
    options: &ReplayOptions,
    mut replay_printer: ReplayPrinter<'_>,
) -> Result<(), CliError> {
    match stream::play(base, source, lines, options.form, &mut replay_printer) {
        Ok(runs) => options.check_run_exists(runs, source),
        Err(ReplayEnd::RequestedRunShown) => Ok(()),
        Err(ReplayEnd::Failed(reason)) => Err(reason),
        Err(ReplayEnd::Session(error)) => Err(session_store_reason(&error).into()),
    }
}

fn warn(base: &BaseContext, line: &ReplayLine<'_>) {
    stderr::write_line(&format!("warning: {}", base.catalogue.line(line)));
}

impl ReplayOptions {
    fn warn(&self, base: &BaseContext, line: &ReplayLine<'_>) {
        if self.warns {
            warn(base, line);
        }
    }

    /// Checks that the requested run is one of `runs` runs.
    ///
    /// # Errors
    /// `UnknownRun`.
    fn check_run_exists(&self, runs: u64, source: &str) -> Result<(), CliError> {
        match self.run {
            Some(run) if run.get() > runs => {
                Err(CliError::UnknownRun { source: source.to_owned(), run: run.get(), runs })
            }
            Some(_) | None => Ok(()),
        }
    }
}
