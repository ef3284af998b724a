//! `replay`: what a session or a stream recorded, shown again by the writers of a live run, offline.
//!
//! stdout gets what the runs printed; stderr and the exit code are those of the replay. No lease is taken and
//! nothing is changed, so a session that somebody writes to is shown up to now. What is whole is shown before
//! damage is told.

mod contract_converter;
mod from_wire;
mod pace;
mod player;
mod stream;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use ibeam_output::ReplayLine;
use ibeam_protocol::{Event, Failure, Reason, SessionId};
use ibeam_session::{Damage, Recorded, SessionError};

use self::pace::Pace;
use self::player::Player;
use crate::app::{BaseContext, resolve_workspace};
use crate::cli::Format;
use crate::cli_error::CliError;
use crate::mode::{check_partial, default_format};
use crate::run::{damaged, nth_newest, reason_of, session_io};
use crate::stderr;

/// What is to be seen, and how.
pub(super) struct ReplayOptions {
    format: Format,
    /// That run alone.
    run: Option<NonZeroU64>,
    pace: Pace,
}

impl ReplayOptions {
    /// What the flags say. Without a format: `text` on a terminal, else that of a run.
    ///
    /// # Errors
    /// `Usage` for what is no speed or no time, and for partial output where there is none.
    pub(super) fn new(
        base: &BaseContext,
        run: Option<NonZeroU64>,
        speed: Option<&str>,
        longest_pause: Option<&str>,
        stdout: &File,
    ) -> Result<Self, Reason> {
        let usual = match rustix::termios::isatty(stdout.as_fd()) {
            true => Format::Text,
            false => default_format(base.contract()),
        };
        let pace = Pace::new(speed, longest_pause)?;
        let format = base.flags.output_format.unwrap_or(usual);
        check_partial(base.contract(), base.flags.stream_partial_output, Some(format))?;
        Ok(Self { format, run, pace })
    }
}

/// Why a replay ended before what it reads.
#[derive(Debug)]
enum Ended {
    /// Everything that was wanted has been shown.
    Enough,
    /// The reader went away, or what is read cannot be.
    Failed(CliError),
    /// The store failed.
    Session(SessionError),
}

impl From<SessionError> for Ended {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

/// An error of stdout.
impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        let reason = match error.kind() {
            io::ErrorKind::BrokenPipe => Reason::OutputClosed,
            _ => Reason::Io { what: "stdout".to_owned(), detail: error.to_string() },
        };
        Self::Failed(reason.into())
    }
}

pub(super) fn replay(
    base: &BaseContext,
    what: &OsStr,
    options: &ReplayOptions,
    stdout: &File,
) -> Result<(), CliError> {
    match Source::of(base, what)? {
        Source::Session(directory, id) => session(base, &directory, id, options, stdout),
        Source::Stdin => stream(base, "stdin", io::stdin().lock(), options, stdout),
        Source::File(path) => {
            let source = path.display().to_string();
            let file = File::open(&path)
                .map_err(|error| Reason::NoInput { path: source.clone(), detail: error.to_string() })?;
            stream(base, &source, BufReader::new(file), options, stdout)
        }
    }
    .map_err(Into::into)
}

/// Where the events come from.
enum Source {
    /// Of that directory of sessions.
    Session(PathBuf, SessionId),
    File(PathBuf),
    Stdin,
}

impl Source {
    /// What `-`, `-1`, an id or a path means. A session of that id comes before a file of that name.
    ///
    /// # Errors
    /// `NoSessionToContinue`, `UnknownSession`; those of [`resolve_workspace`] where it can be no file.
    fn of(base: &BaseContext, what: &OsStr) -> Result<Self, Failure> {
        let name = what.to_string_lossy();
        if name == "-" {
            return Ok(Self::Stdin);
        }
        if let Some(position) = name.strip_prefix('-').and_then(|number| number.parse().ok()) {
            let (workspace, dirs) = resolve_workspace(&base.flags)?;
            let id = nth_newest(&dirs.sessions(), &workspace, position)?;
            return Ok(Self::Session(dirs.sessions(), id));
        }
        let path = PathBuf::from(what);
        let Ok(id) = name.parse() else { return Ok(Self::File(path)) };
        match resolve_workspace(&base.flags) {
            Ok((_, dirs)) if !path.exists() || ibeam_session::exists(&dirs.sessions(), id) => {
                Ok(Self::Session(dirs.sessions(), id))
            }
            Err(reason) if !path.exists() => Err(reason.into()),
            Ok(_) | Err(_) => Ok(Self::File(path)),
        }
    }
}

fn session(
    base: &BaseContext,
    directory: &Path,
    id: SessionId,
    options: &ReplayOptions,
    stdout: &File,
) -> Result<(), CliError> {
    let mut player = Player::of_events(base, options, stdout);
    let (mut gaps, mut next) = (0, 0);
    let mut show = |event: Event| {
        gaps += u64::from(event.seq != next);
        next = event.seq + 1;
        player.show(Some(&event), b"")
    };
    let read = ibeam_session::read(directory, id, &mut show);
    let read = read.and_then(|recorded| Ok((recorded, player.finish()?)));
    if gaps > 0 {
        warn(base, &ReplayLine::Gaps { count: gaps });
    }
    let (Recorded { torn_bytes, damage }, runs) = match read {
        Ok(done) => done,
        Err(Ended::Enough) => return Ok(()),
        Err(Ended::Failed(reason)) => return Err(reason),
        Err(Ended::Session(error)) => return Err(reason_of(&error, id).into()),
    };
    if torn_bytes > 0 {
        warn(base, &ReplayLine::TruncatedRecord { bytes: torn_bytes });
    }
    if let Some(Damage { path, line, said }) = damage {
        return Err(damaged(id, &path, line, &said).into());
    }
    options.exists_among(runs, &id.to_string())
}

fn stream(
    base: &BaseContext,
    source: &str,
    lines: impl BufRead,
    options: &ReplayOptions,
    stdout: &File,
) -> Result<(), CliError> {
    // What a stream holds is in the form of these two already, keys that we do not know included.
    let mut player = match options.format {
        Format::StreamJson | Format::Json => Player::of_lines(base, options, stdout),
        Format::Text | Format::Html => Player::of_events(base, options, stdout),
    };
    match stream::play(base, source, lines, options.format, &mut player) {
        Ok(runs) => options.exists_among(runs, source),
        Err(Ended::Enough) => Ok(()),
        Err(Ended::Failed(reason)) => Err(reason),
        Err(Ended::Session(error)) => Err(session_io(&error).into()),
    }
}

fn warn(base: &BaseContext, line: &ReplayLine<'_>) {
    stderr::write_line(&format!("warning: {}", base.catalogue.line(line)));
}

impl ReplayOptions {
    /// # Errors
    /// `UnknownRun` when the one that is wanted is not among so many.
    fn exists_among(&self, runs: u64, source: &str) -> Result<(), CliError> {
        match self.run {
            Some(run) if run.get() > runs => {
                Err(CliError::UnknownRun { source: source.to_owned(), run: run.get(), runs })
            }
            Some(_) | None => Ok(()),
        }
    }
}
