//! The directory of parked requests: `--park-requests`.
//!
//! `SESSION-KEY.request.json` is a request; its last key is the body. `SESSION-KEY.answer.json` is the document
//! with which the service answered; another program writes it. Files are renamed into place, so each is complete or absent.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ibeam_protocol::{FailureCode, Reason, SessionId};
use ibeam_providers::batch::{ParkedRequest, RequestStore};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::run_error::RunError;
use crate::stderr;

/// The end of the names of requests.
const REQUEST: &str = ".request.json";
/// The end of the names of answers.
const ANSWER: &str = ".answer.json";

/// The parked requests of one session.
#[derive(Debug)]
pub(crate) struct ParkingDir {
    directory: PathBuf,
    session: SessionId,
}

#[derive(Serialize)]
struct RequestFile<'a> {
    version: u32,
    /// The id of the request, which is unique among all sessions.
    id: &'a str,
    session_id: SessionId,
    provider: &'a str,
    model: &'a str,
    wire: &'a str,
    base_url: &'a str,
    body: &'a RawValue,
}

impl ParkingDir {
    /// Creates the directory if it is missing.
    ///
    /// # Errors
    /// `CannotCreate`.
    pub(super) fn create(directory: &Path, session: SessionId) -> Result<Self, Reason> {
        let cannot = |error: io::Error| Reason::CannotCreate {
            path: directory.display().to_string(),
            detail: error.to_string(),
        };
        fs::create_dir_all(directory).map_err(cannot)?;
        let directory = directory.canonicalize().map_err(cannot)?;
        Ok(Self { directory, session })
    }

    fn id(&self, key: &str) -> String {
        format!("{}-{key}", self.session)
    }

    fn path(&self, key: &str, end: &str) -> PathBuf {
        self.directory.join(format!("{}{end}", self.id(key)))
    }

    /// Removes the requests and answers of the session if its run has ended.
    pub(crate) fn finish_run(&self, outcome: &Result<(), RunError>) {
        if has_ended(outcome)
            && let Err(error) = self.remove(|_, _| true)
        {
            // The run has ended, so its files are only waste.
            stderr::write_line(&format!("warning: {error}"));
        }
    }

    /// Removes the files of the session for which `is_obsolete` returns true for their path and name.
    fn remove(&self, is_obsolete: impl Fn(&Path, &str) -> bool) -> io::Result<()> {
        let prefix = self.id("");
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(&prefix) && is_obsolete(&path, name) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

impl RequestStore for ParkingDir {
    fn answer(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path(key, ANSWER)) {
            Ok(document) => Ok(Some(document)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn park(&self, request: &ParkedRequest) -> io::Result<String> {
        let ParkedRequest { key, provider, model, protocol, base_url, body } = request;
        let path = self.path(key, REQUEST);
        if !path.try_exists()? {
            let content = RequestFile {
                version: 1,
                id: &self.id(key),
                session_id: self.session,
                provider,
                model,
                wire: protocol,
                base_url,
                body: serde_json::from_slice(body)?,
            };
            ibeam_files::private_file::replace(&path, &serde_json::to_vec(&content)?)?;
            File::open(&self.directory)?.sync_all()?;
        }
        self.remove(|other, name| name.ends_with(REQUEST) && other != path)?;
        Ok(path.display().to_string())
    }

    fn discard(&self, key: &str) -> io::Result<()> {
        match fs::remove_file(self.path(key, ANSWER)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Whether a run has ended, so that no answer to its last request is needed. A run that was stopped, or that the system
/// has ended, may continue with the answer.
fn has_ended(outcome: &Result<(), RunError>) -> bool {
    use FailureCode as C;
    match outcome {
        Ok(()) => true,
        Err(failed) => {
            let code = failed.failure.reason.code();
            let may_continue =
                matches!(code, C::Parked | C::Signal(_) | C::Io | C::Os | C::Busy | C::Internal | C::Timeout);
            failed.run.is_some() && !may_continue
        }
    }
}
