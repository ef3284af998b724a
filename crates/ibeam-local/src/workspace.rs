//! The port through which the embedded model knows which files there are.

/// The files of the workspace, as the embedded model may know them.
pub trait WorkspaceFiles: Send + Sync {
    /// Paths of the files, relative to the root, with `/`, in a stable order; ignored files may be left out.
    fn files(&self) -> Vec<String>;
    /// Whether a file is at `path`, relative to the root; false for directories and for anything outside.
    fn exists(&self, path: &str) -> bool;
}
