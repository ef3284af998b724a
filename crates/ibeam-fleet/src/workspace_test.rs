//! Workspaces of real repositories and directories, and what changes in them.

use super::*;
use crate::task::GitSource;

/// Runs git in a directory of the user.
pub(crate) fn run_git(directory: &Path, arguments: &[&str]) {
    let mut command = std::process::Command::new("git");
    let status = command.args(arguments).current_dir(directory).status().unwrap();
    assert!(status.success(), "{arguments:?}");
}

pub(super) fn workspaces(home: &Path) -> Workspaces {
    Workspaces::new(Git::from_system(home.join("views")), home.join("fleet"))
}

/// Creates the files of a source in `home`.
pub(super) fn source(home: &Path) -> PathBuf {
    let source = home.join("source");
    fs::create_dir_all(&source).unwrap();
    for (name, text) in
        [("a.txt", "a\n"), ("gone.txt", "x\n"), ("kept.txt", "k\n"), (".gitignore", "*.log\n")]
    {
        fs::write(source.join(name), text).unwrap();
    }
    source
}

/// Changes the files of a workspace, and checks what is found; then that the patch has the same effect on the source.
#[track_caller]
fn check(workspaces: &Workspaces, from: &WorkspaceSource, source: &Path, home: &Path) {
    let (path, patch) = (home.join("task/workspace"), home.join("task/changes.patch"));
    workspaces.prepare(from, &path).unwrap();
    assert_eq!(workspaces.changes(from, &path, &patch).unwrap(), Changes::default());
    let odd = "odd\t\"name\"\n.txt";
    for (name, text) in [("a.txt", "b\n"), (odd, "new\n"), ("out.log", "ignored\n"), ("data", "\0\u{1}")] {
        fs::write(path.join(name), text).unwrap();
    }
    fs::remove_file(path.join("gone.txt")).unwrap();
    // A second call finds the same.
    for _ in 0..2 {
        let changes = workspaces.changes(from, &path, &patch).unwrap();
        assert!(changes.has_patch);
        assert_eq!(changes.files, ["a.txt", "data", "gone.txt", odd]);
    }
    run_git(source, &["apply", "--binary", utf8(&patch).unwrap()]);
    for name in ["a.txt", odd, "data", "kept.txt"] {
        assert_eq!(fs::read(source.join(name)).unwrap(), fs::read(path.join(name)).unwrap(), "{name:?}");
    }
    assert!(!source.join("gone.txt").exists() && !source.join("out.log").exists());
}

#[test]
fn the_lock_of_a_git_that_was_killed_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let source = source(home.path());
    let workspaces = workspaces(home.path());
    let (source, path) = (WorkspaceSource::Path(source), home.path().join("task/workspace"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let start = workspaces.prepare(&source, &path).unwrap();
    fs::write(start.join("new.txt"), "new\n").unwrap();
    fs::write(index_repository(&path).join("index.lock"), "").unwrap();
    let changes = workspaces.changes(&source, &path, &home.path().join("patch")).unwrap();
    assert_eq!(changes.files, ["new.txt"]);
}

#[test]
fn the_changes_of_a_copy_are_found() {
    let home = tempfile::tempdir().unwrap();
    let source = source(home.path());
    let workspaces = workspaces(home.path());
    check(&workspaces, &WorkspaceSource::Path(source.clone()), &source, home.path());
}

#[test]
fn the_changes_of_a_clone_are_found_whatever_format_its_hashes_have() {
    for format in ["sha1", "sha256"] {
        let home = tempfile::tempdir().unwrap();
        let source = source(home.path());
        let run = |arguments: &[&str]| run_git(&source, arguments);
        run(&["init", "--quiet", &format!("--object-format={format}")]);
        run(&["add", "--all"]);
        let person = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        run(&[&person[..], &["commit", "--quiet", "--message", "one"]].concat());
        let workspaces = workspaces(home.path());
        let git = GitSource { git: source.to_str().unwrap().to_owned(), reference: "HEAD".to_owned() };
        check(&workspaces, &WorkspaceSource::Git(git), &source, home.path());
    }
}

#[test]
fn the_copy_of_a_hidden_file_in_a_clone_is_recorded() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let (source, path) = (source(&home), home.join("task/workspace"));
    run_git(&source, &["init", "--quiet"]);
    run_git(&source, &["add", "--all"]);
    run_git(&source, &["-c", "user.name=t", "-c", "user.email=t", "commit", "--quiet", "--message", "one"]);
    let hidden = source.join("a.txt");
    let workspaces = workspaces(&home).without_hidden(FileFilter::new(move |path, _| path == hidden));
    workspaces.prepare(&WorkspaceSource::Path(source), &path).unwrap();
    let recorded = fs::read_to_string(hidden_file(&path)).unwrap();
    assert_eq!(recorded, format!("{}\n", path.join("a.txt").display()));
}

/// Returns settings with which git runs a program that creates `ran`.
fn evil_settings(ran: &Path) -> String {
    let run = format!("touch {}; cat", ran.display());
    format!("[filter \"evil\"]\n\tclean = {run}\n\tsmudge = {run}\n[core]\n\tfsmonitor = {run}\n")
}

#[test]
fn no_program_of_a_source_or_of_a_repository_inside_it_runs() {
    for is_repository in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (source, ran) = (source(&home), home.join("ran"));
        fs::write(source.join(".gitattributes"), "* filter=evil\n").unwrap();
        let person = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        for directory in [Some(source.join("inner")), is_repository.then(|| source.clone())] {
            let Some(directory) = directory else { continue };
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("b.txt"), "b\n").unwrap();
            run_git(&directory, &["init", "--quiet"]);
            run_git(&directory, &["add", "b.txt"]);
            run_git(&directory, &[&person[..], &["commit", "--quiet", "--message", "one"]].concat());
            let config = directory.join(".git/config");
            let text = fs::read_to_string(&config).unwrap() + &evil_settings(&ran);
            fs::write(config, text).unwrap();
            fs::write(directory.join(".git/info/attributes"), "* filter=evil\n").unwrap();
            fs::write(directory.join("b.txt"), "changed\n").unwrap();
        }
        let (workspaces, path) = (workspaces(&home), home.join("task/workspace"));
        let source = WorkspaceSource::Path(source);
        workspaces.prepare(&source, &path).unwrap();
        for _ in 0..2 {
            workspaces.changes(&source, &path, &home.join("patch")).unwrap();
        }
        assert!(!ran.exists(), "a program of the repository ran");
    }
}

#[test]
fn a_copy_has_no_hidden_and_no_secret_file() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let (source, path) = (source(&home), home.join("task/workspace"));
    let hidden = source.clone();
    let workspaces = workspaces(&home)
        .without_files([source.join("kept.txt")].into_iter())
        .without_hidden(FileFilter::new(move |path, _| path == hidden.join("a.txt")));
    workspaces.prepare(&WorkspaceSource::Path(source), &path).unwrap();
    let found = ["a.txt", "kept.txt", "gone.txt"].map(|name| path.join(name).exists());
    assert_eq!(found, [false, false, true]);
}

#[test]
fn a_patch_that_is_too_large_is_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let (source, path) = (source(home.path()), home.path().join("task/workspace"));
    let workspaces = Workspaces { max_patch_bytes: 1000, ..workspaces(home.path()) };
    let (source, patch) = (WorkspaceSource::Path(source), home.path().join("task/changes.patch"));
    workspaces.prepare(&source, &path).unwrap();
    fs::write(path.join("a.txt"), "b\n").unwrap();
    let small = workspaces.changes(&source, &path, &patch).unwrap();
    assert_eq!((small.has_patch, small.omission(), patch.exists()), (true, None, true));
    fs::write(path.join("large.txt"), "line\n".repeat(1000)).unwrap();
    let large = workspaces.changes(&source, &path, &patch).unwrap();
    assert_eq!(large.files, ["a.txt", "large.txt"]);
    assert_eq!((large.has_patch, patch.exists()), (false, false));
    assert!(large.omission().is_some_and(|reason| reason.starts_with("the patch has ")), "{large:?}");
}

#[test]
fn a_copy_ends_when_the_fleet_is_stopped() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let source = source(&home);
    let stop = StopFlag::default();
    stop.request();
    let path = home.join("task/workspace");
    let prepared = workspaces(&home).ended_by(stop).prepare(&WorkspaceSource::Path(source), &path);
    assert!(prepared.is_err(), "{prepared:?}");
    assert!(!path.exists());
}
