//! The record of what commands have changed, with namespaces and with Landlock alone.
//!
//! Each test runs itself again where the system refuses namespaces: there the limits of a user namespace are set to
//! zero. Without Python or a C compiler, some are skipped with a message.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use ibeam_sandbox::{ChangeRecord, Confinement, DEFAULT_PROCESS_LIMIT, FileId, Launcher, Tier};
use ibeam_testkit::Workspace;

use crate::command::{finish, is_installed, start_bash};
use crate::environment::{again, environment, without_namespaces};

/// The environment in which the system refuses namespaces.
const NO_NAMESPACES: &str = "without namespaces";

struct Fixture {
    launcher: Launcher,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        let workspace =
            Workspace::new().file("old/inner/file", "text\n").file("sub/x", "").file("file", "1\n");
        let confinement =
            Confinement { writable: vec![workspace.path().to_owned()], ..Confinement::default() };
        let launcher = Launcher::confined(DEFAULT_PROCESS_LIMIT, confinement);
        let layers = launcher.start().unwrap();
        let expected = if environment().is_some() { Tier::Landlock } else { Tier::Namespaces };
        assert_eq!(layers.tier, expected, "{layers:?}");
        Self { launcher, workspace }
    }

    fn record(&self) -> ChangeRecord {
        self.launcher.change_record().unwrap()
    }

    /// Runs a script until it ends. Returns its output and whether it was successful.
    #[track_caller]
    fn run(&self, script: &str) -> (String, bool) {
        let path = self.workspace.path();
        let started =
            start_bash(|launch| self.launcher.spawn(launch), path, path, &format!("set -e; {script}"));
        let (output, status) = finish(started, script);
        (output, status.success())
    }

    fn id(&self, path: &str) -> FileId {
        let found = self.workspace.path().join(path).symlink_metadata().unwrap();
        (found.dev(), found.ino())
    }

    fn has_name(&self, path: &str) -> bool {
        let path = Path::new(path);
        let above = path.parent().unwrap().to_str().unwrap();
        self.record().has_name(self.id(above), path.file_name().unwrap().as_encoded_bytes())
    }

    /// Checks that a command is recorded as the author of a path, and of no other name there.
    #[track_caller]
    fn records(&self, script: &str, path: &str) {
        let (output, is_success) = self.run(script);
        assert!(is_success, "{script}: {output}");
        let above = Path::new(path).parent().unwrap().join("another");
        assert!(self.has_name(path), "`{script}` did not touch {path}");
        assert!(!self.has_name(above.to_str().unwrap()), "`{script}` touched everything");
        assert!(self.record().is_complete());
        self.record().clear();
        assert!(!self.has_name(path));
    }
}

/// Runs a test here, and in a process where the system refuses namespaces.
fn everywhere(test: &str, body: fn()) {
    body();
    if environment().is_none() {
        again(test, NO_NAMESPACES, &without_namespaces());
    }
}

#[test]
fn each_call_that_changes_a_name_is_recorded() {
    everywhere(test_name!(each_call_that_changes_a_name_is_recorded), || {
        let fixture = Fixture::new();
        for (script, path) in [
            ("echo x > new", "new"),
            ("echo x >> $PWD/new", "new"),
            ("mkdir made", "made"),
            ("mkdir -p a/b/c/", "a/b/c"),
            ("mkfifo pipe", "pipe"),
            ("ln -s nowhere link", "link"),
            ("ln file hard", "hard"),
            ("cp file copy", "copy"),
            ("mv copy moved", "moved"),
            ("mv moved sub/moved", "moved"),
            ("mv sub/moved moved", "moved"),
            ("rm moved", "moved"),
            ("rmdir made", "made"),
            ("chmod 700 file", "file"),
            ("truncate -s 0 file", "file"),
            ("cd sub; echo x > ../up", "up"),
            ("cd sub; (cd ..; mkdir -p other; cd other; : > deep)", "other/deep"),
            ("echo x > sub/../sub/./y", "sub/y"),
            // Through links, at the end and on the way.
            ("ln -s sub/dangling d; echo x > d", "sub/dangling"),
            ("ln -s $PWD/sub to; echo x > to/through", "sub/through"),
            ("ln -s to again; echo x > again/twice", "sub/twice"),
            // Through /proc, which looks different to each process.
            ("echo x > /proc/self/cwd/self", "self"),
            ("cd sub; echo x > /proc/thread-self/cwd/../thread", "thread"),
            ("ln -s /proc/self/cwd here; echo x > here/linked", "linked"),
            ("exec 5< sub; echo x > /proc/self/fd/5/opened", "sub/opened"),
            ("exec 5< sub; echo x > /dev/fd/5/device", "sub/device"),
            ("echo x > /proc/$$/root$PWD/root", "root"),
            // Another process, also one that outlives the first.
            ("bash -c 'echo x > child'", "child"),
            ("(sleep 0.1; echo x > late) & wait", "late"),
            ("setsid bash -c 'sleep 0.2; echo x > daemon' & disown", "daemon"),
        ] {
            fixture.records(script, path);
        }
        let (output, _) = fixture.run("cat file < sub/x; ls -la . sub; find . > /dev/null; test -w file");
        assert!(!fixture.has_name("file") && !fixture.has_name("sub/x"), "{output}");
    });
}

#[test]
fn calls_with_descriptors_are_recorded() {
    if !is_installed("python3") {
        return;
    }
    everywhere(test_name!(calls_with_descriptors_are_recorded), || {
        let fixture = Fixture::new();
        let python = |code: &str| {
            format!("python3 -Ic 'import os, threading\nd = os.open(\"sub\", os.O_RDONLY)\n{code}'")
        };
        for (code, path) in [
            ("os.close(os.open(\"a\", os.O_CREAT | os.O_WRONLY, dir_fd=d))", "sub/a"),
            ("os.mkdir(\"b\", dir_fd=d)", "sub/b"),
            ("os.symlink(\"x\", \"c\", dir_fd=d)", "sub/c"),
            ("os.link(\"x\", \"e\", src_dir_fd=d, dst_dir_fd=d)", "sub/e"),
            ("os.rename(\"e\", \"f\", src_dir_fd=d, dst_dir_fd=d)", "sub/f"),
            ("os.unlink(\"f\", dir_fd=d)", "sub/f"),
            ("os.mkfifo(\"g\", dir_fd=d)", "sub/g"),
            ("os.fchdir(d); open(\"h\", \"w\")", "sub/h"),
            ("t = threading.Thread(target=lambda: open(\"sub/i\", \"w\")); t.start(); t.join()", "sub/i"),
            (
                "f = os.open(\".\", os.O_TMPFILE | os.O_RDWR, dir_fd=d)\n\
                 os.link(f\"/proc/self/fd/{f}\", \"j\", dst_dir_fd=d, follow_symlinks=True)",
                "sub/j",
            ),
        ] {
            fixture.records(&python(code), path);
        }
        let sub = fixture.id("sub/x");
        assert!(fixture.run(&python("os.fchmod(os.open(\"x\", os.O_RDONLY, dir_fd=d), 0o750)")).1);
        assert!(fixture.record().has_file(sub));
        fixture.record().clear();
        // Neither says anything about what is in the directory, or changes what a file does.
        assert!(fixture.run("chmod 755 sub; chmod 600 sub/x; touch -cd yesterday sub; chmod 644 sub/x").1);
        assert!(!fixture.record().has_file(fixture.id("sub")) && !fixture.record().has_file(sub));
        fixture.record().clear();
        // Opened for reading, and again for writing through the descriptor.
        assert!(fixture.run("exec 5< sub/x; echo x > /proc/self/fd/5").1);
        assert!(fixture.record().has_file(sub));
        fixture.record().clear();
        let bound = fixture.run(&python(
            "import socket\ns = socket.socket(socket.AF_UNIX); s.bind(\"sub/socket\"); os.chdir(\"sub\")\n\
             s = socket.socket(socket.AF_UNIX); s.bind(\"second\")",
        ));
        // Landlock alone refuses sockets.
        assert!(
            !bound.1 || (fixture.has_name("sub/socket") && fixture.has_name("sub/second")),
            "{}",
            bound.0
        );
    });
}

#[test]
fn changes_of_programs_that_hide_their_memory_are_recorded() {
    if !is_installed("python3") {
        return;
    }
    everywhere(test_name!(changes_of_programs_that_hide_their_memory_are_recorded), || {
        let fixture = Fixture::new();
        let hide = "import ctypes; assert ctypes.CDLL(None).prctl(4, 0) == 0";
        fixture.records(&format!("python3 -Ic '{hide}; open(\"hidden\", \"w\")'"), "hidden");
    });
}

#[test]
fn directories_that_replace_one_another_are_distinguished() {
    everywhere(test_name!(directories_that_replace_one_another_are_distinguished), || {
        let fixture = Fixture::new();
        // One process after another with the same working directory, which was replaced.
        fixture.records("mkdir w; cd w; : > a; rm a; cd ..; rmdir w; mkdir w; cd w; : > b", "w/b");
        fixture.records("cd sub; : > c; cd ..; mv sub was; mkdir sub; cd sub; : > d; : > ../was/e", "sub/d");
        fixture.records("cd sub; for n in 1 2 3; do : > f; cd ../old; : > g; cd ../sub; done", "old/g");
    });
}

#[test]
fn what_a_renamed_directory_brings_is_recorded_with_it() {
    everywhere(test_name!(what_a_renamed_directory_brings_is_recorded_with_it), || {
        let fixture = Fixture::new();
        let moved = fixture.id("old");
        fixture.records("mv old renamed", "renamed");
        assert!(fixture.run("mv renamed old").1 && fixture.record().has_file(moved));
        assert!(!fixture.record().has_file(fixture.id("old/inner")));
    });
}

#[test]
fn changes_of_others_are_not_recorded() {
    everywhere(test_name!(changes_of_others_are_not_recorded), || {
        let fixture = Fixture::new();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 0..50 {
                    std::fs::write(fixture.workspace.path().join(format!("ide-{number}")), "x").unwrap();
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
            assert!(fixture.run("for n in {1..50}; do echo x > own-$n; done; sleep 0.1").1);
            writer.join().unwrap();
        });
        for number in 1..50 {
            assert!(fixture.has_name(&format!("own-{number}")), "{number}");
            assert!(!fixture.has_name(&format!("ide-{number}")), "{number}");
        }
        fixture.record().clear();
        assert!(fixture.run("sleep 0.05; cat file").1);
        assert!(fixture.record().is_empty());
    });
}

#[test]
fn failed_calls_keep_their_errors() {
    everywhere(test_name!(failed_calls_keep_their_errors), || {
        let fixture = Fixture::new();
        for (script, error) in [
            ("echo x > none/x", "No such file or directory"),
            ("echo x > file/x", "Not a directory"),
            ("ln -s loop loop; echo x > loop", "Too many levels"),
            ("ln -s l2/x l1; ln -s l1/x l2; echo x > l1/x", "Too many levels"),
            ("mkdir sub", "File exists"),
            ("rmdir old", "not empty"),
            ("rm none", "No such file"),
            ("mkdir ''", "No such file"),
            ("echo x > $(printf 'a%.0s' {1..300})", "File name too long"),
            ("echo x > $(printf 'a/%.0s' {1..3000})", "File name too long"),
        ] {
            let (output, is_success) = fixture.run(script);
            assert!(!is_success && output.contains(error), "{script}: {output}");
        }
    });
}

#[test]
fn many_processes_and_killed_callers_do_not_block_a_command() {
    everywhere(test_name!(many_processes_and_killed_callers_do_not_block_a_command), || {
        let fixture = Fixture::new();
        let script = "for n in {1..16}; do (while :; do : > sub/$n; rm -f sub/$n; done) & done; sleep 0.3; \
                      kill -9 $(jobs -p); wait; echo x > end";
        fixture.records(script, "end");
        // A command that ends its own helpers only makes its calls fail.
        let _ = fixture.run("echo x > a; for p in /proc/[0-9]*; do grep -qs ibeam-calls $p/comm && kill -9 ${p#/proc/}; done; \
                             echo x > b; sleep 0.1; echo x > c; true");
        assert!(!fixture.workspace.path().join("c").exists() || fixture.has_name("c"));
        fixture.record().clear();
        fixture.records("echo x > after", "after");
    });
}
