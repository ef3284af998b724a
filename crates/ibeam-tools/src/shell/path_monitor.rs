//! Monitors protected paths: removes what a command created there, and restores what it changed.
//!
//! The sandbox protects existing paths by mounts. It cannot protect a name that does not exist yet, nor anything where
//! the system allows no mounts. So the monitor scans before and after each command, when no process of the command is
//! running. What it removes is moved to the quarantine; nothing is deleted.
//!
//! Only the changes of commands are undone: see [`attribution`]. Without a sandbox nobody knows them, so nothing is
//! monitored.
//!
//! The record only answers questions about a name, so the scans find the names and what was there before:
//! - After a command that changed something: what it made anywhere, what came with a directory that it renamed, which
//!   directories are now those of git, and what others made, which is reported. After other commands there is no scan.
//! - Before a command: what is put back where nothing is mounted (packages, places beyond the limits, whatever was made
//!   since the start, everything with Landlock alone), whether something is new or only moved, and which of it a person
//!   changed since the last command. The first scan uses the listing from which the mounts were planned.
//!
//! It watches the protected names in each directory of each root, and in each git directory the entries that make git
//! run programs. A command may still create a repository, and make the changes to its own repositories that git makes:
//! see [`git_dir_rules`]. It may move or remove a directory with protected entries. A rule that names a path
//! (`Write(.vscode/**)`) lifts the protection.
//!
//! A scan of a root is limited. What lies beyond a limit and existed before the first command is not watched, which is
//! reported. What a command created beyond a limit is moved away completely.

mod attribution;
mod git_dir_rules;
mod quarantine;
mod quarantined_files;
mod rebase;
mod snapshot;
mod snapshot_diff;
mod watched_directory;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ibeam_policy::PathPolicy;
use ibeam_protocol::Notice;

use crate::git_directory::GitDirectories;
use crate::inventory::Inventory;
use crate::offload::offload;
use crate::tool_settings::ToolSettings;
use crate::workspace::Workspace;
use attribution::{Attribution, Author};
use quarantine::Quarantine;
pub use quarantined_files::QuarantinedFile;
use snapshot::{Snapshot, SnapshotEntry};
use snapshot_diff::SnapshotDiff;
use watched_directory::{WatchKind, WatchedDirectory};

/// The number of findings that are listed one by one.
const LISTED_FINDINGS: usize = 16;

/// Scans protected paths before and after commands.
#[derive(Clone)]
pub(super) struct ProtectedPathMonitor(Option<Arc<Inner>>);

struct Inner {
    workspace: Arc<Workspace>,
    /// Git directories outside the roots, of linked work trees and submodules.
    repositories: Vec<(PathBuf, OwnedFd, WatchKind)>,
    path_policy: PathPolicy,
    quarantine: PathBuf,
    attribution: Attribution,
    /// The home directory, if little of a directory that is or contains it is monitored: most of what appears there
    /// belongs to other programs.
    home: Option<PathBuf>,
    state: Mutex<MonitorState>,
}

/// The results of the last scan, for each watched directory.
#[derive(Default)]
struct MonitorState {
    snapshots: Vec<Snapshot>,
    /// Git directories at the first scan, for each watched directory; commands created the others.
    repositories: Vec<BTreeSet<PathBuf>>,
    /// The first scan was incomplete, which was not reported yet.
    is_scan_incomplete: bool,
    /// Running commands that may write.
    commands: usize,
    /// Findings after a background command, which were not reported yet.
    pending: ScanReport,
    /// Foreign changes that were reported.
    reported: BTreeSet<PathBuf>,
}

/// The result of a scan after a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ScanReport {
    /// Changes of commands.
    pub(super) findings: Vec<PathFinding>,
    /// Protected names that appeared meanwhile, and that no command is known to have made; they are left alone. Where
    /// the changes of commands are not known, also those that changed.
    pub(super) foreign: Vec<PathBuf>,
}

/// A change of a protected path by a command.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathFinding {
    /// The protected path.
    pub(super) path: PathBuf,
    /// The change, as text that follows the path.
    pub(super) description: String,
}

impl ProtectedPathMonitor {
    /// Returns a monitor for the roots of `workspace`, which does nothing without a sandbox or a quarantine.
    pub(super) fn new(workspace: &Arc<Workspace>, settings: &ToolSettings) -> Self {
        if !settings.background.launcher().is_confined() {
            return Self(None);
        }
        Self::with_attribution(
            workspace,
            settings,
            Attribution::Recorded(Arc::clone(settings.background.recorded_launcher())),
        )
    }

    fn with_attribution(
        workspace: &Arc<Workspace>,
        settings: &ToolSettings,
        attribution: Attribution,
    ) -> Self {
        let Some(quarantine) = settings.quarantine.clone() else { return Self(None) };
        let mut repositories = Vec::new();
        for root in workspace.directories() {
            let GitDirectories { repositories: found, linked_worktrees } =
                GitDirectories::find(root, settings.path_policy.home());
            let watched = found
                .into_iter()
                .map(|path| (path, WatchKind::Repository))
                .chain(linked_worktrees.into_iter().map(|path| (path, WatchKind::WorkTree)));
            for (path, watch) in watched.filter(|(path, _)| !workspace.contains(path)) {
                if let Ok(directory) = std::fs::File::open(&path) {
                    repositories.push((path, OwnedFd::from(directory), watch));
                }
            }
        }
        let home = settings.path_policy.home().filter(|_| !settings.monitors_home);
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        Self(Some(Arc::new(Inner {
            workspace: Arc::clone(workspace),
            repositories,
            path_policy: settings.path_policy.clone(),
            quarantine,
            attribution,
            home,
            state: Mutex::default(),
        })))
    }

    /// Scans before a command. Each such scan is followed by one after the command.
    pub(super) async fn scan_before(&self) {
        let Some(inner) = self.0.clone() else { return };
        // The work is lost only if it panics, which ends the process.
        let _ = offload(move || inner.scan_before_blocking()).await;
    }

    /// Scans after a command whose processes have ended, and restores what it changed.
    pub(super) async fn scan_after(&self) -> ScanReport {
        let Some(inner) = self.0.clone() else { return ScanReport::default() };
        offload(move || inner.scan_after_blocking()).await.unwrap_or_default()
    }

    /// Like [`Self::scan_after`]; the report is given with the next command, if there is one.
    pub(super) async fn scan_after_background(&self) {
        let found = self.scan_after().await;
        if let Some(inner) = &self.0 {
            inner.lock().pending.extend(found);
        }
    }

    /// Removes and returns what was not reported yet.
    pub(super) fn take_pending(&self) -> ScanReport {
        self.0.as_ref().map(|inner| std::mem::take(&mut inner.lock().pending)).unwrap_or_default()
    }

    /// Whether the first scan was incomplete; `true` once.
    pub(super) fn take_incomplete_scan(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| std::mem::take(&mut inner.lock().is_scan_incomplete))
    }
}

impl Inner {
    fn lock(&self) -> std::sync::MutexGuard<'_, MonitorState> {
        // The state is consistent whenever its lock is released.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watched_directories(&self) -> impl Iterator<Item = WatchedDirectory<'_>> {
        let quarantine = self.quarantine.as_path();
        let home = |root: &Path| self.home.as_deref().filter(|home| home.starts_with(root));
        let roots = self.workspace.held_directories();
        let roots = roots.map(move |(path, directory)| WatchedDirectory {
            path,
            directory,
            watch: WatchKind::Root,
            home: home(path),
            quarantine,
        });
        let repositories = self.repositories.iter().map(move |(path, directory, watch)| WatchedDirectory {
            path,
            directory: directory.as_fd(),
            watch: *watch,
            home: None,
            quarantine,
        });
        roots.chain(repositories)
    }

    /// Returns what is known of a root from planning the sandbox.
    fn listing(&self, watched: &WatchedDirectory<'_>) -> Option<Inventory> {
        match watched.watch {
            WatchKind::Root => self.workspace.take_listing(watched.path),
            WatchKind::Repository | WatchKind::WorkTree => None,
        }
    }

    fn scan_before_blocking(&self) {
        self.attribution.begin_command();
        let mut state = self.lock();
        if state.commands > 0 {
            // A change since the last scan may be the work of a command that is still running, so it is not accepted.
            state.commands += 1;
            return;
        }
        state.commands += 1;
        let old = std::mem::take(&mut state.snapshots);
        let snapshots = self.watched_directories().enumerate().map(|(index, watched)| match old.get(index) {
            Some(old) => Snapshot::take(&watched, old, &self.path_policy),
            None => Snapshot::first(&watched, self.listing(&watched), &self.path_policy),
        });
        state.snapshots = snapshots.collect();
        if state.repositories.is_empty() {
            state.repositories = state.snapshots.iter().map(Snapshot::all_repositories).collect();
            state.is_scan_incomplete =
                state.snapshots.iter().any(|snapshot| !snapshot.inventory.unlisted.is_empty());
        }
    }

    fn scan_after_blocking(&self) -> ScanReport {
        let mut state = self.lock();
        state.commands = state.commands.saturating_sub(1);
        let mut report = ScanReport::default();
        if !self.attribution.is_unchanged() {
            let mut quarantine = Quarantine::new(&self.quarantine);
            let old_snapshots = std::mem::take(&mut state.snapshots);
            let (empty, none) = (Snapshot::default(), BTreeSet::new());
            for (index, watched) in self.watched_directories().enumerate() {
                let old = old_snapshots.get(index).unwrap_or(&empty);
                let repositories_at_start = state.repositories.get(index).unwrap_or(&none);
                let mut new = Snapshot::take(&watched, old, &self.path_policy);
                // If the root was removed, everything is gone, and nothing can be restored.
                let is_there = rustix::fs::fstat(watched.directory).is_ok_and(|stat| stat.st_nlink > 0);
                let diff = SnapshotDiff { watched: &watched, old, new: &new, repositories_at_start };
                if is_there && self.restore(&diff, &mut quarantine, &mut report) {
                    new = Snapshot::take(&watched, &new, &self.path_policy);
                }
                state.snapshots.push(new);
            }
        }
        report.foreign.retain(|path| state.reported.insert(path.clone()));
        self.attribution.end_command();
        report
    }

    /// Moves away and restores what commands changed; returns whether there was anything to do.
    fn restore(&self, diff: &SnapshotDiff<'_>, quarantine: &mut Quarantine, report: &mut ScanReport) -> bool {
        let SnapshotDiff { watched, old, new, .. } = *diff;
        let ScanReport { findings, foreign } = report;
        let before = findings.len();
        let mut moved_away: Vec<&Path> = Vec::new();
        let mut restored: Vec<&Path> = Vec::new();
        let incomplete = diff
            .newly_incomplete()
            .filter(|rel_path| !self.is_exempt(diff, rel_path, &watched.path.join(rel_path)));
        for rel_path in diff.newly_unlisted().chain(incomplete) {
            let path = watched.path.join(rel_path);
            if moved_away.iter().any(|above| rel_path.starts_with(above)) {
                continue;
            }
            match self.attribution.author_of_tree(watched, rel_path, new.directories_below(rel_path)) {
                Author::Command => {}
                Author::Other | Author::Person => continue,
            }
            let result = quarantine.move_in(watched, rel_path);
            moved_away.push(rel_path);
            let description = format!("has more entries than can be watched and {result}");
            findings.push(PathFinding { path, description });
        }
        for (rel_path, entry) in &new.entries {
            let old_entry = old.entries.get(rel_path);
            if old_entry.is_some_and(|old_entry| old_entry.equals_ignoring_times(entry))
                || moved_away.iter().any(|above| rel_path.starts_with(above))
            {
                continue;
            }
            let path = watched.path.join(rel_path);
            // A path that existed before and was not scanned must not be moved away.
            let existed_before = old_entry.is_none() && diff.may_have_existed(rel_path);
            if existed_before || self.is_permitted(diff, rel_path, old_entry, entry) {
                continue;
            }
            match self.attribution.author(watched, rel_path, [old_entry, Some(entry)]) {
                Author::Command => {}
                Author::Other => {
                    let is_listed = foreign.iter().any(|above| path.starts_with(above));
                    if !is_listed && (old_entry.is_none() || !self.attribution.is_known()) {
                        foreign.push(path);
                    }
                    continue;
                }
                Author::Person => continue,
            }
            let result = quarantine.move_in(watched, rel_path);
            moved_away.push(rel_path);
            let verb = if old_entry.is_some() { "was changed" } else { "was created" };
            findings.push(PathFinding { path, description: format!("{verb} and {result}") });
            restored.extend(old_entry.map(|_| rel_path.as_path()));
        }
        for (rel_path, old_entry) in &old.entries {
            let is_gone = !new.entries.contains_key(rel_path);
            let was_moved_away = moved_away.iter().any(|above| rel_path.starts_with(above));
            let path = watched.path.join(rel_path);
            let missing = is_gone
                && !self.may_be_missing(diff, rel_path, old_entry)
                && !old.may_have_missed(rel_path)
                && !new.may_have_missed(rel_path)
                && self.attribution.author(watched, rel_path, [Some(old_entry), None]) == Author::Command;
            if !was_moved_away && !missing {
                continue;
            }
            let is_reported = restored.iter().any(|above| rel_path.starts_with(above));
            match (old_entry.restore(watched, rel_path, &mut quarantine.modes), is_reported) {
                (Ok(()), true) => {}
                (Ok(()), false) => {
                    restored.push(rel_path);
                    findings.push(PathFinding { path, description: "was removed and restored".to_owned() });
                }
                (Err(errno), _) => {
                    let description =
                        format!("could not be restored: {}", crate::file_error::errno_name(errno));
                    findings.push(PathFinding { path, description });
                }
            }
        }
        findings.len() > before
    }

    /// Whether a rule lets commands change `path`.
    fn is_exempt(&self, diff: &SnapshotDiff<'_>, rel_path: &Path, path: &Path) -> bool {
        if self.path_policy.denies_write(path) {
            return false;
        }
        match diff.git_dir_path(rel_path) {
            // The name alone does not identify a git directory with another name.
            Some(inner) if inner.name != ".git" => self.path_policy.exempts_by_name(path, &inner.name),
            Some(_) | None => self.path_policy.exempts(path),
        }
    }

    fn is_permitted(
        &self,
        diff: &SnapshotDiff<'_>,
        rel_path: &Path,
        old_entry: Option<&SnapshotEntry>,
        new_entry: &SnapshotEntry,
    ) -> bool {
        let path = diff.watched.path.join(rel_path);
        if self.path_policy.denies_write(&path) {
            return false;
        }
        if self.is_exempt(diff, rel_path, &path)
            || (old_entry.is_none() && diff.was_moved(rel_path, new_entry))
        {
            return true;
        }
        let Some(inner) = diff.git_dir_path(rel_path) else { return diff.is_part_of_new_package(rel_path) };
        if inner.rel_path.as_os_str().is_empty() && !new_entry.is_directory() {
            return old_entry.is_none() && self.leads_to_watched_repository(diff, rel_path, new_entry);
        }
        let created_by_command = if inner.is_own { inner.created_by_command } else { old_entry.is_none() };
        git_dir_rules::is_permitted(inner.rel_path, old_entry, new_entry, created_by_command, inner.is_own)
    }

    /// Whether a new `.git` file below a root leads to a git directory that is watched itself.
    fn leads_to_watched_repository(
        &self,
        diff: &SnapshotDiff<'_>,
        rel_path: &Path,
        new_entry: &SnapshotEntry,
    ) -> bool {
        let above = rel_path.parent().filter(|above| !above.as_os_str().is_empty());
        let Some((above, content)) = above.zip(new_entry.content()) else { return false };
        let work_tree = diff.watched.path.join(above);
        let target =
            content.strip_prefix(b"gitdir: ").map(|line| Path::new(OsStr::from_bytes(line.trim_ascii_end())));
        let Some(Ok(target)) = target.map(|target| work_tree.join(target).canonicalize()) else {
            return false;
        };
        let is_inside = self.workspace.contains(&target)
            || self.repositories.iter().any(|(repository, ..)| target.starts_with(repository));
        is_inside && !work_tree.starts_with(&target)
    }

    fn may_be_missing(&self, diff: &SnapshotDiff<'_>, rel_path: &Path, old_entry: &SnapshotEntry) -> bool {
        let path = diff.watched.path.join(rel_path);
        if self.path_policy.denies_write(&path) {
            return false;
        }
        if self.is_exempt(diff, rel_path, &path) || diff.was_removed_with_directory(rel_path) {
            return true;
        }
        match diff.git_dir_path(rel_path) {
            // A command may remove a repository, and with it the entries that make git run programs.
            Some(inner) => inner.is_gone || git_dir_rules::may_be_missing(inner.rel_path, old_entry),
            None => false,
        }
    }
}

impl ScanReport {
    /// Adds what a later scan found.
    pub(super) fn extend(&mut self, later: Self) {
        self.findings.extend(later.findings);
        self.foreign.extend(later.foreign);
    }

    /// Returns the notices for people.
    pub(super) fn notices(&self) -> impl Iterator<Item = Notice> {
        let list = |paths: Vec<String>| (!paths.is_empty()).then(|| Notice::list(&paths));
        let undone = list(self.findings.iter().map(|found| found.path.display().to_string()).collect());
        let foreign = list(self.foreign.iter().map(|path| path.display().to_string()).collect());
        let undone = undone.map(|paths| Notice::ProtectedPathsRestored { paths });
        undone.into_iter().chain(foreign.map(|paths| Notice::ProtectedPathsAppeared { paths }))
    }
}

/// Returns the note for the model when the first scan was incomplete.
pub(super) fn incomplete_scan_note() -> &'static str {
    "(the workspace has more entries than can be watched: the file tools protect files deep in it, but commands can \
     change them)\n"
}

/// Returns the text for the model about findings.
pub(super) fn findings_text(findings: &[PathFinding]) -> String {
    let mut text = String::from("(stopped by the sandbox: commands must not change protected paths.");
    for PathFinding { path, description } in findings.iter().take(LISTED_FINDINGS) {
        text.push_str(&format!(" `{}` {description}.", path.display()));
    }
    if findings.len() > LISTED_FINDINGS {
        text.push_str(&format!(" So were {} more.", findings.len() - LISTED_FINDINGS));
    }
    let example = findings.first().map(|finding| finding.path.display().to_string()).unwrap_or_default();
    text.push_str(&format!(" A person may allow it with `--allow 'Write({example})'`)\n"));
    text
}

#[cfg(test)]
#[path = "path_monitor_test.rs"]
mod tests;
