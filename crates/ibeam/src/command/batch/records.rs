//! The records of batches, in the directory `batches`. Of each batch: `LABEL.json`, and until it is submitted also
//! `LABEL.upload`, its content.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ibeam_files::{file_lock, private_file};
use ibeam_providers::batch::BatchContent;
use serde::{Deserialize, Serialize};

/// The records of a directory, which one process at a time uses.
#[derive(Debug)]
pub(super) struct Records {
    path: PathBuf,
    _lock: File,
}

/// A batch that has not been read yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The name of the batch, also at services that have labels.
    pub(super) label: String,
    pub(super) provider: String,
    pub(super) model: String,
    /// The time before the submission, in seconds since the Unix epoch.
    pub(super) since: u64,
    /// The id of the batch; `None` until the service has confirmed the batch.
    pub(super) batch: Option<String>,
    /// The ids of its requests.
    pub(super) requests: Vec<String>,
}

impl Records {
    /// Creates the directory if it is missing, and locks it; `None` if another process uses it.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        fs::create_dir_all(path)?;
        let lock = File::create(path.join("lock"))?;
        match file_lock::try_lock(&lock) {
            Ok(()) => Ok(Some(Self { path: path.to_owned(), _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns all records, and removes uploads without one.
    ///
    /// # Errors
    /// Errors of the system; a damaged record.
    pub(super) fn load(&self) -> io::Result<Vec<Record>> {
        let (mut records, mut uploads) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => records.push(serde_json::from_slice::<Record>(&fs::read(&path)?)?),
                Some("upload") => uploads.push(path),
                Some(_) | None => {}
            }
        }
        for upload in uploads {
            let label = upload.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !records.iter().any(|record| record.label == label) {
                fs::remove_file(upload)?;
            }
        }
        records.sort_by(|a, b| a.label.cmp(&b.label));
        Ok(records)
    }

    /// Stores a record durably.
    pub(super) fn store(&self, record: &Record) -> io::Result<()> {
        private_file::replace(&self.record_path(&record.label), &serde_json::to_vec(record)?)?;
        File::open(&self.path)?.sync_all()
    }

    /// Removes a record and its upload.
    pub(super) fn remove(&self, record: &Record) -> io::Result<()> {
        self.remove_upload(record)?;
        fs::remove_file(self.record_path(&record.label))
    }

    /// Removes the upload of a batch that was submitted.
    pub(super) fn remove_upload(&self, record: &Record) -> io::Result<()> {
        match fs::remove_file(self.upload_path(&record.label)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) fn upload_path(&self, label: &str) -> PathBuf {
        self.path.join(format!("{label}.upload"))
    }

    fn record_path(&self, label: &str) -> PathBuf {
        self.path.join(format!("{label}.json"))
    }

    /// Returns how often each request was in a batch that gave no answer.
    ///
    /// # Errors
    /// Errors of the system; a damaged file.
    pub(super) fn attempts(&self) -> io::Result<BTreeMap<String, u32>> {
        match fs::read(self.path.join("attempts")) {
            Ok(content) => Ok(serde_json::from_slice(&content)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(error),
        }
    }

    /// Stores the result of [`Self::attempts`].
    pub(super) fn store_attempts(&self, attempts: &BTreeMap<String, u32>) -> io::Result<()> {
        private_file::replace(&self.path.join("attempts"), &serde_json::to_vec(attempts)?)
    }
}

/// The content of a batch in a file.
#[derive(Debug)]
pub(super) struct UploadFile {
    pub(super) path: PathBuf,
    pub(super) size: u64,
}

impl UploadFile {
    /// Returns an upload that was written completely.
    pub(super) fn open_existing(path: PathBuf) -> io::Result<Self> {
        let size = fs::metadata(&path)?.len();
        Ok(Self { path, size })
    }
}

impl BatchContent for UploadFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(File::open(&self.path)?))
    }
}
