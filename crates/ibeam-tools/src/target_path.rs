//! The path of a call, resolved once: what policy judges is what the call opens.
//!
//! A call is judged before it runs, and between the two the tree may change. So the resolved path travels with the
//! call, and is opened beneath a held directory without following links (`beneath`). A race ends in a refusal, never
//! in another file.

use std::path::{Path, PathBuf};

use crate::file_error::FileError;
use crate::offload::within_time_limit;
use crate::workspace::{PathError, ResolvedPath, Workspace};

/// Where the path of a call led when the call was prepared.
#[derive(Debug)]
pub(crate) struct TargetPath(Result<ResolvedPath, Unresolved>);

/// A path that leads nowhere.
#[derive(Debug)]
struct Unresolved {
    lexical: PathBuf,
    error: PathError,
}

impl TargetPath {
    /// Resolves `path` by `resolve`, which is a method of [`Workspace`].
    ///
    /// Waits about a second at most. A path on a file system that does not respond is taken as it is written, without
    /// following its links; opening it is refused if it has any.
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

    /// Returns the path that policy judges, absolute: without links, or as it is written where it leads nowhere.
    pub(crate) fn judged(&self) -> &Path {
        match &self.0 {
            Ok(resolved) => &resolved.real,
            Err(unresolved) => &unresolved.lexical,
        }
    }

    /// Returns the path that was judged.
    ///
    /// # Errors
    /// `path`, as the model wrote it, leads nowhere, so `action` cannot be done.
    pub(crate) fn resolved(self, action: &'static str, path: &str) -> Result<ResolvedPath, FileError> {
        self.0.map_err(|unresolved| FileError::unreachable(action, path, unresolved.error))
    }
}
