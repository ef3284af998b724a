//! Directories outside of the workspace that commands may write, and what appears while a run lasts.

use std::fs;

use ibeam_testkit::Workspace;

use super::only_result;
use crate::scene::{Scene, answer_shell, answer_text};

/// Runs one command with this configuration; returns what it printed.
#[track_caller]
fn output(config: &str, command: &str, prepare: impl FnOnce(&Workspace)) -> String {
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
    assert_eq!(output("", command, prepare), "");
    let config = "[sandbox]\nwritable = [\"~/free\", \"~/missing\"]\ncaches = [\"cargo\"]\n";
    let granted = names(&output(config, command, prepare));
    assert_eq!(granted, [".cargo/registry/x", ".cargo/git/x", ".cargo/.package-cache", "free/x"]);
}

#[test]
fn what_is_never_granted_ends_the_run() {
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
    assert_eq!(output("", command, |_| {}), "end\n");
}
