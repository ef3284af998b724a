//! Configuration files that are broken, unreadable or very large, and the timeouts that they set.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use ibeam_testkit::fault_injection::{check_failure, is_root, launcher_works, make_accessible_to_all, skip};
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, model_name};
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::json;

/// Returns a scene whose user configuration consists of these bytes.
fn scene_with_config(bytes: &[u8]) -> Scene {
    let scene = Scene::new([answer_text("ok")]);
    let path = scene.workspace.home().join(".config/ibeam/config.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
    scene
}

/// Checks that the run fails with the position of the error, as `:LINE:COLUMN`.
#[track_caller]
fn check_config_error(bytes: &[u8], position: &str) -> ProgramOutput {
    let scene = scene_with_config(bytes);
    let output = scene.print::<&str>([]).run();
    check_failure(&output, 78);
    assert!(output.stderr.contains(&format!("config.toml{position}")), "{position}: {output}");
    assert!(output.elapsed < Duration::from_secs(10), "{output}");
    assert_eq!(scene.server.requests().len(), 0);
    output
}

#[test]
fn f167_the_error_of_a_broken_configuration_has_file_line_and_column() {
    check_config_error(b"model = \n", ":1:9");
    check_config_error(b"{ \"model\": \"x\" }\n", ":1:1");
    check_config_error(b"# fine\n[limits\nmax_turns = 1\n", ":2:8");
    check_config_error(b"[retry]\n  attempts = \"many\"\n", ":2:14");
    check_config_error("# é ü 日本\n[retry]\nfirst_pause = \"日\"\n".as_bytes(), ":3:15");
    check_config_error(b"[limits]\nmax_turns = -1\n", ":2:13");
    check_config_error(b"[limits]\ntimeout = 0\n", ":2:11");
    check_config_error(b"[timeouts]\nidle = \"9999999h\"\n", ":2:8");
    check_config_error(b"[timeouts]\nstdin = []\n", ":2:9");
    check_config_error(b"[permissions]\ndeny = [1]\n", ":2:8");
    check_config_error(b"model = \"a\"\nmodel = \"b\"\n", ":2:1");
    check_config_error(b"model = \"a\"\n[x]\ny = \"br\xffken\"\n", ":3:8");
    check_config_error(b"model = \"nul \0\"\n", ":1:14");
}

#[test]
fn f167_a_byte_order_mark_comments_and_line_ends_are_accepted() {
    let text = "\u{feff}# a comment\r\n[limits] # another\r\nmax_turns = 7\r\n";
    let scene = scene_with_config(text.as_bytes());
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(output.stream().init()["ibeam"]["limits"]["max_turns"], 7, "{output}");
    assert_eq!(output.stderr, "");
    check_config_error("\u{feff}max = [\r\n".as_bytes(), ":");
}

#[test]
fn f167_unknown_keys_are_warnings_and_many_of_them_are_summarized() {
    let output =
        scene_with_config(b"modle = \"x\"\n[limits]\nmax_turn = 3\n").print::<&str>([]).run().succeeded();
    assert_eq!(output.stderr_lines("warning: ").len(), 2, "{output}");
    assert!(output.stderr.contains("modle") && output.stderr.contains("limits.max_turn"), "{output}");
    let many: String = (0..20_000).map(|number| format!("unknown_key_{number} = {number}\n")).collect();
    let output = scene_with_config(many.as_bytes()).print::<&str>([]).run().succeeded();
    assert_eq!(output.stderr_lines("warning: ").len(), 11, "{output}");
    assert!(output.stderr.contains("+19990"), "{output}");
    assert!(output.elapsed < Duration::from_secs(20), "{output}");
}

#[test]
fn f167_a_configuration_of_50_mb_is_rejected_without_being_read() {
    let output = check_config_error(&vec![b'#'; 50 << 20], "");
    assert!(output.stderr.contains("larger than"), "{output}");
    assert!(output.elapsed < Duration::from_secs(3), "{output}");
}

/// The nesting is deeper than the stack of a recursive parser allows.
#[test]
fn f181_a_configuration_that_is_nested_deeply_is_rejected() {
    for text in [
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1{}", "a = { b = ".repeat(20_000), "}".repeat(20_000)),
        format!("a{} = 1", ".b".repeat(100_000)),
        format!("[a{}]\nx = 1", ".b".repeat(100_000)),
    ] {
        // Some of these errors have no position.
        let output = check_config_error(text.as_bytes(), "");
        assert!(output.stderr.len() < 1000, "{output}");
    }
}

/// Each configuration file is replaced by a FIFO, a directory, an endless device or a link to itself.
#[test]
fn f167_a_configuration_that_is_not_a_regular_file_is_rejected_at_once() {
    let files = [".config/ibeam/config.toml", ".config/ibeam/credentials.toml"];
    for file in files {
        for kind in ["mkfifo", "mkdir", "ln -s /dev/zero", "ln -s ."] {
            let scene = Scene::new([]);
            let path = scene.workspace.home().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let make = format!("{kind} {}", path.display());
            assert!(Command::new("/bin/sh").args(["-c", &make]).status().unwrap().success());
            let output = scene.print::<&str>([]).run();
            check_failure(&output, 78);
            assert!(output.stderr.contains(file), "{kind}: {output}");
            assert!(output.elapsed < Duration::from_secs(3), "{kind}: {output}");
        }
    }
}

/// FIFOs in a project do not block a run either.
#[test]
fn f167_fifos_in_a_project_do_not_delay_a_run() {
    for (file, exit) in [(".ibeam/config.toml", 78), ("AGENTS.md", 0), (".git", 0), (".git/HEAD", 0)] {
        let scene = Scene::new([answer_text("ok")]);
        let path = scene.workspace.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let output = scene.print::<&str>([]).run();
        assert_eq!(output.code, Some(exit), "{file}: {output}");
        assert!(output.elapsed < Duration::from_secs(3), "{file}: {output}");
    }
}

#[test]
fn f167_an_unreadable_configuration_is_an_error() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can become a user without read permission");
    }
    let scene = scene_with_config(b"model = \"x\"\n");
    let path = scene.workspace.home().join(".config/ibeam/config.toml");
    make_accessible_to_all(&scene);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let run =
        scene.print::<&str>([]).through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    let output = run.run();
    check_failure(&output, 78);
    assert!(output.stderr.contains("config.toml"), "{output}");
}

/// `config explain` shows the value and the origin of each timeout.
#[test]
fn every_timeout_is_explained() {
    let config = "[timeouts]\nidle = \"7s\"\nshutdown = \"2s\"\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    let timeouts = |name: &str| {
        let explained = scene.ibeam_without_model(["--model", name, "config", "explain", "--format", "json"]);
        let rows = explained.env("ANTHROPIC_API_KEY", "k").run().succeeded().json();
        let rows = rows.as_array().unwrap().clone();
        let keys: std::collections::BTreeSet<_> = rows.iter().map(|row| row["key"].to_string()).collect();
        assert_eq!(keys.len(), rows.len(), "each key once: {rows:?}");
        move |key: &str| {
            let row = rows.iter().find(|row| row["key"] == format!("timeouts.{key}"));
            row.map(|row| {
                (row["value"].as_str().unwrap().to_owned(), row["origin"].as_str().unwrap().to_owned())
            })
        }
    };
    let value = timeouts(model_name(ibeam_testkit::Wire::Anthropic));
    for (key, expected) in [
        ("connect", "10s"),
        ("first_byte", "120s"),
        ("idle", "7s"),
        ("content_idle", "300s"),
        ("answer", "900s"),
        ("stdin", "30s"),
        ("stdin_context", "3s"),
        ("lock", "0s"),
        ("files", "60s"),
        ("tool", "120s"),
        ("tool_longest", "600s"),
        ("background", "600s"),
        ("git", "600s"),
        ("hook", "60s"),
        ("mcp_start", "10s"),
        ("mcp_call", "120s"),
        ("shutdown", "2s"),
    ] {
        let (value, origin) = value(key).unwrap_or_else(|| panic!("`{key}` is not explained"));
        assert_eq!(value, expected, "{key} from {origin}");
        let is_set = ["idle", "shutdown"].contains(&key);
        assert_eq!(origin.contains("config.toml:"), is_set, "{key} from {origin}");
    }
    let local = timeouts("ollama/x");
    assert_eq!(local("first_byte").unwrap(), ("600s".to_owned(), "default of ollama".to_owned()));
}

#[test]
fn the_timeouts_of_commands_are_configurable() {
    let config = "[timeouts]\ntool = \"300ms\"\ntool_longest = \"600ms\"\n";
    let long = json!({ "command": "sleep 60", "timeout": 50_000 });
    let scene = Scene::new([answer_shell("sleep 60"), answer_call("b", "shell", &long), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(config));
    let output = scene.print(["--force"]).run().succeeded();
    assert!(output.elapsed < Duration::from_secs(12), "{output}");
    let results: Vec<String> =
        output.stream().completed().iter().map(|call| call.1["result"].to_string()).collect();
    assert!(results[0].contains("timeout") && results[0].contains("300"), "{results:?}");
    assert!(results[1].contains("600"), "{results:?}");
    let invalid = Workspace::new().user_config("[timeouts]\ntool = \"20m\"\n");
    let scene = Scene::new([]).with_workspace(invalid);
    let output = scene.print::<&str>([]).run();
    check_failure(&output, 78);
    assert!(output.stderr.contains("timeouts.tool_longest"), "{output}");
}
