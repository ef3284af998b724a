use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use super::*;
use crate::checkpoint::object_id::HashAlgorithm;
use crate::checkpoint::repository::GitSetup;
use crate::checkpoint::restore::tests::{Fixture, block_on};
use crate::programs::Programs;

const FORMATS: [&str; 2] = ["sha1", "sha256"];

/// Returns the output of a git command in the git directory of checkpoints.
fn git(repository: &Repository, index: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = repository.command(GitSetup::Own(Some(index)), arguments).unwrap();
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output.stdout
}

fn snapshot(repository: &Repository, ignored: IgnoredFiles) -> Snapshot {
    block_on(repository.snapshot(ignored)).unwrap()
}

/// Returns a fixture whose repository has this hash function.
fn fixture(format: &str) -> Fixture {
    let fixture = Fixture::new();
    fs::remove_dir_all(fixture.path(".git")).unwrap();
    fixture.git(&["init", "-q", &format!("--object-format={format}")]);
    fixture.git(&["add", "--force", "tracked.txt", "forced.log"]);
    fixture
}

/// Puts files whose names and kinds git treats in different ways.
fn put_files(fixture: &Fixture) {
    let names = [
        "a/b",
        "a-b",
        "a.b",
        "a0",
        "a/b-c/d",
        "a/b.c",
        "a b/new\nline",
        "\u{e4}\u{1f600}/x",
        "back\\slash",
        "git~1",
        "git~10",
        "GIT~1 /x",
        ".git./x",
        ".Git/x",
        ".gitx",
        ".gitmodules",
        "...",
        "d/.gitkeep",
        "d/git~1:y",
    ];
    for name in names {
        fixture.put(name, format!("# {name}\n"));
    }
    fixture.put(&format!("long/{}", "x".repeat(250)), "long");
    fixture.put(&format!("{}x", format!("{}/", "y".repeat(200)).repeat(8)), "deep");
    fixture.put("empty", "");
    fixture.put("large", vec![7; 200_001]);
    fixture.put("block", vec![1; 65_536]);
    fs::set_permissions(fixture.path("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
    for (target, link) in [("a/b", "link"), ("nowhere", "d/link"), ("x", "d/.gitmodules"), ("a", "to-a")] {
        symlink(target, fixture.path(link)).unwrap();
    }
}

#[test]
fn trees_and_the_index_are_those_that_git_writes() {
    for format in FORMATS {
        let fixture = fixture(format);
        put_files(&fixture);
        let repository = fixture.repository();
        let tree = snapshot(&repository, IgnoredFiles::Drop).tree;

        let index = repository.own_dir().join("git-index");
        let mut listed = git(&repository, &index, &["ls-files", "-z", "-o", "--exclude-standard"], b"");
        listed.extend(b"forced.log\0");
        let files: Vec<u8> = paths(&listed)
            .map(|path| path.as_os_str().as_bytes())
            .filter(|path| !path.ends_with(b"/"))
            .flat_map(|path| [path, b"\0"].concat())
            .collect();
        git(&repository, &index, &["update-index", "--add", "--replace", "-z", "--stdin"], &files);
        let expect = git(&repository, &index, &["write-tree"], b"");
        assert_eq!(tree, String::from_utf8_lossy(&expect).trim(), "{format}");

        let list = |index: &Path| git(&repository, index, &["ls-files", "-s", "-z"], b"");
        let own = repository.index();
        assert_eq!(list(&own), list(&index), "{format}");
        assert_eq!(git(&repository, &own, &["ls-files", "-m", "-d"], b""), b"", "{format}");
        let stored = String::from_utf8(git(&repository, &own, &["fsck", "--strict"], b"")).unwrap();
        assert!(stored.lines().all(|line| line.starts_with("dangling ")), "{format}: {stored}");
    }
}

#[test]
fn the_next_snapshot_has_what_changed_and_reads_nothing_else() {
    let fixture = fixture("sha1");
    put_files(&fixture);
    let repository = fixture.repository();
    // The clock for the times of files may be coarse.
    std::thread::sleep(Duration::from_millis(50));
    let first = snapshot(&repository, IgnoredFiles::Drop);
    let inode = || repository.index().metadata().unwrap().ino();
    let before = inode();
    assert_eq!(snapshot(&repository, IgnoredFiles::Drop), first);
    assert_eq!(inode(), before, "the index was written although nothing has changed");

    fs::remove_dir_all(fixture.path("a")).unwrap();
    fixture.put("a", "a file in the place of a directory");
    fs::remove_file(fixture.path("a0")).unwrap();
    fixture.put("a0/x", "a directory in the place of a file");
    fixture.put("a-b", "changed");
    fs::set_permissions(fixture.path("a.b"), fs::Permissions::from_mode(0o755)).unwrap();
    let second = snapshot(&repository, IgnoredFiles::Keep);
    fs::remove_file(repository.index()).unwrap();
    assert_eq!(snapshot(&repository, IgnoredFiles::Drop), second, "all files were read");
    let compare = ["diff-tree", "-r", "--name-status", &first.tree, &second.tree];
    let changed = String::from_utf8(git(&repository, &repository.index(), &compare, b"")).unwrap();
    let expect = "A\ta\nM\ta-b\nM\ta.b\nD\ta/b\nD\ta/b-c/d\nD\ta/b.c\nD\ta0\nA\ta0/x\n";
    assert_eq!(changed, expect);
}

#[test]
fn a_file_that_may_have_changed_after_the_index_was_written_is_read_again() {
    let fixture = fixture("sha1");
    let repository = fixture.repository();
    let expect = snapshot(&repository, IgnoredFiles::Drop);
    let own = repository.index();
    let content = fs::read(&own).unwrap();
    let wrong = HashAlgorithm::Sha1.object("blob", b"another content");
    let entries = index_file::parse(&content, HashAlgorithm::Sha1).unwrap();
    let changed = entries.iter().map(|entry| {
        let id = if entry.path == b"a.c" { wrong } else { entry.id };
        (entry.path, entry.stat, entry.mode.unwrap(), id)
    });
    let changed = index_file::serialize(changed, HashAlgorithm::Sha1);
    let modified = fixture.path("a.c").metadata().unwrap().modified().unwrap();
    let has_been_read = |written: std::time::SystemTime| {
        fs::write(&own, &changed).unwrap();
        File::options().write(true).open(&own).unwrap().set_modified(written).unwrap();
        let index = repository.own_dir().join("git-index");
        fs::write(&index, &changed).unwrap();
        git(&repository, &index, &["hash-object", "-w", "--stdin"], b"another content");
        git(&repository, &index, &["write-tree"], b"");
        snapshot(&repository, IgnoredFiles::Drop) == expect
    };
    assert!(has_been_read(modified));
    assert!(!has_been_read(modified + Duration::from_secs(1)), "the index has no effect");
}

#[test]
fn objects_of_the_repository_are_not_stored_again() {
    for format in FORMATS {
        let fixture = fixture(format);
        // A repository inside, without a commit, cannot be added.
        fs::remove_dir_all(fixture.path("sub")).unwrap();
        fixture.put("inner/deep/file", "file");
        fixture.git(&["add", "."]);
        fixture.git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "m"]);
        let outer = fixture.path("../outer");
        for step in ["loose", "packed", "borrowed"] {
            match step {
                "packed" => fixture.git(&["repack", "-a", "-d", "-q"]),
                // Another repository has the objects, and this one borrows them.
                "borrowed" => {
                    fs::rename(fixture.path(".git/objects"), &outer).unwrap();
                    fs::create_dir_all(fixture.path(".git/objects/info")).unwrap();
                    fixture.put(".git/objects/info/alternates", "../../../outer\n");
                }
                _ => {}
            }
            let repository = fixture.repository();
            let _ = fs::remove_dir_all(repository.own_dir());
            let snapshot = snapshot(&repository, IgnoredFiles::Drop);
            let list = ["ls-tree", "-r", "-t", "--format=%(objectname)", "HEAD"];
            let output = Command::new("git").args(list).current_dir(fixture.root()).output().unwrap();
            let known = String::from_utf8(output.stdout).unwrap();
            let objects = repository.own_dir().join("objects");
            let stored = || {
                let directories = fs::read_dir(&objects).unwrap().flatten();
                directories.filter(|entry| entry.file_name().len() == 2).flat_map(|directory| {
                    let files: Vec<_> = fs::read_dir(directory.path()).unwrap().flatten().collect();
                    files.into_iter().map(move |file| {
                        format!("{}{}", directory.file_name().display(), file.file_name().display())
                    })
                })
            };
            let again: Vec<String> = stored().filter(|name| known.contains(name.as_str())).collect();
            assert!(again.is_empty(), "{format}, {step}: {again:?}");
            assert!(stored().any(|name| name == snapshot.tree), "{format}, {step}");
        }
    }
}

#[test]
fn a_snapshot_starts_git_once() {
    let fixture = Fixture::new();
    let log = fixture.path("../log");
    let programs = fixture.path("../programs");
    fs::create_dir(&programs).unwrap();
    let found = Programs::new(std::env::var_os("PATH").as_deref(), Vec::new()).find("git").unwrap();
    let script = format!("#!/bin/sh\necho x >> {}\nexec {} \"$@\"\n", log.display(), found.display());
    fs::write(programs.join("git"), script).unwrap();
    fs::set_permissions(programs.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut repository = fixture.repository();
    repository.programs = Programs::new(Some(programs.as_os_str()), Vec::new());
    for (count, ignored) in [IgnoredFiles::Drop, IgnoredFiles::Keep].into_iter().enumerate() {
        fixture.put("new", format!("{count}"));
        snapshot(&repository, ignored);
        assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), count + 1);
    }
}

#[test]
fn files_of_a_repository_that_appears_around_them_stay_saved() {
    let fixture = Fixture::new();
    fixture.put("inner/deep/file", "saved before");
    let repository = fixture.repository();
    let first = snapshot(&repository, IgnoredFiles::Drop);
    Command::new("git").args(["init", "-q"]).current_dir(fixture.path("inner")).status().unwrap();
    assert_eq!(snapshot(&repository, IgnoredFiles::Drop), first);
}
