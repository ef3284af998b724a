//! The files of a run: where a path leads, and what policy says of that place when it is opened.
//!
//! A call is judged before it runs, and between the two the tree may change. So the place is judged again when it
//! is found, and must be one that was judged for this path; what is opened then is that place and no link
//! (`beneath`). A race ends in a refusal, never in another file.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ibeam_policy::{PathPolicy, Verdict};
use rustix::fs::Stat;

use crate::bounded_look::within_bound;
use crate::confinement::denied_files;
use crate::file_error::FileError;
use crate::git_directory::obeyed_in;
use crate::known_contents::KnownContents;
use crate::met::Met;
use crate::past_contents::PastContents;
use crate::workspace::{PathError, ResolvedPath, Workspace};

/// A workspace with what policy says of it.
pub(crate) struct Files {
    workspace: Workspace,
    readable: Readable,
    judged: Mutex<Judged>,
    known: KnownContents,
}

/// What may be read, also where a link gives a place that may not be read another path. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Readable {
    path_policy: PathPolicy,
    /// Real places, and the names by which policy knows them: `~/.ssh` may be a link. Found at the first question, since
    /// many runs read nothing.
    links: Arc<OnceLock<Vec<(PathBuf, PathBuf)>>>,
}

impl Readable {
    pub(crate) fn new(path_policy: PathPolicy) -> Self {
        Self { path_policy, links: Arc::default() }
    }

    fn links(&self) -> &[(PathBuf, PathBuf)] {
        let real_of = |named: PathBuf| {
            named.canonicalize().ok().filter(|real| *real != named).map(|real| (real, named))
        };
        self.links.get_or_init(|| {
            ibeam_sandbox::filter_existing(&self.path_policy.hidden_paths())
                .into_iter()
                .filter_map(real_of)
                .collect()
        })
    }

    /// Whether what is at `path`, absolute and without links, may be shown.
    pub(crate) fn may_read(&self, path: &Path) -> bool {
        self.path_policy.allows_read(path)
            && self.names_of(path).all(|named| self.path_policy.allows_read(&named))
    }

    /// Other paths by which policy may know `path`.
    fn names_of(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        self.links().iter().filter_map(move |(real, named)| Some(named.join(path.strip_prefix(real).ok()?)))
    }
}

/// Paths as asked, and where they led when policy was asked.
#[derive(Default)]
struct Judged {
    pairs: Vec<(String, PathBuf)>,
    /// A call has run since the last one was judged. The loop judges some calls and runs them before it judges
    /// others, so those of `pairs` have had their turn.
    over: bool,
}

/// Files by device and inode.
pub(crate) type Identities = HashSet<(u64, u64)>;

impl Deref for Files {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

impl Files {
    pub(crate) fn new(workspace: Workspace, path_policy: PathPolicy, past: &PastContents) -> Self {
        let known = KnownContents::new(past.absolute(&workspace));
        Self { workspace, readable: Readable::new(path_policy), judged: Mutex::default(), known }
    }

    pub(crate) fn readable(&self) -> &Readable {
        &self.readable
    }

    /// Returns the contents of files as the model knows them.
    pub(crate) fn known(&self) -> &KnownContents {
        &self.known
    }

    /// The place that policy should judge: where `asked` leads. It is remembered for the call.
    pub(crate) fn target(&self, asked: &str) -> PathBuf {
        self.remember(asked, self.look(asked, Workspace::target))
    }

    /// Like [`Self::target`] for a link that is itself meant.
    pub(crate) fn target_entry(&self, asked: &str) -> PathBuf {
        self.remember(asked, self.look(asked, Workspace::target_entry))
    }

    /// Returns where `asked` leads, by `find`; its plain form where the file system does not answer. A call whose path
    /// leads elsewhere when it runs is refused then.
    fn look(&self, asked: &str, find: fn(&Workspace, &str) -> PathBuf) -> PathBuf {
        let expanded = self.expanded(asked).into_owned();
        let (workspace, path) = (self.workspace.clone(), expanded.clone());
        within_bound(move || find(&workspace, &path)).unwrap_or_else(|| self.workspace.plain(&expanded))
    }

    /// As [`Workspace::resolve`]; `~/` at the beginning is the home directory, unless the root has an entry `~`.
    ///
    /// # Errors
    /// As [`Workspace::resolve`].
    pub(crate) fn resolve(&self, asked: &str) -> Result<ResolvedPath, PathError> {
        self.workspace.resolve(&self.expanded(asked))
    }

    /// As [`Self::resolve`], but a link in the last place is itself meant.
    ///
    /// # Errors
    /// As [`Workspace::resolve`].
    pub(crate) fn resolve_entry(&self, asked: &str) -> Result<ResolvedPath, PathError> {
        self.workspace.resolve_entry(&self.expanded(asked))
    }

    /// Where `asked` leads now, if it is what was judged and may be read.
    ///
    /// # Errors
    /// It leads nowhere, elsewhere than when it was judged, or to what is denied.
    pub(crate) fn to_read(&self, action: &'static str, asked: &str) -> Result<ResolvedPath, FileError> {
        let found = self.resolve(asked);
        self.judge(asked, found.map_err(|error| FileError::unreachable(action, asked, error))?, false)
    }

    /// Like [`Self::to_read`], for a file that is to be written.
    ///
    /// # Errors
    /// As [`Self::to_read`].
    pub(crate) fn to_write(&self, asked: &str) -> Result<ResolvedPath, FileError> {
        let found = self.resolve(asked);
        self.judge(asked, found.map_err(|error| FileError::unreachable("write", asked, error))?, true)
    }

    /// Like [`Self::to_write`] for a link that is itself meant.
    ///
    /// # Errors
    /// As [`Self::to_read`].
    pub(crate) fn entry_to_write(
        &self,
        action: &'static str,
        asked: &str,
    ) -> Result<ResolvedPath, FileError> {
        let found = self.resolve_entry(asked);
        self.judge(asked, found.map_err(|error| FileError::unreachable(action, asked, error))?, true)
    }

    /// Refuses a file that is one of those that may not be read, under another name.
    ///
    /// # Errors
    /// It is.
    pub(crate) fn check_links(&self, asked: &str, stat: &Stat) -> Result<(), FileError> {
        if stat.st_nlink > 1 && self.denied_files().contains(&identity(stat)) {
            let reason = format!("`{asked}` is another name of a file that may not be read");
            return Err(FileError::Forbidden { path: asked.to_owned(), reason });
        }
        Ok(())
    }

    /// The files that may not be read. Searches a bounded part of the disk.
    pub(crate) fn denied_files(&self) -> Identities {
        denied_files(&self.readable.path_policy)
    }

    fn expanded<'a>(&self, asked: &'a str) -> Cow<'a, str> {
        let home = || self.readable.path_policy.home()?.to_str();
        match asked.strip_prefix('~') {
            Some(rest)
                if (rest.is_empty() || rest.starts_with('/'))
                    && Met::on(self).stat(&self.root().join("~")).is_err() =>
            {
                home().map_or(Cow::Borrowed(asked), |home| Cow::Owned(format!("{home}{rest}")))
            }
            Some(_) | None => Cow::Borrowed(asked),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Judged> {
        // Whole at every moment.
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, asked: &str, real: PathBuf) -> PathBuf {
        let mut judged = self.lock();
        if std::mem::take(&mut judged.over) {
            judged.pairs.clear();
        }
        judged.pairs.push((asked.to_owned(), real.clone()));
        real
    }

    fn judge(&self, asked: &str, found: ResolvedPath, writes: bool) -> Result<ResolvedPath, FileError> {
        let mut judged = self.lock();
        judged.over = true;
        let mut of_asked = judged.pairs.iter().filter(|(path, _)| path == asked).peekable();
        let was_judged = of_asked.peek().is_some();
        // Two calls for one path that led to two places: which was permitted is not to be told.
        if of_asked.any(|(_, real)| *real != found.real) {
            return Err(FileError::refused(asked, "leads elsewhere now than when it was judged; look again"));
        }
        let forbidden = |reason| Err(FileError::Forbidden { path: asked.to_owned(), reason });
        match self.readable.path_policy.verdict(&found.real, writes) {
            None | Some(Verdict::Allow { .. }) => {}
            // Whoever could be asked has been.
            Some(Verdict::Ask { .. }) if was_judged => {}
            Some(Verdict::Ask { reason, .. } | Verdict::Deny { reason, .. }) => return forbidden(reason),
        }
        if writes
            && let Some(git) = obeyed_in(&found.real)
            && !self
                .readable
                .path_policy
                .exempts_by_name(&found.real, &git.file_name().unwrap_or_default().to_string_lossy())
        {
            return forbidden(format!(
                "`{asked}` is protected: `{}` is a git directory, whose configuration and hooks run commands; a person \
                 may allow it with `--allow 'Write({asked})'`",
                git.display()
            ));
        }
        // A link may lead from a protected or secret name to a place without one.
        let by_name = writes.then(|| found.asked.clone()).filter(|named| *named != found.real);
        let reads = self.readable.names_of(&found.real).map(|named| (named, false));
        for (named, writes) in by_name.map(|named| (named, true)).into_iter().chain(reads) {
            if let Some(Verdict::Deny { reason, .. }) = self.readable.path_policy.verdict(&named, writes) {
                return forbidden(reason);
            }
        }
        Ok(found)
    }
}

/// By what the system tells files apart.
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

#[cfg(test)]
#[path = "files_test.rs"]
mod tests;
