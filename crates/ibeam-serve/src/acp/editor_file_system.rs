//! The file system of an editor, through which the tools read unsaved text and write.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use ibeam_acp::ClientFeatures;
use ibeam_acp::schema::{ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest};
use ibeam_json_rpc::{Peer, RequestError};
use ibeam_tools::{EditorFileError, EditorFiles, EditorLock};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::runtime::Handle;

/// The time between two checks whether the call was stopped.
const POLL: Duration = Duration::from_millis(20);

/// The files of the editor of a session.
pub(super) struct EditorFileSystem {
    pub(super) peer: Arc<Peer>,
    /// The runtime of the session, whose thread waits for the tools meanwhile.
    pub(super) handle: Handle,
    pub(super) session_id: String,
    pub(super) features: ClientFeatures,
    /// The workspace, without links.
    pub(super) workspace: PathBuf,
    /// The directory as the editor named it.
    pub(super) given: PathBuf,
    /// The longest wait for an answer.
    pub(super) timeout: Duration,
    pub(super) lock: EditorLock,
}

impl fmt::Debug for EditorFileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditorFileSystem").field("session_id", &self.session_id).finish_non_exhaustive()
    }
}

impl EditorFiles for EditorFileSystem {
    fn lock(&self) -> &EditorLock {
        &self.lock
    }

    fn read(&self, path: &Path, is_stopped: &dyn Fn() -> bool) -> Result<String, EditorFileError> {
        if !self.features.reads_files {
            return Err(EditorFileError::Refused("it reads no files".to_owned()));
        }
        let request = ReadTextFileRequest::new(self.session_id.clone(), self.path_in_editor(path));
        let response = self.request("fs/read_text_file", request, is_stopped)?;
        let response: ReadTextFileResponse = serde_json::from_str(response.get())
            .map_err(|error| EditorFileError::Unanswered(format!("invalid response: {error}")))?;
        Ok(response.content)
    }

    fn write(&self, path: &Path, text: &str, is_stopped: &dyn Fn() -> bool) -> Result<(), EditorFileError> {
        if !self.features.writes_files {
            return Err(EditorFileError::Refused("it writes no files".to_owned()));
        }
        let path = self.path_in_editor(path);
        let request = WriteTextFileRequest::new(self.session_id.clone(), path, text);
        self.request("fs/write_text_file", request, is_stopped).map(drop)
    }
}

impl EditorFileSystem {
    /// Returns the path as the editor knows it, where the directory of the session leads through a link.
    fn path_in_editor(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.workspace).map_or_else(|_| path.to_owned(), |rest| self.given.join(rest))
    }

    /// Sends a request from the thread of a tool and waits for the response.
    fn request(
        &self,
        method: &'static str,
        params: impl Serialize + Send + 'static,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Box<RawValue>, EditorFileError> {
        let (sender, response) = mpsc::sync_channel(1);
        let peer = Arc::clone(&self.peer);
        let task = self.handle.spawn(async move {
            // After the timeout the receiver is gone.
            drop(sender.send(peer.request(method, params).await));
        });
        let started = Instant::now();
        loop {
            match response.recv_timeout(POLL) {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(RequestError::Rejected(error))) => {
                    return Err(EditorFileError::Refused(error.message));
                }
                Ok(Err(error @ (RequestError::Closed(_) | RequestError::NotSerializable(_)))) => {
                    return Err(EditorFileError::Unanswered(error.to_string()));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(EditorFileError::Unanswered("the session has ended".to_owned()));
                }
                Err(mpsc::RecvTimeoutError::Timeout) if is_stopped() || started.elapsed() > self.timeout => {
                    task.abort();
                    let message = format!("`{method}` took longer than {:?}", started.elapsed());
                    return Err(EditorFileError::Unanswered(message));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
