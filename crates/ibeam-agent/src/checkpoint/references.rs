//! The references of checkpoints, and what is removed with them.
//!
//! A checkpoint is a commit under `refs/ibeam/SESSION/` of this program's git directory. Earlier versions kept references
//! and objects in the repository of the user. Those references are deleted with their sessions; the objects are left to the
//! user's git, because nothing tells them from objects of the user.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ibeam_core::Stop;
use ibeam_git::{Git, RemoteSettings, RepositoryLocation, RepositoryView};
use ibeam_protocol::SessionId;

use super::repository::{CheckpointError, GitSetup, Repository};
use crate::helper_process;

/// The time for a command that changes the references of an earlier version.
const EARLIER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for the removal and packing of objects; what is left undone is done after a later turn.
const TIDY_TIMEOUT: Duration = Duration::from_secs(3);
/// The number of objects in one of the 256 directories from which on they are packed.
const MAX_LOOSE: usize = 40;
/// The size of new objects, in bytes, from which on they are packed, and compressed with it.
const MAX_UNCOMPRESSED_BYTES: u64 = 16 << 20;

impl Repository {
    /// Deletes the references of sessions that no longer exist, and objects that nothing needs any more.
    ///
    /// # Errors
    /// `NoGit`, `Git`, `Io`, `Earlier`.
    pub async fn prune_references(&self) -> Result<(), CheckpointError> {
        if self.own_dir().join("refs/ibeam").exists() {
            self.prepare()?;
            let is_pruned = match self.own_dir().join("packed-refs").exists() {
                // Somebody has run git in this directory.
                true => self.prune_packed_references().await?,
                false => self.prune_loose_references(),
            };
            // A later turn tries again.
            let _ = tokio::time::timeout(TIDY_TIMEOUT, self.tidy_objects(is_pruned)).await;
        }
        self.prune_earlier_references().await
    }

    /// Deletes the references of sessions that no longer exist, where each reference is a file. Returns whether there were
    /// some.
    fn prune_loose_references(&self) -> bool {
        let sessions = std::fs::read_dir(self.own_dir().join("refs/ibeam"));
        let mut is_pruned = false;
        for directory in sessions.into_iter().flatten().flatten() {
            let id = directory.file_name().to_str().and_then(|id| id.parse::<SessionId>().ok());
            if id.is_some_and(|id| !ibeam_session::exists(&self.sessions, id)) {
                is_pruned |= std::fs::remove_dir_all(directory.path()).is_ok();
            }
        }
        is_pruned
    }

    /// Does the same with git.
    async fn prune_packed_references(&self) -> Result<bool, CheckpointError> {
        let arguments = ["for-each-ref", "--format=%(refname)", "refs/ibeam/"];
        let listed = self.run(GitSetup::Own(None), arguments, b"").await?;
        let input = self.deletions(&listed);
        if !input.is_empty() {
            self.run(GitSetup::Own(None), ["update-ref", "--stdin"], input.as_bytes()).await?;
        }
        Ok(!input.is_empty())
    }

    /// Returns the commands that delete those of the listed references whose sessions are gone.
    fn deletions(&self, listed: &[u8]) -> String {
        let listed = String::from_utf8_lossy(listed);
        let is_gone = |name: &&str| {
            let id = name.strip_prefix("refs/ibeam/").and_then(|rest| rest.split('/').next());
            let id = id.and_then(|id| id.parse::<SessionId>().ok());
            id.is_some_and(|id| !ibeam_session::exists(&self.sessions, id))
        };
        listed.lines().filter(is_gone).map(|name| format!("delete {name}\n")).collect()
    }

    /// Removes objects of this program that no checkpoint needs, and packs the others where they are many or large. Objects of the
    /// repository are not touched.
    async fn tidy_objects(&self, is_pruned: bool) -> Result<(), CheckpointError> {
        let index = self.index();
        let own = GitSetup::Own(Some(&index));
        let count = |name: &str| {
            std::fs::read_dir(self.own_dir().join("objects").join(name)).map_or(0, Iterator::count)
        };
        let is_packed = is_pruned && count("pack") > 0;
        let is_large = self.written.swap(0, Ordering::Relaxed) > MAX_UNCOMPRESSED_BYTES;
        if is_packed || is_large || count("17") > MAX_LOOSE {
            let all: &[&str] = if is_packed { &["-a"] } else { &[] };
            self.run(own, ["repack", "-d", "-l", "-q"].iter().chain(all), b"").await?;
        }
        if is_pruned {
            // Another process may be about to name an object that it has just written.
            self.run(own, ["prune", "--expire=1.hour.ago"], b"").await?;
        }
        Ok(())
    }

    /// Deletes the references that an earlier version has left in the repository, of sessions that no longer exist.
    async fn prune_earlier_references(&self) -> Result<(), CheckpointError> {
        if !self.has_earlier_references() {
            return Ok(());
        }
        let (git, location) = (self.blocking_git()?, self.location.clone());
        let listed = on_thread(git.clone(), location.clone(), |git, view| {
            Ok(git.run(view.place(), &["for-each-ref", "--format=%(refname)", "refs/ibeam/"])?)
        });
        let input = self.deletions(&listed.await?);
        if input.is_empty() {
            return Ok(());
        }
        if let Some(link) = self.linked_reference() {
            return Err(CheckpointError::Earlier(format!("`{}` is a symbolic link", link.display())));
        }
        let delete = move |git: &Git, view: &RepositoryView| {
            Ok(git.run_with_input(view.place(), &["update-ref", "--stdin"], input.as_bytes())?)
        };
        on_thread(git, location, delete).await.map(drop)
    }

    /// Returns a file that is hidden from commands and that a checkpoint of an earlier version has in the objects of the
    /// repository, which commands can read. Where git cannot tell, the directory of those references.
    pub(crate) fn hidden_file_of_earlier_checkpoints(&self) -> Option<PathBuf> {
        if !self.has_exclusions() || !self.has_earlier_references() {
            return None;
        }
        let list = || {
            let git = self.blocking_git().map_err(|error| error.to_string())?;
            let view = RepositoryView::open(&git, &self.location, RemoteSettings::References)?;
            git.run(view.place(), &["rev-list", "--objects", "--glob=refs/ibeam"]).map_err(String::from)
        };
        // This thread may have a runtime.
        let listed = std::thread::scope(|scope| scope.spawn(list).join());
        let Ok(Ok(listed)) = listed else { return Some(PathBuf::from("refs/ibeam")) };
        let lines = listed.split(|byte| *byte == b'\n');
        let names = lines.filter_map(|line| line.splitn(2, |byte| *byte == b' ').nth(1));
        let mut paths = names.filter(|name| !name.is_empty()).map(|name| Path::new(OsStr::from_bytes(name)));
        paths.find(|path| self.is_excluded(&self.top.join(path))).map(Path::to_owned)
    }

    /// Returns the directory of the repository's objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.location.common_dir.join("objects")
    }

    /// Returns git for a thread that may wait.
    fn blocking_git(&self) -> Result<Git, CheckpointError> {
        let (program, search_path) = self.program()?;
        let run = |command: &std::process::Command, input: &[u8]| {
            helper_process::run_blocking(command, input, &Stop::default(), EARLIER_TIMEOUT)
        };
        Ok(Git::new(program, self.views.clone(), run).with_variable("PATH", search_path))
    }

    /// Returns a directory of the earlier references that is a link.
    fn linked_reference(&self) -> Option<PathBuf> {
        let top = self.location.common_dir.join("refs");
        let own = top.join("ibeam");
        let sessions = std::fs::read_dir(&own).into_iter().flatten().flatten().map(|entry| entry.path());
        [top, own].into_iter().chain(sessions).find(|path| path.is_symlink())
    }
}

/// Runs git in a view of a repository, on a thread that may wait.
async fn on_thread<T: Send + 'static>(
    git: Git,
    location: RepositoryLocation,
    work: impl FnOnce(&Git, &RepositoryView) -> Result<T, String> + Send + 'static,
) -> Result<T, CheckpointError> {
    let work = move || {
        let view = RepositoryView::open(&git, &location, RemoteSettings::References)?;
        work(&git, &view)
    };
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string());
    done.and_then(|done| done).map_err(CheckpointError::Earlier)
}
