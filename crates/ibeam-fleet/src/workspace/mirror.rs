//! The fleet's copies of repositories, from which workspaces are cloned.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use ibeam_git::{Git, GitError, Place, RemoteSettings, RepositoryLocation, RepositoryView, local_path};

use super::{WorkspaceError, Workspaces, find_commit, fresh_repository, fresh_sibling, peeled, utf8};

/// The time for which a repository that could not be copied is not tried again, so that its tasks do not all wait for it.
/// Shorter than the pauses of a task together: so it is tried again before the task is parked.
const UNAVAILABLE_TIME: Duration = Duration::from_secs(10);

impl Workspaces {
    /// Returns the fleet's copy of a repository. It is fetched again if it lacks the commit.
    pub(super) fn mirror(&self, url: &str, reference: &str) -> Result<PathBuf, WorkspaceError> {
        let path = self.mirror_path(url);
        let mut unavailable = self.unavailable.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reason)) = unavailable.get(url).filter(|(at, _)| at.elapsed() < UNAVAILABLE_TIME) {
            return Err(reason.clone().into());
        }
        let fetched = self.fetch(url, reference, &path);
        if let Err(WorkspaceError::Unavailable(reason)) = &fetched {
            unavailable.insert(url.to_owned(), (Instant::now(), reason.clone()));
        }
        fetched.map(|()| path)
    }

    /// Copies a repository to `path`, or fetches what is new, if it lacks the commit.
    fn fetch(&self, url: &str, reference: &str, path: &Path) -> Result<(), WorkspaceError> {
        if let Some(local) = local_path(url).filter(|local| !local.is_file()) {
            return self.fetch_local(&local, reference, path);
        }
        if !path.exists() {
            let new = fresh_sibling(path)?;
            // A local source is copied too: workspaces have hard links to the files of the mirror.
            let clone = ["clone", "--quiet", "--mirror", "--no-local", "--template=", "--", url, utf8(&new)?];
            self.git.run(Place::default(), &clone)?;
            fs::rename(&new, path)?;
        } else if !is_commit(&self.git, Place::bare(path), reference)? {
            self.git.run(Place::bare(path), &["fetch", "--quiet", "--prune", "origin"])?;
        }
        Ok(())
    }

    /// Copies a repository on this machine through a view of it, or fetches what is new, if the copy lacks the commit.
    fn fetch_local(&self, source: &Path, reference: &str, path: &Path) -> Result<(), WorkspaceError> {
        let is_new = !path.exists();
        if !is_new && is_commit(&self.git, Place::bare(path), reference)? {
            return Ok(());
        }
        let location = RepositoryLocation::for_source(source)
            .ok_or_else(|| format!("`{}` is not a repository", source.display()))?;
        let view = RepositoryView::open(&self.git, &location, RemoteSettings::References)?;
        let head = self.git.find(view.place(), &["rev-parse", "--verify", "--quiet", "HEAD"])?;
        let new = match is_new {
            true => fresh_repository(&fresh_sibling(path)?, head.as_deref().unwrap_or_default())?,
            false => path.to_owned(),
        };
        // The files that checkpoints of earlier versions saved stay where they are.
        let mut arguments = vec!["fetch", "--quiet", "--prune", "--no-write-fetch-head", "--update-shallow"];
        arguments.extend(["--", utf8(view.path())?, "+refs/*:refs/*", "^refs/ibeam/*"]);
        if head.is_some() {
            arguments.push("+HEAD:refs/fleet/head");
        }
        self.git.run(Place::bare(&new), &arguments)?;
        if is_new {
            let branch = self.git.find(view.place(), &["symbolic-ref", "--quiet", "HEAD"])?;
            let line = branch.map(|name| format!("ref: {name}")).or(head);
            if let Some(line) = line {
                fs::write(new.join("HEAD"), line + "\n")?;
            }
            fs::rename(&new, path)?;
        }
        Ok(())
    }

    pub(super) fn mirror_path(&self, url: &str) -> PathBuf {
        let name: String = url.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let name: String = name.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
        // FNV-1a: two URLs may differ in other characters only.
        let hash = url.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.fleet.join("repositories").join(format!("{name}-{hash:016x}.git"))
    }
}

/// Whether a repository of the user has no commit of this reference. A repository that cannot be read now may have it.
pub(crate) fn lacks_commit(git: &Git, repository: &Path, reference: &str) -> bool {
    let Some(location) = RepositoryLocation::for_source(repository) else { return true };
    let view = RepositoryView::open(git, &location, RemoteSettings::References);
    view.is_ok_and(|view| is_commit(git, view.place(), reference) == Ok(false))
}

/// Whether the last commit of a repository of the user has a file, so that a clone has it in its objects.
pub(crate) fn has_committed(git: &Git, repository: &Path, file: &Path) -> bool {
    let Some(location) = RepositoryLocation::for_source(repository) else { return false };
    let Some(revision) = file.to_str().map(|file| format!("HEAD:{file}")) else { return false };
    let view = RepositoryView::open(git, &location, RemoteSettings::References);
    let find = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
    view.is_ok_and(|view| matches!(git.find(view.place(), &find), Ok(Some(_))))
}

/// Whether the repository at a place has the commit of a reference.
fn is_commit(git: &Git, place: Place<'_>, reference: &str) -> Result<bool, GitError> {
    git.find(place, &find_commit(&peeled(reference))).map(|found| found.is_some())
}
