use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use serde_json::json;

use crate::beneath;
use crate::fixture::{Fixture, failure, success};

/// Returns the reports of `glob`, `grep` and `ls` on a workspace; each must be fast.
#[track_caller]
fn reports(fixture: &Fixture) -> [String; 3] {
    let began = Instant::now();
    let reports = [
        ("glob", json!({"globPattern": "*.txt"})),
        ("grep", json!({"pattern": "hello", "outputMode": "files_with_matches"})),
        ("ls", json!({})),
    ]
    .map(|(tool, arguments)| success(fixture.call(tool, arguments)).1);
    // Two seconds of processor time in a debug build; a workspace without limits takes hours. The machine may be busy.
    assert!(began.elapsed() < Duration::from_secs(200), "{:?}", began.elapsed());
    reports
}

fn fixture() -> Fixture {
    let fixture = Fixture::with("seen.txt", "hello\n");
    fixture.put("sub/seen.txt", "hello\n");
    fixture.put("sub/dropped.txt", "hello\n");
    fixture
}

/// Checks that with this ignore file everything is found, and that the skipped rules are reported.
#[track_caller]
fn does_not_count(name: &str, make: impl Fn(&Fixture, &str)) {
    let fixture = fixture();
    make(&fixture, name);
    for text in reports(&fixture) {
        assert!(text.contains("seen.txt") && text.contains("dropped.txt"), "{name}: {text}");
        assert!(text.contains("do not count"), "{name}: {text}");
    }
}

const NAMES: [&str; 4] = [".gitignore", ".ignore", "sub/.gitignore", "sub/.ignore"];

#[test]
fn a_fifo_as_ignore_file_does_not_block() {
    for name in NAMES {
        does_not_count(name, |fixture, name| fixture.fifo(name));
    }
    does_not_count(".git/info/exclude", |fixture, name| {
        fixture.put(".git/info/other", "");
        fixture.fifo(name);
    });
}

#[test]
fn a_device_as_ignore_file_is_not_read() {
    for name in NAMES {
        does_not_count(name, |fixture, name| fixture.link("/dev/zero", name));
    }
}

#[test]
fn an_ignore_file_without_end_is_not_read() {
    does_not_count(".gitignore", |fixture, name| {
        fixture.put(name, "dropped.txt\n");
        std::fs::File::options().write(true).open(fixture.path(name)).unwrap().set_len(10 << 30).unwrap();
    });
    does_not_count(".gitignore", |fixture, name| fixture.put(name, "a".repeat(300 << 10)));
}

#[test]
fn rules_that_nest_or_repeat_without_limit_do_not_count() {
    for rule in [
        format!("{}a{}", "{".repeat(100_000), "}".repeat(100_000)),
        format!("{}a{}", "{".repeat(300), "}".repeat(300)),
        "{a,".repeat(10_000),
        "[".repeat(100_000),
        "**/".repeat(10_000),
        format!("{{{}}}", "a,".repeat(60_000)),
    ] {
        for name in NAMES {
            does_not_count(name, |fixture, name| fixture.put(name, &rule));
        }
    }
    does_not_count(".gitignore", |fixture, name| fixture.put(name, "x\n".repeat(6000)));
}

#[test]
fn rules_apply_next_to_one_that_does_not() {
    let fixture = fixture();
    fixture.put(".gitignore", format!("{}\ndropped.*\n", "{".repeat(300)));
    let [glob, ..] = reports(&fixture);
    assert!(!glob.contains("dropped") && glob.contains("0 ignore files and 1 rules"), "{glob}");
}

#[test]
fn the_innermost_rule_decides_and_ignore_comes_before_gitignore() {
    #[track_caller]
    fn check(files: &[(&str, &str)], is_found: bool) {
        let fixture = fixture();
        files.iter().for_each(|(name, text)| fixture.put(name, text));
        for text in reports(&fixture) {
            assert_eq!(text.contains("dropped.txt"), is_found, "{files:?}: {text}");
            assert!(text.contains("seen.txt"), "{files:?}: {text}");
        }
    }
    check(&[], true);
    check(&[(".gitignore", "dropped.txt")], false);
    check(&[(".gitignore", "/dropped.txt")], true);
    check(&[(".gitignore", "sub/dropped.txt\r\n")], false);
    check(&[(".gitignore", "\u{feff}dropped.txt")], false);
    check(&[(".gitignore", "# dropped.txt")], true);
    check(&[(".gitignore", "dropped.txt"), ("sub/.gitignore", "!dropped.txt")], true);
    check(&[(".gitignore", "dropped.txt"), (".ignore", "!dropped.txt")], true);
    check(&[(".ignore", "dropped.txt"), ("sub/.gitignore", "!dropped.txt")], false);
    check(&[(".git/info/exclude", "dropped.txt")], false);
    check(&[(".git/info/exclude", "dropped.txt"), (".gitignore", "!dropped.txt")], true);
    check(&[(".gitignore", "dropped.txt/")], true);
    check(&[(".gitignore", "a{b\n[z-a]\ndropped.txt")], false);
}

#[test]
fn rules_of_directories_above_the_start_count() {
    let fixture = fixture();
    fixture.put(".gitignore", "dropped.txt");
    let (_, text) = success(fixture.call("glob", json!({"globPattern": "*", "targetDirectory": "sub"})));
    assert_eq!(text, "sub/seen.txt\n");
    std::fs::write(fixture.outside(".ignore"), "seen.txt").unwrap();
    let (_, text) = success(fixture.call("glob", json!({"globPattern": "*.txt"})));
    assert!(text.starts_with("(no file matches)\n"), "{text}");
}

#[test]
fn globs_of_a_call_are_limited() {
    let fixture = fixture();
    let bomb = "{".repeat(300);
    for (tool, arguments) in [
        ("glob", json!({"globPattern": bomb})),
        ("grep", json!({"pattern": "x", "glob": bomb})),
        ("ls", json!({"ignore": [bomb]})),
        ("glob", json!({"globPattern": "**/".repeat(10_000)})),
    ] {
        let (_, text) = failure(fixture.call(tool, arguments));
        assert!(text.contains("too complex") && text.contains("simplify"), "{tool}: {text}");
        assert!(text.len() < 1000, "{tool}: {} bytes", text.len());
    }
    let (_, text) = failure(fixture.call("ls", json!({"ignore": vec!["x"; 1000]})));
    assert!(text.contains("100 is the limit"), "{text}");
}

#[test]
fn directories_nested_as_deep_as_paths_go_are_walked() {
    let fixture = fixture();
    // Beneath descriptors the tree gets deeper than any single path may be long.
    let mut directory = OwnedFd::from(std::fs::File::open(fixture.root()).unwrap());
    for _ in 0..3000 {
        rustix::fs::mkdirat(&directory, "d", Mode::RWXU).unwrap();
        directory = beneath::open_directory(directory.as_fd(), Path::new("d")).unwrap();
    }
    for text in reports(&fixture) {
        assert!(text.contains("seen.txt"), "{text}");
    }
    // The temporary directory is removed by full paths, which would fail.
    assert!(std::process::Command::new("rm").arg("-rf").arg(fixture.path("d")).status().unwrap().success());
}

#[test]
fn the_rules_of_many_directories_together_are_limited() {
    let fixture = fixture();
    let rules: String = (0..300).map(|n| format!("{}x{n}\n", "{a,b}".repeat(80))).collect();
    for directory in 0..12 {
        fixture.put(&format!("many/{directory}/.gitignore"), &rules);
    }
    fixture.put("many/11/dropped.txt", "hello\n");
    for text in reports(&fixture) {
        assert!(text.contains("seen.txt") && text.contains("do not count"), "{text}");
    }
    // Some rules more than a kilobyte each: twelve files of them would take half a gigabyte.
    fixture.put("many/.gitignore", "dropped.txt\n");
    for text in reports(&fixture) {
        assert!(!text.contains("many/11/dropped.txt"), "the rules that come first count: {text}");
    }
}

#[test]
fn the_ignore_file_of_the_user_is_the_one_that_git_uses() {
    let home = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        std::fs::create_dir_all(home.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(home.path().join(name), text).unwrap();
    };
    let ignores = |name: &str| {
        let rules = super::IgnoreRules::for_user(Some(home.path()), &mut super::RuleCounts::default());
        rules.is_ignored(&Path::new("/w/deep").join(name), false)
    };
    assert!(!ignores("a.swp"));
    put(".config/git/ignore", "*.swp\n");
    assert!(ignores("a.swp") && !ignores("a.rs"));
    put(".gitconfig", "[core]\n\texcludesFile = ~/mine\n");
    put("mine", "*.bak\n");
    assert!(ignores("a.bak") && !ignores("a.swp"));
}
