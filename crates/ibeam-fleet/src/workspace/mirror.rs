//! The fleet's copies of repositories, from which workspaces are cloned.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use ibeam_git::{Git, Place, RemoteSettings, RepositoryLocation, RepositoryView, local_path};

use super::{Workspaces, find_commit, fresh_repository, fresh_sibling, peeled, utf8};

/// The time for which a repository that could not be copied is not tried again, so that its tasks do not all wait for it.
const UNAVAILABLE_TIME: Duration = Duration::from_secs(60);

impl Workspaces {
    /// Returns the fleet's copy of a repository. It is fetched again if it lacks the commit.
    pub(super) fn mirror(&self, url: &str, reference: &str) -> Result<PathBuf, String> {
        let path = self.mirror_path(url);
        let mut unavailable = self.unavailable.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reason)) = unavailable.get(url).filter(|(at, _)| at.elapsed() < UNAVAILABLE_TIME) {
            return Err(reason.clone());
        }
        let fetched = self.fetch(url, reference, &path);
        if let Err(reason) = &fetched {
            unavailable.insert(url.to_owned(), (Instant::now(), reason.clone()));
        }
        fetched.map(|()| path)
    }

    /// Copies a repository to `path`, or fetches what is new, if it lacks the commit.
    fn fetch(&self, url: &str, reference: &str, path: &Path) -> Result<(), String> {
        if let Some(local) = local_path(url).filter(|local| !local.is_file()) {
            return self.fetch_local(&local, reference, path);
        }
        if !path.exists() {
            let new = fresh_sibling(path)?;
            // A local source is copied too: workspaces have hard links to the files of the mirror.
            let clone = ["clone", "--quiet", "--mirror", "--no-local", "--template=", "--", url, utf8(&new)?];
            self.git.run(Place::default(), &clone)?;
            fs::rename(&new, path).map_err(|error| error.to_string())?;
        } else if !is_commit(&self.git, Place::bare(path), reference) {
            self.git.run(Place::bare(path), &["fetch", "--quiet", "--prune", "origin"])?;
        }
        Ok(())
    }

    /// Copies a repository on this machine through a view of it, or fetches what is new, if the copy lacks the commit.
    fn fetch_local(&self, source: &Path, reference: &str, path: &Path) -> Result<(), String> {
        let is_new = !path.exists();
        if !is_new && is_commit(&self.git, Place::bare(path), reference) {
            return Ok(());
        }
        let location = RepositoryLocation::for_source(source)
            .ok_or_else(|| format!("`{}` is not a repository", source.display()))?;
        let view = RepositoryView::open(&self.git, &location, RemoteSettings::References)?;
        let head = self.git.line(view.place(), &["rev-parse", "--verify", "--quiet", "HEAD"]);
        let new = match is_new {
            true => fresh_repository(&fresh_sibling(path)?, head.as_deref().unwrap_or_default())?,
            false => path.to_owned(),
        };
        // The files that checkpoints of earlier versions saved stay where they are.
        let mut arguments = vec!["fetch", "--quiet", "--prune", "--no-write-fetch-head", "--update-shallow"];
        arguments.extend(["--", utf8(view.path())?, "+refs/*:refs/*", "^refs/ibeam/*"]);
        if head.is_ok() {
            arguments.push("+HEAD:refs/fleet/head");
        }
        self.git.run(Place::bare(&new), &arguments)?;
        if is_new {
            let branch = self.git.line(view.place(), &["symbolic-ref", "--quiet", "HEAD"]);
            let line = branch.map(|name| format!("ref: {name}")).or(head);
            if let Ok(line) = line {
                fs::write(new.join("HEAD"), line + "\n").map_err(|error| error.to_string())?;
            }
            fs::rename(&new, path).map_err(|error| error.to_string())?;
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

/// Whether a repository of the user has the commit of a reference.
pub(crate) fn has_commit(git: &Git, repository: &Path, reference: &str) -> bool {
    let Some(location) = RepositoryLocation::for_source(repository) else { return false };
    let view = RepositoryView::open(git, &location, RemoteSettings::References);
    view.is_ok_and(|view| is_commit(git, view.place(), reference))
}

/// Whether the repository at a place has the commit of a reference.
fn is_commit(git: &Git, place: Place<'_>, reference: &str) -> bool {
    git.run(place, &find_commit(&peeled(reference))).is_ok()
}
