//! A directory to work in and a home that nobody has used, both gone at the end.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A workspace with files, and a home beside it.
pub struct Workspace {
    root: TempDir,
    directory: PathBuf,
    home: PathBuf,
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace {
    /// An empty workspace and an empty home.
    pub fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    /// The same below `directory`, for tests that take the usual one away.
    pub fn new_in(directory: &Path) -> Self {
        let root = tempfile::tempdir_in(directory).expect("a temporary directory");
        let top = root.path().canonicalize().expect("the path of the temporary directory");
        let (directory, home) = (top.join("project"), top.join("home"));
        fs::create_dir(&directory).expect("a workspace");
        fs::create_dir(&home).expect("a home");
        Self { root, directory, home }
    }

    /// Adds a file; the path is relative to the workspace.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        put(&self.directory.join(path), content.as_ref());
        self
    }

    /// Writes the user's configuration file.
    #[must_use]
    pub fn user_config(self, toml: &str) -> Self {
        put(&self.home.join(".config/ibeam/config.toml"), toml.as_bytes());
        self
    }

    /// The workspace, absolute and resolved.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// The home, absolute and resolved.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A directory outside both.
    pub fn outside(&self) -> &Path {
        self.root.path()
    }

    /// The text of a file of the workspace; `None` when there is none.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(path)).ok()
    }

    /// The journal of a session.
    pub fn journal(&self, session_id: &str) -> PathBuf {
        self.home.join(".local/share/ibeam/sessions").join(session_id).join("events.jsonl")
    }

    /// The environment of a user who has set nothing: home, XDG directories and `PATH`.
    pub(crate) fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let mut environment = vec![
            ("HOME", self.home.clone()),
            ("XDG_CONFIG_HOME", self.home.join(".config")),
            ("XDG_DATA_HOME", self.home.join(".local/share")),
            ("XDG_STATE_HOME", self.home.join(".local/state")),
            ("XDG_CACHE_HOME", self.home.join(".cache")),
        ];
        if let Some(path) = std::env::var_os("PATH") {
            environment.push(("PATH", path.into()));
        }
        environment
    }
}

fn put(path: &Path, content: &[u8]) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("a directory for the file");
    }
    fs::write(path, content).expect("a written file");
}
