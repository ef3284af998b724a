use std::process::Command;

use super::*;
use crate::view::RemoteSettings;

/// A repository of somebody else, and the directory of a worktree.
struct Fixture {
    home: tempfile::TempDir,
}

impl Fixture {
    fn new(arguments: &[&str]) -> Self {
        let fixture = Self { home: tempfile::tempdir().unwrap() };
        fs::create_dir(fixture.path("top")).unwrap();
        fixture.git(&[&["init", "-q", "-b", "main"], arguments].concat());
        fs::write(fixture.path("top/a.txt"), "a\n").unwrap();
        fs::write(fixture.path("top/.gitattributes"), "* filter=evil diff=evil\n").unwrap();
        fixture.git(&["add", "--all"]);
        fixture.git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "m"]);
        fixture
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(path)
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git").args(arguments).current_dir(self.path("top")).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn configure(&self, text: &str) {
        let path = self.path("top/.git/config");
        let config = fs::read_to_string(&path).unwrap();
        fs::write(path, config + text).unwrap();
    }

    fn add(&self, name: &str) -> Result<(), String> {
        let git = Git::from_system(self.path("views"));
        let location = RepositoryLocation::for_work_tree(&self.path("top")).unwrap();
        let view = RepositoryView::open(&git, &location, RemoteSettings::References)?;
        let commit = git.line(view.place(), &["rev-parse", "--verify", "HEAD"])?;
        let branch = format!("ibeam/{name}");
        create_branch(&git, &view, &location, &branch, &commit)?;
        let path = self.path(name);
        NewWorktree { location: &location, path: &path, branch: &branch }.create(&git, &view)
    }

    fn ran(&self) -> bool {
        self.path("ran").exists()
    }
}

#[test]
fn a_worktree_is_one_of_the_repository_in_every_format() {
    for arguments in [&[][..], &["--object-format=sha256"], &["--ref-format=reftable"]] {
        let fixture = Fixture::new(arguments);
        fixture.add("w").unwrap();
        assert_eq!(fs::read_to_string(fixture.path("w/a.txt")).unwrap(), "a\n");
        let listed = fixture.git(&["worktree", "list", "--porcelain"]);
        let path = format!("worktree {}\n", fixture.path("w").display());
        assert!(listed.contains(&path) && listed.contains("branch refs/heads/ibeam/w"), "{listed}");
        let path = fixture.path("w");
        assert_eq!(
            fixture.git(&["-C", path.to_str().unwrap(), "status", "--porcelain"]),
            "",
            "{arguments:?}"
        );
        assert_eq!(fs::read_dir(fixture.path("views")).unwrap().count(), 0, "the view is gone");
    }
}

#[test]
fn no_setting_of_a_repository_runs_a_program() {
    for text in [
        "[include]\n\tpath = evil\n",
        "[includeIf \"gitdir:**\"]\n\tpath = evil\n",
        "[includeIf \"gitdir:**/worktrees/**\"]\n\tpath = evil\n",
        "[includeIf \"onbranch:ibeam/**\"]\n\tpath = evil\n",
        "[includeIf \"hasconfig:remote.*.url:x\"]\n\tpath = evil\n[remote \"o\"]\n\turl = x\n",
    ] {
        let fixture = Fixture::new(&[]);
        let run = format!("touch {}; cat", fixture.path("ran").display());
        fs::create_dir(fixture.path("hooks")).unwrap();
        let hook = fixture.path("hooks/post-checkout");
        fs::write(&hook, format!("#!/bin/sh\n{run}\n")).unwrap();
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let evil = format!(
            "[core]\n\tfsmonitor = {run}\n\thooksPath = {}\n\tsshCommand = {run}\n\
             [filter \"evil\"]\n\tsmudge = {run}\n\tprocess = {run}\n\trequired\n\
             [extensions]\n\tworktreeConfig\n",
            fixture.path("hooks").display()
        );
        for name in ["evil", "config.worktree"] {
            fs::write(fixture.path("top/.git").join(name), &evil).unwrap();
        }
        fixture.configure(text);
        fixture.add("w").unwrap();
        assert!(fixture.path("w/a.txt").is_file() && !fixture.ran(), "{text}");
    }
}

/// A missing object is not fetched: the repository names the program that would fetch it.
#[test]
fn a_missing_object_is_an_error() {
    let fixture = Fixture::new(&[]);
    let run = format!("touch {}; cat", fixture.path("ran").display());
    fixture.configure(&format!(
        "[extensions]\n\tpartialClone = o\n[remote \"o\"]\n\turl = x\n\tpromisor\n\tuploadpack = {run}\n"
    ));
    let hash = fixture.git(&["rev-parse", "HEAD:a.txt"]);
    let (directory, name) = hash.trim().split_at(2);
    fs::remove_file(fixture.path("top/.git/objects").join(directory).join(name)).unwrap();
    fixture.add("w").unwrap_err();
    assert!(!fixture.ran());
}

#[test]
fn settings_about_files_hold_in_the_worktree() {
    let fixture = Fixture::new(&[]);
    fs::create_dir(fixture.path("top/inner")).unwrap();
    fs::write(fixture.path("top/inner/b.txt"), "b\n").unwrap();
    fixture.git(&["add", "--all"]);
    fixture.git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "m"]);
    fixture.git(&["sparse-checkout", "set", "nowhere"]);
    fixture.git(&["config", "core.autocrlf", "true"]);
    fixture.git(&["config", "--worktree", "user.email", "mine"]);
    fixture.add("w").unwrap();
    assert_eq!(fs::read_to_string(fixture.path("w/a.txt")).unwrap(), "a\r\n");
    assert!(!fixture.path("w/inner").exists(), "the checkout is sparse");
    let path = fixture.path("w");
    let own = fixture.git(&["-C", path.to_str().unwrap(), "config", "--worktree", "user.email"]);
    assert_eq!(own, "mine\n");
}

#[test]
fn nothing_is_written_behind_a_link() {
    for (link, moved) in [("refs/heads", true), ("refs/heads/ibeam", false), ("worktrees", false)] {
        let fixture = Fixture::new(&[]);
        let (link, outside) = (fixture.path("top/.git").join(link), fixture.path("outside"));
        match moved {
            true => fs::rename(&link, &outside).unwrap(),
            false => fs::create_dir(&outside).unwrap(),
        }
        let before = fs::read_dir(&outside).unwrap().count();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        fixture.add("w").unwrap_err();
        assert_eq!(fs::read_dir(&outside).unwrap().count(), before, "{}", link.display());
    }
}

#[test]
fn a_branch_that_is_used_and_a_worktree_that_is_locked_are_errors() {
    let fixture = Fixture::new(&[]);
    fixture.git(&["checkout", "-q", "-b", "ibeam/w"]);
    assert!(fixture.add("w").unwrap_err().contains("ibeam/w"));
    fixture.git(&["checkout", "-q", "main"]);
    fixture.git(&["branch", "-q", "-D", "ibeam/w"]);
    fixture.add("w").unwrap();
    // Its directory was deleted: what is registered is replaced, unless it is locked.
    fixture.git(&["worktree", "lock", fixture.path("w").to_str().unwrap()]);
    fs::remove_dir_all(fixture.path("w")).unwrap();
    fixture.git(&["update-ref", "-d", "refs/heads/ibeam/w"]);
    assert!(fixture.add("w").unwrap_err().contains("locked"));
    fs::remove_file(fixture.path("top/.git/worktrees/w/locked")).unwrap();
    fixture.git(&["update-ref", "-d", "refs/heads/ibeam/w"]);
    fixture.add("w").unwrap();
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 2);
}
