//! A temporary workspace and a new home directory.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A workspace with files, and a separate home. Both are removed on drop.
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
    /// Creates an empty workspace and an empty home.
    pub fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    /// Creates the workspace and the home below `directory`, for tests that need a certain parent directory.
    pub fn new_in(directory: &Path) -> Self {
        let root = tempfile::tempdir_in(directory).expect("a temporary directory");
        let top = root.path().canonicalize().expect("the path of the temporary directory");
        let (directory, home) = (top.join("project"), top.join("home"));
        fs::create_dir(&directory).expect("a workspace");
        fs::create_dir(&home).expect("a home");
        Self { root, directory, home }
    }

    /// Adds a file. The path is relative to the workspace.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        write_file(&self.directory.join(path), content.as_ref());
        self
    }

    /// Writes the user's configuration file.
    #[must_use]
    pub fn user_config(self, toml: &str) -> Self {
        write_file(&self.home.join(".config/ibeam/config.toml"), toml.as_bytes());
        self
    }

    /// Returns the workspace, absolute and resolved.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Returns the home, absolute and resolved.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns a directory outside of the workspace and the home.
    pub fn outside(&self) -> &Path {
        self.root.path()
    }

    /// Returns a path outside of the workspace and the home at which nothing exists.
    pub fn missing(&self) -> PathBuf {
        self.root.path().join("missing")
    }

    /// Returns the text of a file of the workspace, or `None` if it cannot be read.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(path)).ok()
    }

    /// Returns the path of a session's journal.
    pub fn journal(&self, session_id: &str) -> PathBuf {
        self.home.join(".local/share/ibeam/sessions").join(session_id).join("events.jsonl")
    }

    /// Returns the environment of a user without settings: home, XDG directories and `PATH`.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
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

fn write_file(path: &Path, content: &[u8]) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("a directory for the file");
    }
    fs::write(path, content).expect("a written file");
}
