//! The files of a run: resolves the path of a call, and checks policy when the resolved path is opened.
//!
//! Policy checks a call before it runs, and the tree may change in between. So the resolved path is a value of the call,
//! and is opened beneath a held directory without following links ([`crate::beneath`]). A race ends in an error, never
//! in another file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ibeam_core::Access;
use ibeam_policy::{PathPolicy, Verdict};
use rustix::fs::Stat;

use crate::confinement::denied_files;
use crate::dir_cache::DirCache;
use crate::editor_files::EditorFiles;
use crate::file_error::{FileAction, FileError};
use crate::file_id::{FileIds, file_id};
use crate::git_directory::git_directory_configured_by;
use crate::known_contents::KnownContents;
use crate::offload::run_within_time_limit;
use crate::past_file_access::PastFileAccess;
use crate::workspace::{PathError, ResolvedPath, Workspace};

/// A workspace with the policy that applies to its files.
pub(crate) struct Files {
    workspace: Workspace,
    read_policy: ReadPolicy,
    known_contents: KnownContents,
    editor: Option<Arc<dyn EditorFiles>>,
}

/// The rules for reading. Cover paths that policy denies under another name. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ReadPolicy {
    path_policy: PathPolicy,
    /// Real paths, with the names under which policy lists them: `~/.ssh` may be a link. Resolved at the first check,
    /// because many runs read nothing.
    links: Arc<OnceLock<Vec<(PathBuf, PathBuf)>>>,
}

impl ReadPolicy {
    pub(crate) fn new(path_policy: PathPolicy) -> Self {
        Self { path_policy, links: Arc::default() }
    }

    fn links(&self) -> &[(PathBuf, PathBuf)] {
        let real_of = |named: &PathBuf| {
            named.canonicalize().ok().filter(|real| real != named).map(|real| (real, named.clone()))
        };
        self.links.get_or_init(|| {
            ibeam_sandbox::paths_that_may_exist(&self.path_policy.hidden_paths())
                .into_iter()
                .filter_map(real_of)
                .collect()
        })
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.path_policy.home()
    }

    /// Whether `path`, absolute and without links, may be shown.
    pub(crate) fn allows_read(&self, path: &Path) -> bool {
        self.path_policy.allows_read(path)
            && self.aliases(path).all(|named| self.path_policy.allows_read(&named))
    }

    /// Returns other paths by which policy may list `path`.
    fn aliases(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        self.links().iter().filter_map(move |(real, named)| Some(named.join(path.strip_prefix(real).ok()?)))
    }
}

impl Files {
    pub(crate) fn new(
        workspace: Workspace,
        path_policy: PathPolicy,
        past: &PastFileAccess,
        editor: Option<Arc<dyn EditorFiles>>,
    ) -> Self {
        let known_contents = KnownContents::new(past.times_by_absolute_path(&workspace));
        Self { workspace, read_policy: ReadPolicy::new(path_policy), known_contents, editor }
    }

    /// Returns the editor that has files of the workspace open.
    pub(crate) fn editor(&self) -> Option<&dyn EditorFiles> {
        self.editor.as_deref()
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn read_policy(&self) -> &ReadPolicy {
        &self.read_policy
    }

    /// Returns the contents of files as the model last saw them.
    pub(crate) fn known_contents(&self) -> &KnownContents {
        &self.known_contents
    }

    /// Resolves the path of a call, for policy and for the call.
    pub(crate) fn target(&self, path: &str) -> TargetPath {
        TargetPath::new(&self.workspace, &self.expand_home(path), Workspace::resolve)
    }

    /// Like [`Self::target`], but a link in the last place is not followed.
    pub(crate) fn target_entry(&self, path: &str) -> TargetPath {
        TargetPath::new(&self.workspace, &self.expand_home(path), Workspace::resolve_entry)
    }

    /// Resolves like [`Workspace::resolve`]; `~/` at the start is the home directory, unless the root has an entry `~`.
    ///
    /// # Errors
    /// As [`Workspace::resolve`].
    pub(crate) fn resolve(&self, requested: &str) -> Result<ResolvedPath, PathError> {
        self.workspace.resolve(&self.expand_home(requested))
    }

    /// Like [`Self::resolve`], but a link in the last place is not followed.
    ///
    /// # Errors
    /// As [`Workspace::resolve`].
    pub(crate) fn resolve_entry(&self, requested: &str) -> Result<ResolvedPath, PathError> {
        self.workspace.resolve_entry(&self.expand_home(requested))
    }

    /// Returns the path that was checked, if it may be read.
    ///
    /// # Errors
    /// `path`, as the model wrote it, does not resolve, or policy denies it.
    pub(crate) fn check_read(
        &self,
        action: FileAction,
        path: &str,
        target: TargetPath,
    ) -> Result<ResolvedPath, FileError> {
        self.check_policy(path, target.into_resolved(action, path)?, false)
    }

    /// Returns the path that was checked, if it may be written.
    ///
    /// # Errors
    /// As [`Self::check_read`].
    pub(crate) fn check_write(
        &self,
        action: FileAction,
        path: &str,
        target: TargetPath,
    ) -> Result<ResolvedPath, FileError> {
        self.check_policy(path, target.into_resolved(action, path)?, true)
    }

    /// Refuses a hard link to a file that may not be read.
    ///
    /// # Errors
    /// The file is such a link.
    pub(crate) fn check_hard_links(&self, requested: &str, stat: &Stat) -> Result<(), FileError> {
        if stat.st_nlink > 1 && self.denied_files().contains(&file_id(stat)) {
            let reason = format!("`{requested}` is another name of a file that may not be read").into();
            return Err(FileError::DeniedByPolicy { path: requested.to_owned(), reason });
        }
        Ok(())
    }

    /// Returns the files that may not be read. Searches a bounded part of the disk.
    pub(crate) fn denied_files(&self) -> FileIds {
        denied_files(&self.read_policy.path_policy)
    }

    fn expand_home<'a>(&self, requested: &'a str) -> Cow<'a, str> {
        let home = || self.read_policy.path_policy.home()?.to_str();
        match requested.strip_prefix('~') {
            Some(rest)
                if (rest.is_empty() || rest.starts_with('/'))
                    && DirCache::new(&self.workspace).stat(&self.workspace.root().join("~")).is_err() =>
            {
                home().map_or(Cow::Borrowed(requested), |home| Cow::Owned(format!("{home}{rest}")))
            }
            Some(_) | None => Cow::Borrowed(requested),
        }
    }

    fn check_policy(
        &self,
        path: &str,
        resolved: ResolvedPath,
        writes: bool,
    ) -> Result<ResolvedPath, FileError> {
        let forbidden = |reason| Err(FileError::DeniedByPolicy { path: path.to_owned(), reason });
        match self.read_policy.path_policy.verdict(&resolved.real, writes) {
            // The gate has asked about this path.
            None | Some(Verdict::Allow { .. } | Verdict::Ask { .. }) => {}
            Some(Verdict::Deny { reason, .. }) => return forbidden(reason),
        }
        if writes
            && let Some(git) = git_directory_configured_by(&resolved.real)
            && !self
                .read_policy
                .path_policy
                .exempts_by_name(&resolved.real, &git.file_name().unwrap_or_default().to_string_lossy())
        {
            let reason = format!(
                "`{path}` is protected: `{}` is a git directory, whose configuration and hooks run commands; a person \
                 may allow it with `--allow 'Write({path})'`",
                git.display()
            );
            return forbidden(reason.into());
        }
        // A link may lead from a protected or secret name to a path without one.
        let by_name = writes.then(|| resolved.lexical.clone()).filter(|named| *named != resolved.real);
        let reads = self.read_policy.aliases(&resolved.real).map(|named| (named, false));
        for (named, writes) in by_name.map(|named| (named, true)).into_iter().chain(reads) {
            if let Some(Verdict::Deny { reason, .. }) = self.read_policy.path_policy.verdict(&named, writes) {
                return forbidden(reason);
            }
        }
        Ok(resolved)
    }
}

/// The target to which the path of a call led when the call was prepared.
#[derive(Debug)]
pub(crate) struct TargetPath(Result<ResolvedPath, UnresolvedPath>);

/// A path that does not resolve.
#[derive(Debug)]
struct UnresolvedPath {
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
        let resolved = run_within_time_limit(move || resolve(&own_workspace, &own_path));
        let resolved = resolved.unwrap_or_else(|| Ok(workspace.resolve_lexically(path)));
        Self(resolved.map_err(|error| UnresolvedPath { lexical: workspace.lexical_path(path), error }))
    }

    /// Whether `access` is that of a call which writes to this path, as it resolves now.
    pub(crate) fn is_written_by(&self, access: &Access) -> bool {
        matches!(access, Access::Write(path) if path == self.checked_path())
    }

    /// Returns the absolute path that policy checks: without links, or normalized by name where the path does not
    /// resolve.
    pub(crate) fn checked_path(&self) -> &Path {
        match &self.0 {
            Ok(resolved) => &resolved.real,
            Err(unresolved) => &unresolved.lexical,
        }
    }

    /// Returns the path that was checked.
    ///
    /// # Errors
    /// `path`, as the model wrote it, does not resolve, so `action` is impossible.
    pub(crate) fn into_resolved(self, action: FileAction, path: &str) -> Result<ResolvedPath, FileError> {
        self.0.map_err(|unresolved| FileError::unreachable(action, path, unresolved.error))
    }
}

#[cfg(test)]
#[path = "files_test.rs"]
mod tests;
