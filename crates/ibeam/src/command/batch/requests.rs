//! The directory of parked requests: its requests, which `--park-requests` describes, and their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use ibeam_files::private_file;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The end of the names of requests.
const REQUEST: &str = ".request.json";
/// The end of the names of answers.
const ANSWER: &str = ".answer.json";

/// The directory.
#[derive(Debug)]
pub(crate) struct RequestDir {
    path: PathBuf,
}

/// The model that a request is for. All requests of a batch have the same one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) struct Target {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) wire: String,
    pub(super) base_url: String,
}

#[derive(Deserialize)]
struct StoredBody {
    body: Box<RawValue>,
}

impl RequestDir {
    /// Opens an existing directory.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.canonicalize()? })
    }

    /// Returns the ids of the requests without an answer, by their target. `is_taken` excludes requests.
    ///
    /// # Errors
    /// Errors of the system; a file that is not a request.
    pub(super) fn unanswered(
        &self,
        is_taken: impl Fn(&str) -> bool,
    ) -> io::Result<BTreeMap<Target, Vec<String>>> {
        let mut targets: BTreeMap<Target, Vec<String>> = BTreeMap::new();
        for id in self.unanswered_ids()?.into_iter().filter(|id| !is_taken(id)) {
            // A run that was continued meanwhile has removed its request.
            if let Some(target) = self.target(&id)? {
                targets.entry(target).or_default().push(id);
            }
        }
        Ok(targets)
    }

    /// Returns the ids of the requests without an answer.
    pub(crate) fn unanswered_ids(&self) -> io::Result<BTreeSet<String>> {
        let (mut requests, answers) = self.ids()?;
        requests.retain(|id| !answers.contains(id));
        Ok(requests)
    }

    /// Returns the size of the largest answered request of the sessions for which `includes` returns true, in bytes.
    pub(crate) fn largest_answered(&self, includes: impl Fn(&str) -> bool) -> io::Result<u64> {
        let (_, answers) = self.ids()?;
        Ok(answers.iter().filter(|id| includes(id)).map(|id| self.size(id)).max().unwrap_or_default())
    }

    /// Returns the size of a request in bytes; 0 if it was removed.
    pub(crate) fn size(&self, id: &str) -> u64 {
        fs::metadata(self.request_path(id)).map_or(0, |request| request.len())
    }

    /// Returns the ids of the requests, and of the answers.
    fn ids(&self) -> io::Result<(BTreeSet<String>, BTreeSet<String>)> {
        let (mut requests, mut answers) = (BTreeSet::new(), BTreeSet::new());
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            if let Some(id) = name.strip_suffix(REQUEST) {
                requests.insert(id.to_owned());
            } else if let Some(id) = name.strip_suffix(ANSWER) {
                answers.insert(id.to_owned());
            }
        }
        Ok((requests, answers))
    }

    /// Removes a request that is in no batch.
    pub(crate) fn remove(&self, id: &str) -> io::Result<()> {
        match fs::remove_file(self.request_path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn target(&self, id: &str) -> io::Result<Option<Target>> {
        let file = match File::open(self.request_path(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // The body is read, but not kept.
        Ok(Some(serde_json::from_reader(BufReader::new(file))?))
    }

    /// Returns the body of a request; `None` if the request was removed.
    ///
    /// # Errors
    /// Errors of the system; a file that is not a request.
    pub(super) fn body(&self, id: &str) -> io::Result<Option<Box<RawValue>>> {
        match fs::read(self.request_path(id)) {
            Ok(content) => Ok(Some(serde_json::from_slice::<StoredBody>(&content)?.body)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores the answer to a request, unless the run has continued without it.
    pub(super) fn store_answer(&self, id: &str, document: &str) -> io::Result<bool> {
        if !self.request_path(id).try_exists()? {
            return Ok(false);
        }
        private_file::replace(&self.path.join(format!("{id}{ANSWER}")), document.as_bytes())?;
        Ok(true)
    }

    /// Waits until the answers that were stored are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn request_path(&self, id: &str) -> PathBuf {
        self.path.join(format!("{id}{REQUEST}"))
    }
}
