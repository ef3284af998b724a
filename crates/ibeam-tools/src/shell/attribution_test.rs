//! Changes of protected places while commands run, by the command and by others, in each tier of the sandbox.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ibeam_protocol::{Notice, ToolFailure};
use serde_json::json;

use super::tests::{background, none_left};
use crate::fixture::{Fixture, failure, runtime, success};

/// The variable that is set when a test runs itself where the system refuses namespaces.
const WITHOUT_NAMESPACES: &str = "IBEAM_TEST_LANDLOCK";
/// A script that disables namespaces and drops all capabilities.
const NO_NAMESPACES: &str = "set -e; for limit in /proc/sys/user/max_*_namespaces; do echo 0 >$limit; done; \
    exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all \"$@\"";

/// Changes by the user, an editor or another run while a command runs, each with a test that it was not undone.
const FOREIGN_CHANGES: [(&str, &str); 11] = [
    ("git remote add origin https://example.com/x", "git remote | grep -q origin"),
    ("git config user.name other", "grep -q other .git/config"),
    ("git checkout -q other", "grep -q other .envrc && test -e .husky/pre-commit"),
    ("mkdir .idea; echo '<x/>' > .idea/workspace.xml", "test -s .idea/workspace.xml"),
    ("echo '{}' > .vscode/new.json", "test -e .vscode/new.json"),
    ("echo '{\"a\":1}' > t; mv t .vscode/settings.json", "grep -q a .vscode/settings.json"),
    ("mkdir .husky; echo x > .husky/pre-push", "test -e .husky/pre-push"),
    ("rm .envrc", "test ! -e .envrc"),
    ("echo edited > .envrc", "grep -q edited .envrc"),
    ("rm -r .vscode", "test ! -e .vscode"),
    ("echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", "test -x .git/hooks/pre-commit"),
];

/// Runs a test here, and in a process where the system refuses namespaces.
fn everywhere(name: &str, test: fn()) {
    test();
    #[expect(clippy::disallowed_methods, reason = "the only word between two processes of a test")]
    if std::env::var_os(WITHOUT_NAMESPACES).is_some() {
        return;
    }
    let wrapper = ["--user", "--map-current-user", "--keep-caps", "bash", "-c", NO_NAMESPACES, "bash"];
    let made = Command::new("unshare").args(wrapper).arg("true").status();
    if !made.is_ok_and(|status| status.success()) {
        return eprintln!("SKIP: {name} without namespaces, which is not available here");
    }
    let again = Command::new("unshare")
        .args(wrapper)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("shell::attribution_test::{name}"), "--nocapture"])
        .env(WITHOUT_NAMESPACES, "1")
        .current_dir("/")
        .output()
        .unwrap();
    let text = [again.stdout, again.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(again.status.success() && text.contains("1 passed"), "with Landlock: {text}");
}

#[track_caller]
fn bash(directory: &Path, command: &str) -> bool {
    let command = format!("set -e; {command}");
    Command::new("bash")
        .args(["-c", &command])
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status()
        .unwrap()
        .success()
}

fn repository(root: &Path) {
    let commit = "git -c user.name=a -c user.email=a@b.c commit -q -a -m";
    assert!(bash(
        root,
        &format!(
            "git init -q -b main; mkdir .vscode .husky; echo '{{}}' > .vscode/settings.json; echo other > .envrc; \
             echo x > .husky/pre-commit; git add .; git checkout -q -b other; {commit} other; \
             git checkout -q -b main; git rm -q -r .husky; echo main > .envrc; {commit} main"
        )
    ));
}

/// Runs `command`, and `others` while it runs. Returns the outcome.
fn run_with_others(fixture: &Fixture, command: &str, others: &str) -> ibeam_protocol::ToolOutcome {
    let root = fixture.root();
    let command = format!("touch started; while [ ! -e go ]; do sleep 0.01; done; {command}");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !root.join("started").exists() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
            assert!(bash(&root, others), "{others}");
            std::fs::write(root.join("go"), "").unwrap();
        });
        fixture.call("shell", json!({"command": command}))
    })
}

#[test]
fn changes_of_others_are_left_alone() {
    everywhere("changes_of_others_are_left_alone", || {
        for (others, expected) in FOREIGN_CHANGES {
            let fixture = Fixture::confined(&[], repository);
            success(run_with_others(
                &fixture,
                "echo x > own; mkdir -p sub/dir; git status --short > status",
                others,
            ));
            assert!(bash(&fixture.root(), expected), "`{others}` was undone");
            // The state that the command left is that of the next one.
            success(fixture.call("shell", json!({"command": "echo y > own"})));
            assert!(bash(&fixture.root(), expected), "`{others}` was undone later");
            assert!(!fixture.outside("quarantine").exists(), "{others}");
        }
    });
}

#[test]
fn only_the_part_of_a_command_is_undone_while_an_editor_writes() {
    everywhere("only_the_part_of_a_command_is_undone_while_an_editor_writes", || {
        let fixture = Fixture::confined(&[], repository);
        let outcome = run_with_others(
            &fixture,
            "mkdir .cursor; echo '{}' > .cursor/mcp.json; echo evil > .idea/evil.xml",
            "mkdir .idea; echo '<x/>' > .idea/workspace.xml",
        );
        let ToolFailure::PermissionDenied { error, .. } = failure(outcome).0 else { panic!("not undone") };
        assert!(error.contains("/.cursor` was created") && error.contains("evil.xml"), "{error}");
        assert!(bash(&fixture.root(), "test -e .idea/workspace.xml -a ! -e .idea/evil.xml -a ! -e .cursor"));
        let notices = fixture.notices.take();
        let [Notice::ProtectedPathsRestored { paths }, Notice::ProtectedPathsAppeared { paths: foreign }] =
            notices.as_slice()
        else {
            panic!("{notices:?}")
        };
        assert!(paths.contains("/.cursor") && !foreign.contains("evil") && foreign.ends_with("/.idea"));
    });
}

#[test]
fn a_failed_attempt_of_a_command_does_not_make_it_the_author() {
    let fixture = Fixture::confined(&[], repository);
    // With Landlock alone there are no mounts, so that the attempt would succeed.
    let attempt =
        "echo evil >> .envrc; git config a.b c; rm -f .vscode/settings.json; test ! -w .envrc || exit 0";
    let others = "echo edited > .envrc; git config user.name other; echo '{}' > .vscode/new.json";
    let _ = run_with_others(&fixture, attempt, others);
    let kept = "grep -q edited .envrc && grep -q other .git/config && test -e .vscode/new.json";
    assert!(bash(&fixture.root(), kept));
    assert!(!fixture.outside("quarantine").exists());
}

/// Ways of a command to make a protected name, each in a new workspace with a directory `data`.
const COMMAND_CHANGES: [&str; 19] = [
    "mkdir .idea; echo x > .idea/x",
    "echo x > .mcp.json",
    // Through a dangling link, or a link to the directory.
    "ln -s .mcp.json l; echo x > l",
    "ln -s . here; echo x > here/.mcp.json",
    // A directory that was prepared under another name, with a name in it that is protected only there.
    "mkdir c; echo x > c/settings.json; mv c .idea",
    "mkdir p; mkdir p/.idea; echo x > p/.idea/x; mv p q",
    "mkdir r; mv r data/r; cd data/r; mkdir .idea",
    // A hard link.
    "echo x > h; ln h .mcp.json",
    // A relative path, with the working directory in the protected directory.
    "mkdir .idea; cd .idea; echo x > x",
    "cd data; echo x > ../.mcp.json",
    // Another process, also one that outlives the command's shell.
    "bash -c 'mkdir .idea'",
    "(sleep 0.1; mkdir .idea) & wait",
    "setsid bash -c 'mkdir .idea' ; true",
    // Links that only the caller can resolve.
    "mkdir /proc/self/cwd/.idea",
    "ln -s /proc/self/cwd me; echo x > me/.mcp.json",
    "exec 5< .; mkdir /dev/fd/5/.idea",
    "echo x > t; chmod 600 t; mv t .mcp.json",
    "cp -r data .idea",
    "git init -q g; echo x > g/.git/hooks/pre-commit",
];

#[test]
fn what_commands_make_under_protected_names_goes_to_the_quarantine() {
    everywhere("what_commands_make_under_protected_names_goes_to_the_quarantine", || {
        for command in COMMAND_CHANGES {
            let fixture = Fixture::confined(&[], |root| {
                std::fs::create_dir(root.join("data")).unwrap();
                std::fs::write(root.join("data/settings.json"), "{}").unwrap();
            });
            let (failure, _) = failure(fixture.call("shell", json!({"command": command})));
            assert!(matches!(failure, ToolFailure::PermissionDenied { .. }), "{command}: {failure:?}");
            let none = "test -z \"$(find . -name .idea -o -name .mcp.json -o -name pre-commit)\"";
            assert!(bash(&fixture.root(), none), "{command}");
            assert!(fixture.outside("quarantine").exists(), "{command}");
            assert_eq!(fixture.notices.take().len(), 1, "{command}");
        }
    });
}

#[test]
fn calls_with_descriptors_and_threads_are_attributed() {
    if Command::new("python3").arg("--version").output().is_err() {
        return eprintln!("SKIP: python3 is not installed");
    }
    everywhere("calls_with_descriptors_and_threads_are_attributed", || {
        for code in [
            "os.mkdir('.idea', dir_fd=os.open('.', os.O_RDONLY))",
            "d = os.open('.', os.O_RDONLY); os.chdir('/'); os.close(os.open('.mcp.json', os.O_CREAT | os.O_WRONLY, dir_fd=d))",
            "t = threading.Thread(target=lambda: os.mkdir('.idea')); t.start(); t.join()",
            "os.mkfifo('.mcp.json')",
            "os.symlink('/tmp', '.idea')",
            "s = socket.socket(socket.AF_UNIX); s.bind('.mcp.json')",
        ] {
            let fixture = Fixture::confined(&[], |_| {});
            let command = format!("python3 -Ic \"import os, socket, threading\n{code}\"");
            let (failure, for_model) = failure(fixture.call("shell", json!({"command": command})));
            let is_refused = code.contains("socket") && for_model.contains("Operation not permitted");
            assert!(
                is_refused || matches!(failure, ToolFailure::PermissionDenied { .. }),
                "{command}: {failure:?}"
            );
            assert!(bash(&fixture.root(), "test ! -e .idea -a ! -e .mcp.json"), "{command}");
        }
    });
}

#[test]
fn what_a_command_changes_where_nothing_is_mounted_is_put_back() {
    everywhere("what_a_command_changes_where_nothing_is_mounted_is_put_back", || {
        // Packages are not mounted, because programs remove them completely.
        let path = "node_modules/x/.vscode/settings.json";
        for command in [
            "echo evil > node_modules/x/.vscode/settings.json",
            "rm node_modules/x/.vscode/settings.json",
            "chmod 777 node_modules/x/.vscode/settings.json",
            "cd node_modules/x/.vscode; echo evil > t; mv t settings.json; rm -f t",
            "ln node_modules/x/.vscode/settings.json other; echo evil > other",
            "exec 5< node_modules/x/.vscode/settings.json; echo evil > /proc/self/fd/5",
            "cd node_modules/x; mv .vscode v; echo evil > v/settings.json; mv v .vscode",
            "rm -r node_modules/x/.vscode",
        ] {
            let fixture = Fixture::confined(&[], |root| {
                std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
                std::fs::write(root.join(path), "{}").unwrap();
                assert!(bash(root, &format!("chmod 644 {path}")));
            });
            let (failure, _) = failure(fixture.call("shell", json!({"command": command})));
            assert!(matches!(failure, ToolFailure::PermissionDenied { .. }), "{command}: {failure:?}");
            assert_eq!(fixture.bytes(path), b"{}", "{command}");
            assert!(bash(&fixture.root(), &format!("test $(stat -c %a {path}) = 644")), "{command}");
        }
    });
}

#[test]
fn without_a_sandbox_nothing_is_undone() {
    for (others, expected) in FOREIGN_CHANGES {
        let fixture = Fixture::guarded(&[], &[]);
        repository(&fixture.root());
        success(run_with_others(&fixture, "echo x > own", others));
        assert!(bash(&fixture.root(), expected), "`{others}` was undone");
    }
    let fixture = Fixture::guarded(&[], &[]);
    success(fixture.call("shell", json!({"command": "mkdir .idea"})));
    assert!(fixture.path(".idea").exists() && !fixture.outside("quarantine").exists());
}

#[test]
fn two_runs_in_one_workspace_undo_only_their_own_changes() {
    everywhere("two_runs_in_one_workspace_undo_only_their_own_changes", || {
        let first = Fixture::confined(&[], repository);
        let root = first.root();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                run_with_others(
                    &first,
                    "echo x > own",
                    "touch begun; while [ ! -e second ]; do sleep 0.01; done",
                )
            });
            while !root.join("begun").exists() {
                std::thread::sleep(Duration::from_millis(2));
            }
            // The second run may write what its user allowed, and its forbidden part goes to its own quarantine.
            let second = first.second_run(&["Write(.mcp.json)"]);
            success(second.call("shell", json!({"command": "echo x > .mcp.json"})));
            failure(second.call("shell", json!({"command": "mkdir .cursor"})));
            std::fs::write(root.join("second"), "").unwrap();
            success(waits.join().unwrap());
        });
        assert!(bash(&root, "test -e .mcp.json -a ! -e .cursor"));
        assert!(!first.outside("quarantine").exists());
    });
}

#[test]
fn a_command_that_changes_a_protected_path_fails_with_the_reason() {
    let fixture = Fixture::confined(&[], |_| {});
    let command = json!({"command": "echo done; mkdir .cursor; echo '{}' > .cursor/mcp.json"});
    let (why, for_model) = failure(fixture.call("shell", command));
    let ToolFailure::PermissionDenied { path, error } = why else { panic!("{why:?}") };
    assert_eq!(path, fixture.path(".cursor"));
    assert!(error.contains("was created and is now at") && !error.contains('\n'), "{error}");
    assert!(for_model.starts_with("done\n(stopped by the sandbox"), "{for_model}");
    assert!(!fixture.path(".cursor").exists());
    success(fixture.call("shell", json!({"command": "git init -q; echo '{}' > mcp.json"})));
}

#[test]
fn a_change_of_a_protected_path_by_a_background_command_is_restored_and_reported_later() {
    let fixture = Fixture::confined(&[], |_| {});
    runtime().block_on(async {
        background(&fixture, "while [ ! -e go ]; do sleep 0.01; done; mkdir .cursor").await;
        fixture.put("go", "");
        none_left(&fixture).await;
        assert!(!fixture.path(".cursor").exists());
        let call = || fixture.run(fixture.prepare("shell", json!({"command": "echo done"})));
        let (_, for_model) = failure(call().await);
        assert!(for_model.contains("/.cursor` was created"), "{for_model}");
        success(call().await);
    });
}
