//! A directory to work in and a home beside it, both gone when the test ends.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// `work/` with the test's files; empty `home/`, `config/`, `data/`, `state/`, `cache/`, `runtime/` and `tmp/`.
pub struct Workspace {
    root: PathBuf,
    _directory: TempDir,
}

/// The directories beside `work` and the variables that point to them.
const DIRECTORIES: &[(&str, &str)] = &[
    ("HOME", "home"),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_DATA_HOME", "data"),
    ("XDG_STATE_HOME", "state"),
    ("XDG_CACHE_HOME", "cache"),
    ("XDG_RUNTIME_DIR", "runtime"),
    ("TMPDIR", "tmp"),
];

impl Workspace {
    /// An empty workspace.
    pub fn new() -> Self {
        let directory = TempDir::with_prefix("ibeam-test-").expect("a temporary directory");
        // Resolved, so that paths the program tells are these.
        let root = directory.path().canonicalize().expect("the path of a directory just made");
        for name in DIRECTORIES.iter().map(|(_, name)| *name).chain(["work"]) {
            fs::create_dir(root.join(name)).expect("a directory in a directory of ours");
        }
        Self { root, _directory: directory }
    }

    /// The same with a file more; `path` is relative to the workspace, directories are made.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Writes a file; `path` is relative to the workspace, directories are made.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("the directories of a file");
        }
        fs::write(&path, content)
            .unwrap_or_else(|error| panic!("cannot write `{}`: {error}", path.display()));
    }

    /// The content of a file of the workspace.
    ///
    /// # Panics
    /// When there is none, or it is not UTF-8.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path))
            .unwrap_or_else(|error| panic!("cannot read `{path}`: {error}"))
    }

    /// True when the workspace has something at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }

    /// The directory to work in: absolute and resolved.
    pub fn path(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The directory that a variable such as `HOME` or `XDG_DATA_HOME` points to.
    ///
    /// # Panics
    /// When the variable is not one of ours.
    #[track_caller]
    pub fn directory(&self, variable: &str) -> PathBuf {
        let found = DIRECTORIES.iter().find(|(known, _)| *known == variable);
        let (_, name) = found.unwrap_or_else(|| panic!("no directory stands for `{variable}`"));
        self.root.join(name)
    }

    /// A place outside the workspace that nothing else uses.
    pub fn outside(&self) -> &Path {
        &self.root
    }

    /// The variables that keep a program within this workspace.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        DIRECTORIES.iter().map(|(variable, name)| (*variable, self.root.join(name)))
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}
