//! The directory of recordings of `--record` and `--from-recording`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ibeam_output::escape_to_one_line;
use ibeam_protocol::{Reason, SessionId};
use ibeam_providers::TrafficMode;
use ibeam_providers::recording::{Exchange, Normalizer, Player, Recorder, RecordingStore, ReplaySpeed};

use crate::app::AppContext;
use crate::clock::{self, now_ms};
use crate::debug_log::LoggedExchanges;
use crate::git;
use crate::system_prompt::date_of;

/// The extension of recordings.
const EXTENSION: &str = "json";

/// Opens the recordings that the options name. To answer from recordings, pins the times and ids of the process.
///
/// # Errors
/// `CannotCreate` for a directory to record to; `NoInput` for recordings that cannot be read.
pub(crate) fn open(app: &AppContext) -> Result<TrafficMode, Reason> {
    let options = &app.base.options;
    let logged = app.debug_log.clone().map(LoggedExchanges);
    match (&options.record, &options.from_recording) {
        (None, None) => Ok(logged.map_or(TrafficMode::Live, |logged| record_to(app, Box::new(logged)))),
        (_, Some(directory)) => {
            let speed = match options.recording_speed {
                None | Some(0) => ReplaySpeed::Full,
                Some(_) => ReplaySpeed::Recorded,
            };
            let recordings = load(directory)?;
            let recorded_at_ms = recordings.iter().map(|(_, exchange)| exchange.recorded_at_ms).min();
            let recorded_at_ms = recorded_at_ms.unwrap_or_default();
            let player = Player::new(recordings, normalizer(app, &[now_ms(), recorded_at_ms]), speed);
            clock::pin(recorded_at_ms, speed == ReplaySpeed::Recorded);
            SessionId::pin_random();
            Ok(TrafficMode::Replay(Arc::new(player)))
        }
        (Some(directory), None) => {
            let store = RecordingDir::create(directory).map_err(|error| Reason::CannotCreate {
                path: directory.display().to_string(),
                detail: error.to_string(),
            })?;
            Ok(match logged {
                None => record_to(app, Box::new(store)),
                Some(logged) => record_to(app, Box::new(LoggedDir { directory: store, logged })),
            })
        }
    }
}

fn record_to(app: &AppContext, store: Box<dyn RecordingStore>) -> TrafficMode {
    TrafficMode::Record(Arc::new(Recorder::new(normalizer(app, &[now_ms()]), store)))
}

/// A directory of recordings that are also in the debug log.
struct LoggedDir {
    directory: RecordingDir,
    logged: LoggedExchanges,
}

impl RecordingStore for LoggedDir {
    fn store(&self, content: &str) -> Result<(), String> {
        self.logged.store(content)?;
        self.directory.store(content)
    }
}

/// Returns the normalizer that replaces secrets, directories, the branch, and the dates of `times_ms` by placeholders.
fn normalizer(app: &AppContext, times_ms: &[u64]) -> Normalizer {
    let path_text = |path: &Path| escape_to_one_line(&path.to_string_lossy());
    let mut replacements = vec![
        (path_text(&app.workspace), "${WORKSPACE}"),
        (path_text(&app.dirs.home), "${HOME}"),
        (path_text(&app.dirs.data), "${DATA}"),
    ];
    if let Some(top) = git::repository_root(&app.workspace) {
        replacements.push((git::describe_head(top), "${BRANCH}"));
        if top != app.workspace {
            replacements.push((path_text(top), "${REPOSITORY}"));
        }
    }
    replacements.extend(times_ms.iter().filter_map(|time| Some((date_of(*time)?, "${DATE}"))));
    Normalizer::new(app.redactor().clone(), replacements)
}

/// Reads the recordings of a directory in the order of their names.
///
/// # Errors
/// `NoInput` with the path of the directory or file.
fn load(directory: &Path) -> Result<Vec<(String, Exchange)>, Reason> {
    let unreadable =
        |path: &Path, detail: String| Reason::NoInput { path: path.display().to_string(), detail };
    let paths = recording_paths(directory).map_err(|error| unreadable(directory, error.to_string()))?;
    if paths.is_empty() {
        let detail = "no recordings in it; `--record DIR` makes some".to_owned();
        return Err(unreadable(directory, detail));
    }
    let read = |path: PathBuf| {
        let content = fs::read_to_string(&path).map_err(|error| unreadable(&path, error.to_string()))?;
        let exchange = Exchange::parse(&content).map_err(|error| unreadable(&path, error.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, exchange))
    };
    paths.into_iter().map(read).collect()
}

fn recording_paths(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// A directory with one file per exchange: `000001.json`, `000002.json` …
struct RecordingDir {
    path: PathBuf,
    next: Mutex<u64>,
}

impl RecordingDir {
    /// Creates the directory if it is missing. New recordings follow those in it.
    fn create(path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let number = |path: &PathBuf| path.file_stem()?.to_str()?.parse::<u64>().ok();
        let last = recording_paths(path)?.iter().filter_map(number).max().unwrap_or_default();
        Ok(Self { path: path.to_owned(), next: Mutex::new(last + 1) })
    }

    fn write(&self, content: &str) -> io::Result<()> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let path = self.path.join(format!("{:06}.{EXTENSION}", *next));
            *next += 1;
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
                Ok(mut file) => return file.write_all(content.as_bytes()),
                // Another process records to the same directory.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl RecordingStore for RecordingDir {
    fn store(&self, content: &str) -> Result<(), String> {
        self.write(content).map_err(|error| format!("`{}`: {error}", self.path.display()))
    }
}
