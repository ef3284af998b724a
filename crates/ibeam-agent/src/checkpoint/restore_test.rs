use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::process::Command;

use ibeam_config::Dirs;
use ibeam_policy::PathPolicy;
use ibeam_protocol::{Event, EventKind};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::programs::Programs;

/// A repository with files of many kinds, and a data directory outside of it.
pub(in crate::checkpoint) struct Fixture {
    home: tempfile::TempDir,
    session: SessionId,
    changes: SessionChanges,
}

/// The kind, the executable bit and the content of each file, without git directories.
type Files = BTreeMap<PathBuf, (&'static str, bool, Vec<u8>)>;

impl Fixture {
    pub(in crate::checkpoint) fn new() -> Self {
        let fixture = Self {
            home: tempfile::tempdir().unwrap(),
            session: SessionId::random(),
            changes: SessionChanges::default(),
        };
        fs::create_dir(fixture.root()).unwrap();
        fs::create_dir_all(fixture.path("../data/sessions")).unwrap();
        fixture.git(&["init", "-q"]);
        // What the configuration of a repository can make git run.
        let evil = format!("touch {}/ran; cat", fixture.home.path().display());
        for key in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.evil.textconv"] {
            fixture.git(&["config", key, &evil]);
        }
        fixture.put(".gitattributes", "*.txt text eol=crlf\n*.bin filter=evil diff=evil\n*.c ident\n");
        fixture.put(".gitignore", "*.log\nignored/\n");
        fixture.put("tracked.txt", "one\r\ntwo\n");
        fixture.put("data.bin", [0, 1, 2, 13, 10]);
        fixture.put("a.c", "$Id$\n");
        fixture.put("forced.log", "tracked although it is ignored\n");
        fixture.put("ignored/x", "x");
        fixture.put("sub/inner", "of another repository");
        Command::new("git").args(["init", "-q"]).current_dir(fixture.path("sub")).status().unwrap();
        fixture.git(&["-c", "core.fsmonitor=false", "add", "--force", "tracked.txt", "forced.log"]);
        let _ = fs::remove_file(fixture.home.path().join("ran"));
        fixture
    }

    pub(in crate::checkpoint) fn root(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap().join("ws")
    }

    pub(in crate::checkpoint) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(in crate::checkpoint) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(in crate::checkpoint) fn git(&self, arguments: &[&str]) {
        let status = Command::new("git").args(arguments).current_dir(self.root()).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    }

    pub(in crate::checkpoint) fn repository(&self) -> Repository {
        self.repository_with(PathPolicy::default())
    }

    fn repository_with(&self, path_policy: PathPolicy) -> Repository {
        let outside = self.home.path().canonicalize().unwrap();
        let dirs = Dirs {
            user_config: outside.join("config/config.toml"),
            project_config: self.path(".ibeam/config.toml"),
            user_cursor: Vec::new(),
            project_cursor: self.path(".cursor/cli.json"),
            managed_config: outside.join("managed"),
            credentials: outside.join("config/credentials.toml"),
            data: outside.join("data"),
            cache: outside.join("cache"),
            home: outside,
        };
        let programs = Programs::new(std::env::var_os("PATH").as_deref(), vec![self.root()]);
        Repository::find(&self.root(), &dirs, &programs, path_policy).unwrap()
    }

    fn files(&self) -> Files {
        let mut files = Files::new();
        let mut pending = vec![self.root()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                if kind.is_dir() && entry.file_name() != ".git" {
                    pending.push(path);
                } else if kind.is_symlink() {
                    let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                    files.insert(path, ("link", false, target));
                } else if kind.is_file() {
                    let is_executable = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
                    files.insert(path.clone(), ("file", is_executable, fs::read(&path).unwrap()));
                }
            }
        }
        files
    }

    fn record(&mut self, checkpoint: Checkpoint) {
        let seq = self.changes.next_seq;
        self.changes.fold(Event { seq, at_ms: seq, kind: EventKind::CheckpointTaken(checkpoint) });
    }

    async fn save(&mut self, moment: CheckpointMoment) {
        let repository = self.repository();
        let is_start = moment == CheckpointMoment::TurnStart;
        let ignored = if is_start { IgnoredFiles::Drop } else { IgnoredFiles::Keep };
        let Snapshot { tree, left_out } = repository.snapshot(ignored).await.unwrap();
        let at_ms = self.changes.next_seq;
        let (commit, _) = repository.save(&tree, self.session, moment, at_ms).unwrap();
        self.record(Checkpoint { moment, commit, left_out });
    }

    /// Plays a turn that makes these edits.
    async fn turn(&mut self, edit: impl FnOnce(&Self)) {
        self.changes.turns += 1;
        self.save(CheckpointMoment::TurnStart).await;
        edit(self);
        self.save(CheckpointMoment::TurnEnd).await;
    }

    /// Checks that all files are as they were, apart from ignored ones that an undo does not remove.
    #[track_caller]
    fn check(&self, plan: &UndoPlan, expect: &Files) {
        assert!(plan.conflicts.is_empty(), "{:?}", plan.conflicts);
        let kept = plan.actions().filter(|(_, action)| *action == UndoAction::Keep);
        let kept: BTreeSet<PathBuf> = kept.map(|(path, _)| self.root().join(path)).collect();
        assert!(kept.iter().all(|path| path.ends_with("forced.log")), "{kept:?}");
        let mut files = self.files();
        files.retain(|path, _| !kept.contains(path));
        assert_eq!(files, *expect);
    }

    async fn undo(&mut self, target: crate::checkpoint::UndoTarget) -> UndoPlan {
        let repository = self.repository();
        let (first, turn) = self.changes.resolve(target).unwrap();
        let plan = repository.plan_undo(&self.changes, first).await.unwrap();
        let at_ms = self.changes.next_seq;
        let before = repository.save_before_undo(&plan, self.session, turn, at_ms).await.unwrap();
        self.record(before);
        repository.restore(&plan).await.unwrap();
        let after = repository.save_after_undo(self.session, at_ms + 1).await.unwrap();
        self.record(after);
        plan
    }
}

impl Fixture {
    /// Begins an undo, and ends it after `count` files and in the middle of the next one.
    async fn interrupt(&mut self, target: crate::checkpoint::UndoTarget, count: usize) {
        let repository = self.repository();
        let (first, turn) = self.changes.resolve(target).unwrap();
        let mut plan = repository.plan_undo(&self.changes, first).await.unwrap();
        let at_ms = self.changes.next_seq;
        let before = repository.save_before_undo(&plan, self.session, turn, at_ms).await.unwrap();
        self.record(before);
        plan.files = plan.files.into_iter().take(count).collect();
        // A file in the place of a directory, which is not removed yet, cannot be written.
        let _ = repository.restore(&plan).await;
        self.put(&format!("{TEMPORARY_PREFIX}{}", SessionId::random()), "hal");
    }
}

/// An edit of one of a few paths, which may be files, directories and links in turn.
#[derive(Clone, Debug)]
enum Edit {
    Write(&'static str, Vec<u8>),
    Delete(&'static str),
    Link(&'static str, &'static str),
    Executable(&'static str, bool),
    Rename(&'static str, &'static str),
}

impl Edit {
    /// Makes the edit where it is possible.
    fn apply(&self, fixture: &Fixture) {
        let remove = |path: &Path| drop(fs::remove_file(path).or_else(|_| fs::remove_dir_all(path)));
        let make_room = |path: &Path| {
            for above in path.ancestors().skip(1).take_while(|above| above.starts_with(fixture.root())) {
                if above.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                    remove(above);
                }
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        };
        match self {
            Self::Write(path, content) => {
                let path = fixture.path(path);
                make_room(&path);
                if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
                    remove(&path);
                }
                fs::write(path, content).unwrap();
            }
            Self::Delete(path) => remove(&fixture.path(path)),
            Self::Link(path, target) => {
                let path = fixture.path(path);
                make_room(&path);
                remove(&path);
                symlink(target, path).unwrap();
            }
            Self::Executable(path, is_executable) => {
                let path = fixture.path(path);
                if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                    let mode = if *is_executable { 0o755 } else { 0o644 };
                    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
            Self::Rename(from, to) => {
                let (from, to) = (fixture.path(from), fixture.path(to));
                // A directory of this name would be ignored, and ignored files stay.
                if from.is_dir() && to.extension().is_some_and(|extension| extension == "log") {
                    return;
                }
                if !to.starts_with(&from) && !from.starts_with(&to) && from.symlink_metadata().is_ok() {
                    make_room(&to);
                    remove(&to);
                    let _ = fs::rename(from, to);
                }
            }
        }
    }
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let path = || {
        let names = ["tracked.txt", "data.bin", "a.c", "forced.log", "d", "d/a", "d/b/c", "e", "new\nname"];
        proptest::sample::select(names.to_vec())
    };
    let content = prop_oneof![
        Just(b"one\r\ntwo\n".to_vec()),
        Just(Vec::new()),
        vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'x'), any::<u8>()], 0..12),
    ];
    let targets = proptest::sample::select(vec!["d", "tracked.txt", "../nowhere", "/etc/hostname"]);
    let edit = prop_oneof![
        4 => (path(), content).prop_map(|(path, content)| Edit::Write(path, content)),
        2 => path().prop_map(Edit::Delete),
        1 => (path(), targets).prop_map(|(path, target)| Edit::Link(path, target)),
        1 => (path(), any::<bool>()).prop_map(|(path, bit)| Edit::Executable(path, bit)),
        1 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
    ];
    vec(edit, 0..8)
}

pub(in crate::checkpoint) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn an_undo_restores_every_file_and_its_redo_brings_the_changes_back(
        before in edits(),
        first in edits(),
        second in edits(),
    ) {
        let mut fixture = Fixture::new();
        before.iter().for_each(|edit| edit.apply(&fixture));
        let index = fs::read(fixture.path(".git/index")).unwrap();
        let old = fixture.files();
        block_on(async {
            fixture.turn(|fixture| first.iter().for_each(|edit| edit.apply(fixture))).await;
            let middle = fixture.files();
            fixture.turn(|fixture| second.iter().for_each(|edit| edit.apply(fixture))).await;
            let new = fixture.files();
            use crate::checkpoint::UndoTarget;
            if fixture.changes.resolve(UndoTarget::Turn(1)).is_some() {
                let plan = fixture.undo(UndoTarget::Turn(1)).await;
                fixture.check(&plan, &old);
                let plan = fixture.undo(UndoTarget::LastUndo).await;
                fixture.check(&plan, &new);
                let plan = fixture.undo(UndoTarget::Turn(2)).await;
                fixture.check(&plan, &middle);
            }
        });
        prop_assert_eq!(fs::read(fixture.path(".git/index")).unwrap(), index);
        prop_assert!(!fixture.home.path().join("ran").exists(), "a program of the repository ran");
    }

    #[test]
    fn an_undo_or_redo_that_was_interrupted_is_repeated_or_taken_back(
        before in edits(),
        turn in edits(),
        count in 0..4_usize,
        is_repeated in any::<bool>(),
    ) {
        use crate::checkpoint::UndoTarget::{LastTurn, LastUndo, Turn};
        let mut fixture = Fixture::new();
        before.iter().for_each(|edit| edit.apply(&fixture));
        let old = fixture.files();
        block_on(async {
            fixture.turn(|fixture| turn.iter().for_each(|edit| edit.apply(fixture))).await;
            let new = fixture.files();
            if fixture.changes.resolve(LastTurn).is_none() {
                return;
            }
            fixture.interrupt(Turn(1), count).await;
            fixture.interrupt(Turn(1), count).await;
            if is_repeated {
                let plan = fixture.undo(LastTurn).await;
                fixture.check(&plan, &old);
                fixture.interrupt(LastUndo, count).await;
            }
            let plan = fixture.undo(LastUndo).await;
            fixture.check(&plan, &new);
            let plan = fixture.undo(LastTurn).await;
            fixture.check(&plan, &old);
            fixture.interrupt(LastUndo, count).await;
            let plan = fixture.undo(LastTurn).await;
            fixture.check(&plan, &old);
            let plan = fixture.undo(LastUndo).await;
            fixture.check(&plan, &new);
        });
    }
}

#[test]
fn a_file_that_somebody_else_changed_after_an_interruption_is_a_conflict() {
    let mut fixture = Fixture::new();
    block_on(async {
        fixture.turn(|fixture| ["a.c", "data.bin"].iter().for_each(|path| fixture.put(path, "turn"))).await;
        fixture.interrupt(crate::checkpoint::UndoTarget::LastTurn, 1).await;
        fixture.put("data.bin", "theirs");
        let (first, _) = fixture.changes.resolve(crate::checkpoint::UndoTarget::LastTurn).unwrap();
        let plan = fixture.repository().plan_undo(&fixture.changes, first).await.unwrap();
        assert_eq!(plan.conflicts, BTreeSet::from([PathBuf::from("data.bin")]));
    });
}

#[test]
fn files_that_the_ignore_rules_covered_are_never_removed() {
    let mut fixture = Fixture::new();
    let old = fixture.files();
    block_on(async {
        fixture.turn(|fixture| fixture.put(".gitignore", "tracked.txt\na.c\n")).await;
        let plan = fixture.undo(crate::checkpoint::UndoTarget::LastTurn).await;
        let kept: Vec<_> = plan.actions().filter(|(_, action)| *action == UndoAction::Keep).collect();
        assert_eq!(kept, [(Path::new("ignored/x"), UndoAction::Keep)]);
    });
    assert_eq!(fixture.files(), old);
}

#[test]
fn files_that_somebody_else_changed_are_conflicts_and_their_other_files_stay() {
    let mut fixture = Fixture::new();
    block_on(async {
        fixture.turn(|fixture| fixture.put("a.c", "turn")).await;
        fixture.put("theirs", "theirs");
        fixture.turn(|fixture| fixture.put("tracked.txt", "turn")).await;
        fixture.put("a.c", "theirs");
        let plan = fixture.undo(crate::checkpoint::UndoTarget::Turn(1)).await;
        assert_eq!(plan.conflicts, BTreeSet::from([PathBuf::from("a.c")]));
    });
    assert_eq!(fs::read(fixture.path("a.c")).unwrap(), b"$Id$\n", "the caller did not refuse");
    assert_eq!(fs::read(fixture.path("theirs")).unwrap(), b"theirs");
}

#[test]
fn objects_that_were_changed_in_the_repository_are_not_restored() {
    let mut fixture = Fixture::new();
    block_on(async {
        fixture.turn(|fixture| fixture.put("a.c", "turn")).await;
        // Another content under the hash of the old one.
        let output = Command::new("git").args(["hash-object", "a.c"]).current_dir(fixture.root()).output();
        let new = line(&output.unwrap().stdout);
        let mut reader = ObjectReader::start(&fixture.repository()).unwrap();
        let tree = reader.tree_of(&fixture.changes.changes[0].start).await.unwrap();
        let old = reader.files_named(&tree, Path::new("a.c")).await.unwrap()[Path::new("a.c")].hash.clone();
        let objects = fixture.repository().own_dir().join("objects");
        let object = |hash: &str| objects.join(&hash[..2]).join(&hash[2..]);
        fs::remove_file(object(&old)).unwrap();
        fs::copy(object(&new), object(&old)).unwrap();
        let plan = fixture.repository().plan_undo(&fixture.changes, 0).await.unwrap();
        let restored = fixture.repository().restore(&plan).await;
        assert!(matches!(restored, Err(CheckpointError::Damaged(_))), "{restored:?}");
    });
    assert_eq!(fs::read(fixture.path("a.c")).unwrap(), b"turn");
}

#[test]
fn references_of_deleted_sessions_are_removed() {
    let mut fixture = Fixture::new();
    let references = |fixture: &Fixture| {
        let directory = fixture.repository().own_dir().to_owned();
        let arguments = ["for-each-ref", "refs/ibeam/"];
        let output = Command::new("git").arg("--git-dir").arg(directory).args(arguments).output().unwrap();
        output.stdout.split(|byte| *byte == b'\n').count() - 1
    };
    block_on(async {
        fixture.turn(|fixture| fixture.put("a.c", "turn")).await;
        assert_eq!(references(&fixture), 2);
        let session = fixture.path("../data/sessions").join(fixture.session.to_string());
        fs::create_dir(&session).unwrap();
        fs::write(session.join("events.jsonl"), "").unwrap();
        fixture.repository().prune_references().await.unwrap();
        assert_eq!(references(&fixture), 2);
        fs::remove_dir_all(session).unwrap();
        fixture.repository().prune_references().await.unwrap();
        assert_eq!(references(&fixture), 0);
    });
}

#[test]
fn a_diff_has_the_changes_of_the_session_and_not_those_of_others() {
    let mut fixture = Fixture::new();
    let diff = block_on(async {
        fixture.turn(|fixture| fixture.put("a.c", "turn\n")).await;
        fixture.put("theirs", "theirs\n");
        fixture.turn(|fixture| fixture.put("data.bin", "turn\n")).await;
        let repository = fixture.repository();
        let whole = repository.diff(&fixture.changes, None, false).await.unwrap();
        let stat = repository.diff(&fixture.changes, Some(1), true).await.unwrap();
        String::from_utf8([whole, stat].concat()).unwrap()
    });
    assert!(diff.contains("\n-$Id$\n+turn\n") && diff.contains(" data.bin | "), "{diff}");
    assert!(!diff.contains("theirs"), "{diff}");
    assert!(!fixture.home.path().join("ran").exists(), "a program of the repository ran");
}

#[test]
fn an_empty_directory_in_the_place_of_a_file_is_replaced() {
    let mut fixture = Fixture::new();
    let old = fixture.files();
    block_on(async {
        fixture
            .turn(|fixture| {
                fs::remove_file(fixture.path("a.c")).unwrap();
                fs::create_dir_all(fixture.path("a.c/inner/empty")).unwrap();
            })
            .await;
        fixture.undo(crate::checkpoint::UndoTarget::LastTurn).await;
    });
    assert_eq!(fixture.files(), old);
}

#[test]
fn nothing_is_written_to_the_repository_of_the_user() {
    let mut fixture = Fixture::new();
    let entries = |fixture: &Fixture| {
        let mut found = Vec::new();
        let mut pending = vec![fixture.path(".git")];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                // Git renews the time of an object that it needs, and so keeps it longer.
                match entry.file_type().unwrap().is_dir() {
                    true => pending.push(entry.path()),
                    false => found.push((entry.path(), fs::read(entry.path()).unwrap())),
                }
            }
        }
        found.sort();
        found
    };
    let before = entries(&fixture);
    block_on(async {
        fixture.turn(|fixture| fixture.put("a.c", "turn")).await;
        fixture.undo(crate::checkpoint::UndoTarget::LastTurn).await;
        fixture.repository().prune_references().await.unwrap();
    });
    assert_eq!(entries(&fixture), before);
}

/// Returns a policy that hides these files as credentials.
fn policy_that_hides(fixture: &Fixture, names: &[&str]) -> PathPolicy {
    let home = fixture.home.path().canonicalize().unwrap().join("home");
    let mode = ibeam_protocol::PermissionMode::Force;
    let mut policy = ibeam_policy::Policy::new(mode, fixture.root(), home);
    policy.credential_files = names.iter().map(|name| fixture.path(name)).collect();
    policy.path_policy()
}

#[test]
fn a_hidden_file_is_not_saved_under_any_name_and_not_restored_once_it_is_hidden() {
    let mut fixture = Fixture::new();
    fixture.put("kube.yaml", "token: SECRET");
    fs::hard_link(fixture.path("kube.yaml"), fixture.path("other.yaml")).unwrap();
    let hidden = policy_that_hides(&fixture, &["kube.yaml"]);
    block_on(async {
        let repository = fixture.repository_with(hidden.clone());
        let tree = repository.snapshot(IgnoredFiles::Drop).await.unwrap().tree;
        let mut reader = ObjectReader::start(&repository).unwrap();
        for (name, count) in [("kube.yaml", 0), ("other.yaml", 0), ("a.c", 1)] {
            assert_eq!(reader.files_named(&tree, Path::new(name)).await.unwrap().len(), count, "{name}");
        }
        // It was saved before the policy hid it.
        fixture.turn(|fixture| fixture.put("kube.yaml", "changed")).await;
        let plan = fixture.repository_with(hidden).plan_undo(&fixture.changes, 0).await.unwrap();
        let names: Vec<&Path> = plan.actions().map(|(path, _)| path).collect();
        assert!(names.is_empty(), "{names:?}");
    });
}

#[test]
fn files_are_saved_again_when_the_repository_has_removed_their_objects() {
    let mut fixture = Fixture::new();
    block_on(async {
        fixture.turn(|fixture| fixture.put("a.c", "turn")).await;
        // The file is staged, so the index of checkpoints names an object of the repository.
        fs::remove_dir_all(fixture.path(".git/objects")).unwrap();
        fs::create_dir(fixture.path(".git/objects")).unwrap();
        fixture.put("new", "new");
        fixture.turn(|fixture| fixture.put("tracked.txt", "turn")).await;
        fixture.undo(crate::checkpoint::UndoTarget::LastTurn).await;
    });
    assert_eq!(fs::read(fixture.path("tracked.txt")).unwrap(), b"one\r\ntwo\n");
}

#[test]
fn a_file_at_which_git_would_wait_is_named_at_once() {
    let fixture = Fixture::new();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let path = fixture.path("inner");
    fs::create_dir(&path).unwrap();
    let fifo = path.join(".gitignore");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let started = std::time::Instant::now();
    let error = block_on(fixture.repository().snapshot(IgnoredFiles::Drop)).unwrap_err();
    assert!(error.to_string().contains("inner/.gitignore` is not a regular file"), "{error}");
    assert!(started.elapsed() < std::time::Duration::from_secs(8), "{:?}", started.elapsed());
}

#[test]
fn references_of_an_earlier_version_are_removed_from_the_repository_with_their_sessions() {
    let fixture = Fixture::new();
    let person = ["-c", "user.name=n", "-c", "user.email=e"];
    fixture.git(&[&person[..], &["commit", "-q", "-m", "m"]].concat());
    let reference = format!("refs/ibeam/{}/1-turn-start", fixture.session);
    fixture.git(&["update-ref", &reference, "HEAD"]);
    fixture.git(&["pack-refs", "--all"]);
    block_on(fixture.repository().prune_references()).unwrap();
    let output = Command::new("git").arg("for-each-ref").current_dir(fixture.root()).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(!listed.contains("refs/ibeam") && listed.contains("refs/heads/"), "{listed}");
}

#[test]
fn a_hidden_file_in_checkpoints_of_an_earlier_version_is_found() {
    let fixture = Fixture::new();
    fixture.put("kube.yaml", "token: SECRET");
    let person = ["-c", "user.name=n", "-c", "user.email=e", "-c", "core.fsmonitor=false"];
    let find = |names: &[&str]| {
        fixture.repository_with(policy_that_hides(&fixture, names)).hidden_file_of_earlier_checkpoints()
    };
    assert_eq!(find(&["kube.yaml"]), None);
    fixture.git(&[&person[..], &["add", "kube.yaml"]].concat());
    fixture.git(&[&person[..], &["commit", "-q", "-m", "m"]].concat());
    fixture.git(&["update-ref", &format!("refs/ibeam/{}/1-turn-start", fixture.session), "HEAD"]);
    assert_eq!(find(&["kube.yaml"]), Some(PathBuf::from("kube.yaml")));
    assert_eq!(find(&["other.yaml"]), None);
    // Git cannot list what a checkpoint has.
    let reference = fixture.path(&format!(".git/refs/ibeam/{}/2-turn-end", fixture.session));
    fs::write(reference, "1".repeat(40)).unwrap();
    assert_eq!(find(&["other.yaml"]), Some(PathBuf::from("refs/ibeam")));
}

#[tokio::test]
async fn commits_and_references_are_those_that_git_writes() {
    for format in ["sha1", "sha256"] {
        let mut fixture = Fixture::new();
        fs::remove_dir_all(fixture.path(".git")).unwrap();
        fixture.git(&["init", "-q", &format!("--object-format={format}")]);
        fixture.turn(|fixture| fixture.put("new.txt", "new")).await;
        let repository = fixture.repository();
        let tree = repository.snapshot(IgnoredFiles::Keep).await.unwrap().tree;
        let written = repository.write_commit(&tree, "title\n\nbody\n", 5999).unwrap();
        let git = |arguments: &[&str]| {
            let mut command = repository.command(GitSetup::Own(None), arguments).unwrap();
            for person in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{person}_NAME"), "ibeam");
                command.env(format!("GIT_{person}_EMAIL"), "ibeam");
                command.env(format!("GIT_{person}_DATE"), "@5 +0000");
            }
            let output = command.output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(git(&["commit-tree", "-m", "title", "-m", "body", &tree]).trim(), written);
        assert_eq!(git(&["for-each-ref", "--format=%(refname)"]).lines().count(), 2);
        assert_eq!(git(&["fsck", "--strict", "--unreachable"]).lines().count(), 1, "only `{written}`");
        // The temporary files are gone.
        let objects = repository.own_dir().join("objects").join(&written[..2]);
        assert!(fs::read_dir(objects).unwrap().flatten().all(|entry| entry.file_name().len() > 37));
    }
}
