//! Kills at the steps of a checkpoint: the repository, the index and the branches stay as they were, and the next run
//! saves its files again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_testkit::repository::{git, repository, shell};
use ibeam_testkit::scene::Scene;
use ibeam_testkit::{Disk, Ibeam, StepKind, SweepPart, TraceAction, TracePoint};

use super::scenario::UUID;

/// The file that the killed run creates.
const CREATED: &str = "created";

/// Returns a repository with staged, changed and new files.
fn set_up() -> Scene {
    let scene = repository(shell(&format!("rm calc.py; echo x > {CREATED}")));
    let workspace = scene.workspace.path();
    fs::write(workspace.join("calc.py"), "staged\n").unwrap();
    git(&scene, &["add", "calc.py"]);
    fs::write(workspace.join("calc.py"), "not staged\n").unwrap();
    fs::write(workspace.join("untracked"), "mine\n").unwrap();
    scene
}

fn command(scene: &Scene) -> Ibeam {
    scene.ibeam(["-p", "do it", "--force", "--resume", UUID])
}

/// The parts of a repository that a checkpoint must not change.
#[derive(Debug, PartialEq)]
struct RepositoryState {
    index: Vec<u8>,
    head: String,
    branches: String,
    stashes: String,
    config: String,
}

impl RepositoryState {
    fn read(scene: &Scene) -> Self {
        let directory = scene.workspace.path().join(".git");
        Self {
            index: fs::read(directory.join("index")).unwrap(),
            head: fs::read_to_string(directory.join("HEAD")).unwrap(),
            branches: git(scene, &["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]),
            stashes: git(scene, &["stash", "list"]),
            config: fs::read_to_string(directory.join("config")).unwrap(),
        }
    }
}

/// Returns the paths of the lock files below `directory`.
fn lock_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(lock_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
    found
}

/// Checks the repository after a kill, and that the next run has checkpoints and can be undone.
fn check_after_kill(scene: Scene, before: &RepositoryState, context: &str) {
    wait_for_git(&scene);
    assert_eq!(RepositoryState::read(&scene), *before, "{context}");
    let files = |scene: &Scene| (scene.workspace.read("calc.py"), scene.workspace.read(CREATED));
    let found = files(&scene);
    let is_old = found == (Some("not staged\n".to_owned()), None);
    let is_partly_new = found.0.is_none() && found.1.as_deref().is_none_or(|text| text.is_empty());
    let is_new = found == (None, Some("x\n".to_owned()));
    assert!(is_old || is_partly_new || is_new, "{context}: {found:?}");
    assert_eq!(scene.workspace.read("untracked").as_deref(), Some("mine\n"), "{context}");
    git(&scene, &["fsck", "--strict"]);
    let scene = scene.with_answers(shell("echo y > second; rm untracked"));
    let output = command(&scene).run().succeeded();
    assert!(!output.stderr.contains("cannot be undone"), "{context}: {output}");
    assert_eq!(scene.workspace.read("second").as_deref(), Some("y\n"), "{context}");
    scene.ibeam_without_model(["undo", UUID]).run().succeeded();
    assert_eq!(scene.workspace.read("second"), None, "{context}");
    assert_eq!(scene.workspace.read("untracked").as_deref(), Some("mine\n"), "{context}");
    assert_eq!(files(&scene), found, "{context}: an undo of the second turn changes nothing of the first");
    assert_eq!(RepositoryState::read(&scene), *before, "{context}: after the undo");
}

/// Waits until no git process of the killed run writes to the repository.
fn wait_for_git(scene: &Scene) {
    let directory = scene.workspace.path().join(".git");
    for _ in 0..250 {
        if lock_files(&directory).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("git left lock files: {:?}", lock_files(&directory));
}

/// Whether the program takes this step to save files.
fn is_checkpoint_step(point: &TracePoint) -> bool {
    let is_git = point.kind == StepKind::Exec && point.path.ends_with("git");
    is_git || point.path.iter().any(|name| name == "checkpoints")
}

#[test]
fn a_kill_during_a_checkpoint_leaves_the_repository_as_it_was() {
    let scene = set_up();
    let mut disk = Disk::new(scene.workspace.outside());
    let complete = match command(&scene).trace(&mut disk, |_| TraceAction::Pass) {
        Ok(complete) => complete,
        Err(reason) => return eprintln!("SKIP: {reason}"),
    };
    assert_eq!(complete.code, Some(0), "{}{}", complete.stdout, complete.stderr);
    let points: Vec<&TracePoint> = complete.points.iter().filter(|point| is_checkpoint_step(point)).collect();
    let count = points.iter().filter(|point| point.kind == StepKind::Exec).count();
    assert_eq!(count, 2, "a checkpoint starts git once: {:#?}", complete.points);
    let written = points.iter().filter(|point| point.kind == StepKind::Rename).count();
    assert!(written >= 8, "objects, trees, commits, references and indexes: {:#?}", complete.points);
    // Git processes that have started run to their end.
    let kills = [TraceAction::KillBefore, TraceAction::KillAfter];
    let all = points.into_iter().flat_map(|point| kills.into_iter().map(move |action| (point, action)));
    let part = SweepPart::from_environment();
    for (_, (point, action)) in all.enumerate().filter(|(number, _)| part.includes(*number)) {
        let scene = set_up();
        let before = RepositoryState::read(&scene);
        let mut disk = Disk::new(scene.workspace.outside());
        let act = |found: &TracePoint| if found.is_same_step(point) { action } else { TraceAction::Pass };
        command(&scene).trace(&mut disk, act).unwrap();
        check_after_kill(scene, &before, &format!("{action:?} {point}"));
    }
}

/// The instants of these kills are within git too.
#[test]
fn a_kill_at_any_instant_of_a_checkpoint_leaves_the_repository_as_it_was() {
    let scene = set_up();
    let duration = command(&scene).run().succeeded().elapsed;
    let part = SweepPart::from_environment();
    let mut random = fastrand::Rng::with_seed(7 + part.index() as u64);
    for _ in 0..part.share_of(200) {
        let scene = set_up();
        let before = RepositoryState::read(&scene);
        let after = duration.mul_f64(random.f64());
        drop(command(&scene).kill_after(after));
        check_after_kill(scene, &before, &format!("killed after {after:?} of {duration:?}"));
    }
}

/// Returns a repository in which a turn has changed, created and removed files.
fn set_up_turn() -> Scene {
    let scene =
        repository(shell("rm calc.py; for i in 1 2 3; do echo new > f$i; done; mkdir d; echo x > d/x"));
    fs::write(scene.workspace.path().join("f1"), "old\n").unwrap();
    command(&scene).run().succeeded();
    scene
}

fn workspace_files(scene: &Scene) -> Vec<(String, String)> {
    let mut entries: Vec<_> = fs::read_dir(scene.workspace.path()).unwrap().map(Result::unwrap).collect();
    entries.retain(|entry| entry.file_type().unwrap().is_file());
    let read = |entry: &fs::DirEntry| fs::read_to_string(entry.path()).unwrap();
    let mut files: Vec<(String, String)> =
        entries.iter().map(|entry| (entry.file_name().into_string().unwrap(), read(entry))).collect();
    files.push(("d".to_owned(), format!("{}", scene.workspace.path().join("d").exists())));
    files.sort();
    files
}

/// Kills `ibeam undo` with these arguments at its steps. Then it is repeated, and taken back with the others.
fn check_undo_kills(is_redo: bool) {
    let scene = set_up_turn();
    let new = workspace_files(&scene);
    let undo = |scene: &Scene| scene.ibeam_without_model(["undo", UUID]);
    let redo = |scene: &Scene| scene.ibeam_without_model(["undo", UUID, "--redo"]);
    undo(&scene).run().succeeded();
    let old = workspace_files(&scene);
    assert_ne!(old, new);
    let prepare = || {
        let scene = set_up_turn();
        if is_redo {
            undo(&scene).run().succeeded();
        }
        scene
    };
    let killed = |scene: &Scene| if is_redo { redo(scene) } else { undo(scene) };
    let scene = prepare();
    let mut disk = Disk::new(scene.workspace.outside());
    let complete = match killed(&scene).trace(&mut disk, |_| TraceAction::Pass) {
        Ok(complete) => complete,
        Err(reason) => return eprintln!("SKIP: {reason}"),
    };
    assert_eq!(complete.code, Some(0), "{}{}", complete.stdout, complete.stderr);
    let mut points = complete.points;
    points.retain(|point| point.kind == StepKind::Rename || is_checkpoint_step(point));
    let part = SweepPart::from_environment();
    for (index, point) in points.iter().enumerate().filter(|(number, _)| part.includes(*number)) {
        let context = format!("is_redo {is_redo}, killed before {point}");
        let scene = prepare();
        let mut disk = Disk::new(scene.workspace.outside());
        let act = |found: &TracePoint| match found.is_same_step(point) {
            true => TraceAction::KillBefore,
            false => TraceAction::Pass,
        };
        killed(&scene).trace(&mut disk, act).unwrap();
        wait_for_git(&scene);
        // Both directions follow in each part, whose points have one parity.
        let is_repeated = index / 8 % 2 == 0;
        // The other direction takes back the half.
        let is_redone = is_redo == is_repeated;
        let output = if is_redone { redo(&scene).run() } else { undo(&scene).run() };
        let has_nothing = matches!(output.code, Some(66));
        assert!(output.code == Some(0) || has_nothing, "{context}: {output}");
        let expect = if is_redone { &new } else { &old };
        assert_eq!(workspace_files(&scene), *expect, "{context}: {output}");
        let (back, expect) = if is_redone { (undo(&scene), &old) } else { (redo(&scene), &new) };
        back.run().succeeded();
        assert_eq!(workspace_files(&scene), *expect, "{context}: and back");
    }
}

#[test]
fn an_undo_that_was_killed_can_be_repeated_or_taken_back() {
    check_undo_kills(false);
}

#[test]
fn a_redo_that_was_killed_can_be_repeated_or_taken_back() {
    check_undo_kills(true);
}
