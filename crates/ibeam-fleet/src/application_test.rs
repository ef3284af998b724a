//! Tests of applied changes, with the real git.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_git::Git;

use crate::application::{Application, Applied, ApplyMode, PassedTask, passed_tasks};
use crate::task_file::TaskFile;
use crate::task_result::{Outcome, TaskResult};
use crate::workspace::{Workspaces, tests::run_git};
use ibeam_governor::task_directory;

/// The id of a task, the one from whose result it starts, and the files that it writes.
type TaskSpec<'a> = (&'a str, Option<&'a str>, &'a [(&'a str, &'a str)]);

/// A repository of a user, and a fleet whose tasks have passed.
struct Scene {
    home: tempfile::TempDir,
    passed: Vec<PassedTask>,
}

impl Scene {
    /// Runs tasks: each has an id, the task from which it starts, and the files that it writes.
    fn new(tasks: &[TaskSpec<'_>]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (source, fleet) = (root.join("source"), root.join("fleet"));
        fs::create_dir_all(source.join("dir")).unwrap();
        fs::create_dir_all(fleet.join("tasks")).unwrap();
        fs::write(source.join("a.txt"), "1\n2\n3\n").unwrap();
        fs::write(source.join("dir/b.txt"), "b\n").unwrap();
        for arguments in [
            ["init", "--quiet", "--initial-branch", "main", "."].as_slice(),
            &["add", "."],
            &["-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--message", "m"],
        ] {
            run_git(&source, arguments);
        }
        let lines: Vec<String> = tasks
            .iter()
            .map(|(id, from, _)| {
                let workspace =
                    from.map_or(r#""source""#.to_owned(), |from| format!(r#"{{"from":"{from}"}}"#));
                format!(r#"{{"id":"{id}","prompt":"\nDo {id}.\nMore.","workspace":{workspace}}}"#)
            })
            .collect();
        let file = TaskFile::parse(&lines.join("\n"), &root);
        assert!(file.invalid.is_empty(), "{:?}", file.invalid);
        let workspaces = Workspaces::new(Git::from_system(root.join("views")), fleet.clone());
        let mut results = Vec::new();
        for (task, (id, _, files)) in file.tasks.iter().zip(tasks) {
            let directory = task_directory(&fleet.join("tasks"), id);
            let workspace = directory.join("workspace");
            workspaces.prepare(&task.workspace, &workspace).unwrap();
            files.iter().for_each(|(name, text)| fs::write(workspace.join(name), text).unwrap());
            let patch = directory.join("changes.patch");
            let changes = workspaces.changes(&task.workspace, &workspace, &patch).unwrap();
            let result = TaskResult {
                message: None,
                changed_files: changes.files,
                patch: changes.has_patch.then_some(patch),
                ..TaskResult::without_run(id, Outcome::Passed, String::new())
            };
            fs::write(directory.join("result.json"), serde_json::to_vec(&result).unwrap()).unwrap();
            results.push(result);
        }
        let passed = passed_tasks(file.tasks, results, &[]).unwrap();
        Self { home, passed }
    }

    fn source(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap().join("source")
    }

    fn apply(&self, mode: &ApplyMode) -> Vec<Applied> {
        let root = self.home.path().canonicalize().unwrap();
        let git = Git::from_system(root.join("views"));
        let mut application = Application::open(&git, &root.join("source/dir"), mode.clone()).unwrap();
        let fleet = root.join("fleet");
        self.passed.iter().map(|passed| application.apply(passed, &fleet).unwrap()).collect()
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.source().join(name)).ok()
    }

    fn git(&self, arguments: &[&str]) -> String {
        output(&self.source(), arguments)
    }
}

fn output(directory: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git").args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn branches() -> ApplyMode {
    ApplyMode::Branches("fleet/".to_owned())
}

#[test]
fn each_task_gets_a_branch_on_its_base_and_the_work_tree_stays() {
    let scene = Scene::new(&[
        ("one", None, &[("a.txt", "1\n2\nthree\n"), ("new.bin", "\u{0}x")]),
        ("two", Some("one"), &[("a.txt", "1\ntwo\nthree\n")]),
        ("none", None, &[]),
        ("other", None, &[("dir/b.txt", "other\n")]),
    ]);
    fs::write(scene.source().join("a.txt"), "mine\n").unwrap();
    for hook in ["post-commit", "reference-transaction", "post-index-change"] {
        let path = scene.source().join(".git/hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\ntouch {}/ran\n", scene.source().display())).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    let branch = |id: &str| Applied::Branch(format!("fleet/{id}"));
    let expected = [branch("one"), Applied::Unchanged, branch("other"), branch("two")];
    assert_eq!(scene.apply(&branches()), expected);
    assert!(scene.read("ran").is_none(), "no hook runs");
    assert_eq!(scene.git(&["log", "--format=%s", "fleet/two"]), "two: Do two.\none: Do one.\nm\n");
    assert_eq!(scene.git(&["show", "fleet/two:a.txt"]), "1\ntwo\nthree\n");
    assert_eq!(scene.git(&["show", "fleet/one:new.bin"]), "\u{0}x");
    assert_eq!(scene.git(&["diff", "--name-only", "main", "fleet/other"]), "dir/b.txt\n");
    // The same command finds the branches.
    assert_eq!(scene.apply(&branches()), expected);
    assert_eq!(
        (scene.read("a.txt").as_deref(), scene.git(&["status", "--short"])),
        (Some("mine\n"), " M a.txt\n".into())
    );
    // A branch of the user stays, and what starts from it is not applied elsewhere.
    run_git(&scene.source(), &["branch", "--force", "fleet/other", "fleet/one"]);
    let applied = scene.apply(&branches());
    assert!(
        matches!(&applied[2], Applied::Refused { detail, .. } if detail.contains("exists")),
        "{applied:?}"
    );
    let elsewhere = scene.apply(&ApplyMode::Branches("a..b/".to_owned()));
    assert!(
        matches!(&elsewhere[0], Applied::Refused { detail, .. } if detail.contains("valid")),
        "{elsewhere:?}"
    );
}

#[test]
fn patches_that_conflict_change_nothing_and_the_others_are_applied() {
    let scene = Scene::new(&[
        ("one", None, &[("a.txt", "one\n2\n3\n")]),
        ("same", None, &[("a.txt", "same\n2\n3\n"), ("new.txt", "new\n")]),
        ("mine", None, &[("dir/b.txt", "theirs\n"), ("late.txt", "late\n")]),
        ("there", None, &[("untracked.txt", "x\n")]),
        ("next", Some("one"), &[("a.txt", "one\n2\nthree\n")]),
        ("after", Some("same"), &[("after.txt", "x\n")]),
    ]);
    fs::write(scene.source().join("dir/b.txt"), "mine\n").unwrap();
    fs::write(scene.source().join("untracked.txt"), "kept\n").unwrap();
    let applied = scene.apply(&ApplyMode::Patches);
    let refused = |applied: &Applied| match applied {
        Applied::Refused { files, .. } => files.clone(),
        applied => panic!("{applied:?}"),
    };
    let [one, same, mine, there, next, after] = applied.as_slice() else { panic!("{applied:?}") };
    assert_eq!((one, next), (&Applied::Patch, &Applied::Patch));
    assert_eq!(refused(same), ["a.txt"]);
    assert_eq!(refused(mine), ["dir/b.txt"]);
    assert_eq!(refused(there), ["untracked.txt"]);
    assert_eq!(refused(after), Vec::<String>::new());
    assert_eq!(scene.read("a.txt").as_deref(), Some("one\n2\nthree\n"));
    assert_eq!(scene.read("dir/b.txt").as_deref(), Some("mine\n"));
    assert_eq!(scene.read("untracked.txt").as_deref(), Some("kept\n"));
    for name in ["new.txt", "late.txt", "after.txt"] {
        assert_eq!(scene.read(name), None, "{name}");
    }
    assert_eq!(scene.git(&["diff", "--cached", "--name-only"]), "", "the index stays");
}

#[test]
fn a_selection_has_the_tasks_from_which_its_tasks_start() {
    let scene =
        Scene::new(&[("a", None, &[]), ("b", Some("a"), &[]), ("c", Some("b"), &[]), ("d", None, &[])]);
    let (tasks, results): (Vec<_>, Vec<_>) =
        scene.passed.iter().map(|passed| (passed.task.clone(), passed.result.clone())).unzip();
    let ids = |only: &[&str]| {
        let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
        let found = passed_tasks(tasks.clone(), results.clone(), &only);
        found.map(|found| found.into_iter().map(|passed| passed.task.id).collect::<Vec<_>>())
    };
    assert_eq!(ids(&["c"]).unwrap(), ["a", "b", "c"]);
    assert_eq!(ids(&["d"]).unwrap(), ["d"]);
    assert_eq!(ids(&["x"]), Err("x".to_owned()));
}
