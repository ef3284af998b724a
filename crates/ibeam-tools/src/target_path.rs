//! The path of a call, resolved once: policy judges it and the call opens it.
//!
//! Policy judges a call before it runs, and the tree may change in between. So the resolved path is a value of the
//! call, and is opened beneath a held directory without following links ([`crate::beneath`]). A race ends in an error,
//! never in another file.

use std::path::{Path, PathBuf};

use crate::file_error::FileError;
use crate::offload::within_time_limit;
use crate::workspace::{PathError, ResolvedPath, Workspace};

/// Where the path of a call led when the call was prepared.
#[derive(Debug)]
pub(crate) struct TargetPath(Result<ResolvedPath, Unresolved>);

/// A path that does not resolve.
#[derive(Debug)]
struct Unresolved {
    lexical: PathBuf,
    error: PathError,
}

impl TargetPath {
    /// Resolves `path` with `resolve`, a method of [`Workspace`].
    ///
    /// Waits about a second at most. On a file system that does not respond the path is not resolved; opening it fails
    /// later if it contains links.
    pub(crate) fn new(
        workspace: &Workspace,
        path: &str,
        resolve: fn(&Workspace, &str) -> Result<ResolvedPath, PathError>,
    ) -> Self {
        let (own_workspace, own_path) = (workspace.clone(), path.to_owned());
        let resolved = within_time_limit(move || resolve(&own_workspace, &own_path));
        let resolved = resolved.unwrap_or_else(|| Ok(workspace.resolve_lexically(path)));
        Self(resolved.map_err(|error| Unresolved { lexical: workspace.lexical(path), error }))
    }

    /// Returns the absolute path that policy judges: without links, or normalized by name where the path does not
    /// resolve.
    pub(crate) fn judged(&self) -> &Path {
        match &self.0 {
            Ok(resolved) => &resolved.real,
            Err(unresolved) => &unresolved.lexical,
        }
    }

    /// Returns the path that was judged.
    ///
    /// # Errors
    /// `path`, as the model wrote it, does not resolve, so `action` is impossible.
    pub(crate) fn resolved(self, action: &'static str, path: &str) -> Result<ResolvedPath, FileError> {
        self.0.map_err(|unresolved| FileError::unreachable(action, path, unresolved.error))
    }
}
