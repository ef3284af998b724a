//! The sentry: what a command has put where it must not is taken away, and what it changed there is put back.
//!
//! The sandbox keeps what exists by mounts; it cannot keep a name that does not exist yet, nor anything where the
//! system allows no mounts. So the sentry looks before and after each command, when nothing of the command lives.
//! What it takes away goes to the quarantine, and nothing is deleted.
//!
//! It watches the protected names in each root, and in each directory of git what makes git run something. A
//! command may still make a repository, and change of its own repositories what git writes of itself: see
//! [`git`]. A rule that spells a place out (`Write(.vscode/**)`) lifts it.

mod git;
mod quarantine;
mod rebase;
mod state;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ibeam_policy::Shield;

use crate::ToolSettings;
use crate::git_directory::GitDirectories;
use crate::workspace::Workspace;
use quarantine::Quarantine;
use state::{Entry, State, Watch};

/// Findings that are told one by one.
const TOLD: usize = 16;

/// Looks before and after commands.
#[derive(Clone)]
pub(super) struct Sentry(Option<Arc<Post>>);

struct Post {
    workspace: Arc<Workspace>,
    /// Directories of git outside the roots, of linked work trees and submodules.
    repositories: Vec<(PathBuf, OwnedFd, Watch)>,
    shield: Shield,
    /// What the sandbox keeps itself.
    held: Vec<PathBuf>,
    quarantine: PathBuf,
    seen: Mutex<Seen>,
}

/// What was there at the last look, for each base.
#[derive(Default)]
struct Seen {
    states: Vec<State>,
    /// Roots without a repository at the first look: what is there later, commands have made.
    without_repository: Vec<bool>,
    /// Commands that may still write.
    commands: usize,
    /// What was found when a command in the background had ended, not told yet.
    untold: Vec<Finding>,
}

/// Something a command did to a place that it must leave alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The place.
    pub(super) path: PathBuf,
    /// What became of it, in words that follow the path.
    pub(super) done: String,
}

/// Where a watch starts: a held directory.
struct Base<'a> {
    path: &'a Path,
    directory: BorrowedFd<'a>,
    watch: Watch,
}

impl Sentry {
    /// A sentry over the roots of `workspace`; none where there is no quarantine.
    pub(super) fn new(workspace: &Arc<Workspace>, settings: &ToolSettings) -> Self {
        let Some(quarantine) = settings.quarantine.clone() else { return Self(None) };
        let mut repositories = Vec::new();
        for root in workspace.directories() {
            let GitDirectories { whole, linked } = GitDirectories::of(root, settings.shield.home());
            let watched = whole
                .into_iter()
                .map(|path| (path, Watch::Repository))
                .chain(linked.into_iter().map(|path| (path, Watch::WorkTree)));
            for (path, watch) in watched.filter(|(path, _)| !workspace.contains(path)) {
                if let Ok(directory) = std::fs::File::open(&path) {
                    repositories.push((path, OwnedFd::from(directory), watch));
                }
            }
        }
        Self(Some(Arc::new(Post {
            workspace: Arc::clone(workspace),
            repositories,
            shield: settings.shield.clone(),
            held: settings.held.clone(),
            quarantine,
            seen: Mutex::default(),
        })))
    }

    /// Looks before a command. Every look before one is followed by one after it.
    pub(super) async fn before(&self) {
        let Some(post) = self.0.clone() else { return };
        // Only an ended runtime loses the work, and us with it.
        let _ = tokio::task::spawn_blocking(move || post.before()).await;
    }

    /// Looks after a command of which nothing lives, and sets right what it did.
    pub(super) async fn after(&self) -> Vec<Finding> {
        let Some(post) = self.0.clone() else { return Vec::new() };
        tokio::task::spawn_blocking(move || post.after()).await.unwrap_or_default()
    }

    /// As [`Self::after`]; what is found is told with the next command, and when this is dropped with none.
    pub(super) async fn after_background(&self) {
        let found = self.after().await;
        if let Some(post) = &self.0 {
            post.lock().untold.extend(found);
        }
    }

    /// Takes what was found since the last command was told of.
    pub(super) fn untold(&self) -> Vec<Finding> {
        self.0.as_ref().map(|post| std::mem::take(&mut post.lock().untold)).unwrap_or_default()
    }
}

impl Post {
    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        // What is behind the lock is whole at every moment.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bases(&self) -> impl Iterator<Item = Base<'_>> {
        let roots =
            self.workspace.held().map(|(path, directory)| Base { path, directory, watch: Watch::Root });
        let repositories = self.repositories.iter().map(|(path, directory, watch)| Base {
            path,
            directory: directory.as_fd(),
            watch: *watch,
        });
        roots.chain(repositories)
    }

    fn before(&self) {
        let mut seen = self.lock();
        if seen.commands > 0 {
            // What has changed since the last look may be the work of one that still runs: no new look.
            seen.commands += 1;
            return;
        }
        seen.commands += 1;
        let old = std::mem::take(&mut seen.states);
        let empty = State::default();
        let states = self.bases().enumerate().map(|(index, base)| {
            State::look(&base, old.get(index).unwrap_or(&empty), &self.shield, &self.held)
        });
        seen.states = states.collect();
        if seen.without_repository.is_empty() {
            let is_without = |(base, state): (Base<'_>, &State)| {
                base.watch == Watch::Root && !state.entries.contains_key(Path::new(".git"))
            };
            seen.without_repository = self.bases().zip(&seen.states).map(is_without).collect();
        }
    }

    fn after(&self) -> Vec<Finding> {
        let mut seen = self.lock();
        seen.commands = seen.commands.saturating_sub(1);
        let mut quarantine = Quarantine::new(&self.quarantine);
        let mut findings = Vec::new();
        let old = std::mem::take(&mut seen.states);
        let empty = State::default();
        for (index, base) in self.bases().enumerate() {
            let old = old.get(index).unwrap_or(&empty);
            let born = seen.without_repository.get(index).copied().unwrap_or_default();
            let mut now = State::look(&base, old, &self.shield, &self.held);
            // With a root that was removed all is gone, and nothing can be put back.
            let is_there = rustix::fs::fstat(base.directory).is_ok_and(|stat| stat.st_nlink > 0);
            if is_there && self.set_right(&base, old, &now, born, &mut quarantine, &mut findings) {
                now = State::look(&base, &now, &self.shield, &self.held);
            }
            seen.states.push(now);
        }
        findings
    }

    /// Whether anything had to be done.
    fn set_right(
        &self,
        base: &Base<'_>,
        old: &State,
        now: &State,
        born: bool,
        quarantine: &mut Quarantine,
        findings: &mut Vec<Finding>,
    ) -> bool {
        let before = findings.len();
        // Who takes away or puts back what was only not seen does harm.
        let overlooked = |way: &Path, path: &Path| {
            let is_denied = self.shield.denies_write(path);
            old.may_overlook(way, is_denied) || now.may_overlook(way, is_denied)
        };
        let mut gone: Vec<&Path> = Vec::new();
        let mut restored: Vec<&Path> = Vec::new();
        for (way, entry) in &now.entries {
            let was = old.entries.get(way);
            if was.is_some_and(|was| was.is_same(entry)) || gone.iter().any(|above| way.starts_with(above)) {
                continue;
            }
            let path = base.path.join(way);
            if self.is_permitted(base, way, was, entry, born) || (was.is_none() && overlooked(way, &path)) {
                continue;
            }
            let taken = quarantine.take(base, way);
            gone.push(way);
            let verb = if was.is_some() { "was changed" } else { "was made" };
            findings.push(Finding { path, done: format!("{verb} and {taken}") });
            restored.extend(was.map(|_| way.as_path()));
        }
        for (way, was) in &old.entries {
            let is_gone = !now.entries.contains_key(way);
            let is_taken = gone.iter().any(|above| way.starts_with(above));
            let path = base.path.join(way);
            let missing = is_gone && !self.may_go(base, way, was, now) && !overlooked(way, &path);
            if !is_taken && !missing {
                continue;
            }
            let told = restored.iter().any(|above| way.starts_with(above));
            match (was.put_back(base, way), told) {
                (Ok(()), true) => {}
                (Ok(()), false) => {
                    restored.push(way);
                    findings.push(Finding { path, done: "was removed and put back".to_owned() });
                }
                (Err(errno), _) => {
                    let done = format!("could not be put back: {}", crate::file_error::errno_name(errno));
                    findings.push(Finding { path, done });
                }
            }
        }
        findings.len() > before
    }

    fn is_permitted(
        &self,
        base: &Base<'_>,
        way: &Path,
        was: Option<&Entry>,
        now: &Entry,
        born: bool,
    ) -> bool {
        let path = base.path.join(way);
        if self.shield.denies_write(&path) {
            return false;
        }
        if self.shield.opens(&path) {
            return true;
        }
        base.in_git(way).is_some_and(|(way, is_own)| {
            let born = if is_own { born } else { was.is_none() };
            git::is_permitted(way, was, now, born, is_own)
        })
    }

    fn may_go(&self, base: &Base<'_>, way: &Path, was: &Entry, now: &State) -> bool {
        let path = base.path.join(way);
        if self.shield.denies_write(&path) {
            return false;
        }
        if self.shield.opens(&path) {
            return true;
        }
        match base.in_git(way) {
            // A repository may go; with it goes what it would make git run.
            Some((inner, _)) => {
                inner.as_os_str().is_empty()
                    || !now.entries.keys().any(|way| base.in_git(way).is_some())
                    || git::may_go(inner, was)
            }
            None => false,
        }
    }
}

impl Base<'_> {
    /// The way within a directory of git, and whether that is the repository of a root itself.
    fn in_git<'a>(&self, way: &'a Path) -> Option<(&'a Path, bool)> {
        match self.watch {
            Watch::Root => way.strip_prefix(".git").ok().map(git::innermost),
            Watch::Repository | Watch::WorkTree => Some((git::innermost(way).0, true)),
        }
    }
}

/// What the model is told of findings.
pub(super) fn told(findings: &[Finding]) -> String {
    let mut text = String::from("(stopped by the sandbox: commands must not change protected places.");
    for Finding { path, done } in findings.iter().take(TOLD) {
        text.push_str(&format!(" `{}` {done}.", path.display()));
    }
    if findings.len() > TOLD {
        text.push_str(&format!(" So were {} more.", findings.len() - TOLD));
    }
    let example = findings.first().map(|finding| finding.path.display().to_string()).unwrap_or_default();
    text.push_str(&format!(" A person may allow it with `--allow 'Write({example})'`)\n"));
    text
}

#[cfg(test)]
#[path = "sentry_test.rs"]
mod tests;
