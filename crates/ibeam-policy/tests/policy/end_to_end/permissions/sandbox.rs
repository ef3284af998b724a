//! The sandbox of commands: granted directories and sockets, hidden files, and repositories that commands create.

use std::fs;

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, only_result};
use serde_json::{Value, json};

/// Runs one command with this configuration; returns its stdout.
#[track_caller]
fn command_stdout(config: &str, command: &str, prepare: impl FnOnce(&Workspace)) -> String {
    let workspace = Workspace::new().user_config(config);
    prepare(&workspace);
    let scene = Scene::new([answer_shell(command), answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    let (arm, payload) = only_result(&output);
    assert!(arm == "success" || arm == "failure", "{arm}: {output}");
    payload["stdout"].as_str().unwrap().to_owned()
}

#[test]
fn a_granted_cache_is_written_and_its_neighbours_are_not() {
    let command = "for p in ~/.cargo/registry/x ~/.cargo/git/x ~/.cargo/.package-cache ~/.cargo/bin/x \
        ~/.cargo/config.toml ~/.npm/_cacache/x ~/free/x ~/other; do (echo x >$p) 2>/dev/null && echo $p; done; true";
    let prepare = |workspace: &Workspace| {
        for directory in [".cargo/bin", ".npm/_cacache", "free"] {
            fs::create_dir_all(workspace.home().join(directory)).unwrap();
        }
    };
    let names = |output: &str| -> Vec<String> {
        output.lines().map(|line| line.rsplit_once("/home/").unwrap().1.to_owned()).collect()
    };
    assert_eq!(command_stdout("", command, prepare), "");
    let config = "[sandbox]\nwritable = [\"~/free\", \"~/missing\"]\ncaches = [\"cargo\"]\n";
    let granted = names(&command_stdout(config, command, prepare));
    assert_eq!(granted, [".cargo/registry/x", ".cargo/git/x", ".cargo/.package-cache", "free/x"]);
}

#[test]
fn a_directory_that_cannot_be_granted_ends_the_run() {
    for entry in
        ["writable = [\"~\"]", "writable = [\"/\"]", "writable = [\"~/.ssh\"]", "caches = [\"maven\"]"]
    {
        let workspace = Workspace::new().user_config(&format!("[sandbox]\n{entry}\n"));
        fs::create_dir_all(workspace.home().join(".ssh")).unwrap();
        let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
        let output = scene.print::<&str>([]).run();
        assert_eq!(output.code, Some(78), "{entry}: {output}");
        assert!(output.stderr.contains("config.toml:2"), "{entry}: {output}");
    }
}

#[test]
fn the_first_run_of_a_home_hides_its_own_session() {
    let command = "find ~ -name '*.jsonl' -exec cat {} +; echo end";
    assert_eq!(command_stdout("", command, |_| {}), "end\n");
}

/// Connects to a socket of the host from a command; returns whether the connection arrived.
#[track_caller]
fn reaches_socket(configure: impl FnOnce(&str) -> (String, Vec<String>)) -> bool {
    let connect = "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('daemon')\"";
    let scene = Scene::new([answer_shell(connect), answer_text("done")]);
    let listener = std::os::unix::net::UnixListener::bind(scene.workspace.path().join("daemon")).unwrap();
    let (config, flags) = configure(&scene.workspace.path().join("daemon").display().to_string());
    let directory = scene.workspace.home().join(".config/ibeam");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), config).unwrap();
    scene.print(flags.iter().map(String::as_str)).run().succeeded();
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_ok()
}

#[test]
fn a_host_socket_is_reachable_only_if_granted() {
    assert!(!reaches_socket(|_| (String::new(), vec!["--force".to_owned()])));
    assert!(reaches_socket(|path| (String::new(), vec!["--allow-socket".to_owned(), path.to_owned()])));
    assert!(reaches_socket(|path| (format!("[sandbox]\nsockets = [\"{path}\"]\n"), Vec::new())));
}

#[track_caller]
fn git(directory: &std::path::Path, script: &str) -> String {
    let output = std::process::Command::new("bash")
        .args(["-ec", script])
        .current_dir(directory)
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The command creates a nested repository with a configuration that runs a command, and a gitlink to it. The user's
/// next `git status` in the root would visit the nested repository.
#[test]
fn a_planted_repository_executes_nothing_later() {
    let attack = "mkdir sub && cd sub && git init -q . && echo 1 > f && git add f && \
        git -c user.name=a -c user.email=a@example.com commit -qm x && H=$(git rev-parse HEAD) && \
        printf '[core]\\n\\tfsmonitor=\"touch ../ran; false\"\\n' >> .git/config && cd .. && \
        git update-index --add --cacheinfo 160000,$H,sub && touch planted";
    let scene = Scene::new([answer_shell("bash x.sh"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().file("x.sh", attack));
    let root = scene.workspace.path();
    git(root, "git init -q .");
    let output = scene.print(["--sandbox", "enabled"]).run().succeeded();
    let (arm, payload) = only_result(&output);
    assert_eq!(arm, "permissionDenied", "{output}");
    assert!(payload["error"].as_str().unwrap().contains("sub/.git/config"), "{output}");
    assert!(root.join("planted").exists(), "{output}");
    git(root, "git status && git -C sub status && git diff");
    assert!(!root.join("ran").exists() && !root.join("sub/ran").exists());
}

/// `init` lists what commands may write outside the workspace, before anything runs.
#[test]
fn init_lists_the_repository_of_a_linked_work_tree() {
    let scene = Scene::new([answer_text("done")]);
    let root = scene.workspace.path();
    let main = scene.workspace.home().join("main");
    git(
        root,
        &format!(
            "git init -q '{0}'; cd '{0}'; git commit -q --allow-empty -m one; git worktree add -q '{1}/tree'",
            main.display(),
            root.display()
        ),
    );
    let tree = root.join("tree");
    let output =
        scene.print(["--sandbox", "enabled", "--workspace", tree.to_str().unwrap()]).run().succeeded();
    let writable = json!([main.join(".git").canonicalize().unwrap()]);
    assert_eq!(output.stream().init()["ibeam"]["sandbox"]["writable"], writable, "{output}");
    let output = scene.with_answers([answer_text("done")]).print(["--sandbox", "enabled"]).run().succeeded();
    assert_eq!(output.stream().init()["ibeam"]["sandbox"]["writable"], Value::Null, "{output}");
}

#[test]
fn a_warning_explains_why_git_fails_if_its_objects_are_hidden() {
    let scene = Scene::new([answer_shell("git log --format=%s"), answer_text("done")]);
    let root = scene.workspace.path().to_owned();
    fs::write(root.join("a.pem"), "key").unwrap();
    for arguments in ["init -q", "add a.pem", "-c user.name=a -c user.email=a@b commit -qm first"] {
        let output = std::process::Command::new("git").args(arguments.split(' ')).current_dir(&root).status();
        assert!(output.unwrap().success(), "{arguments}");
    }
    let output = scene.print(["--deny", "Read(**/*.pem)"]).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    let is_recorded = |line: &&str| line.contains("they contain `a.pem`") && line.contains("--allow 'Read(");
    assert_eq!(warnings.iter().filter(|line| is_recorded(line)).count(), 1, "{output}");
    assert_ne!(only_result(&output).1["stdout"], json!("first\n"), "{output}");
}
