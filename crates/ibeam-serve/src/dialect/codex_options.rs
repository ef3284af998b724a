//! Options of Codex that do not concern the stream: the file of the last message, the session id on stderr, the login
//! status.
//!
//! The result of a run never depends on these options: a file that cannot be written causes a warning, as in Codex.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use ibeam_agent::stderr;

/// Options of Codex that do not concern the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodexOptions {
    /// The file that receives the last message.
    pub last_message: Option<PathBuf>,
    /// Whether the session id is written to stderr, because stdout contains only the answer.
    pub prints_session_id: bool,
    /// Whether the arguments request only the login status.
    pub wants_login_status: bool,
}

impl CodexOptions {
    /// Whether the last message is needed at the end of a run.
    pub fn needs_last_message(&self) -> bool {
        self.last_message.is_some()
    }

    /// Writes the session id to stderr, where clients look for it.
    pub fn print_session_id(&self, session: &str) {
        if self.prints_session_id {
            stderr::write_line(&format!("session id: {session}"));
        }
    }

    /// Writes the last message of a successful run to its file. A failed run leaves the file as it is.
    pub fn write_last_message(&self, message: &str) {
        let Some(path) = &self.last_message else { return };
        let shown = path.display();
        match write_file(path, message.as_bytes()) {
            Ok(()) if message.is_empty() => {
                stderr::write_line(&format!(
                    "warning: no last agent message; wrote empty content to `{shown}`"
                ));
            }
            Ok(()) => {}
            Err(error) => {
                stderr::write_line(&format!("warning: cannot write the last message to `{shown}`: {error}"));
            }
        }
    }

    /// Returns the exit code of `login status` after writing the answer to stderr; `None` where it was not asked for.
    ///
    /// `is_logged_in` is whether any provider has a key.
    pub fn login_status(&self, is_logged_in: bool) -> Option<u8> {
        if !self.wants_login_status {
            return None;
        }
        stderr::write_line(if is_logged_in { "Logged in using an API key" } else { "Not logged in" });
        Some(if is_logged_in { 0 } else { 1 })
    }
}

/// Replaces the content of a file. A pipe without a reader is an error, not a wait.
fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path)?;
    file.write_all(content)
}
