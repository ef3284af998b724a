//! Invalid and unreadable configuration: commands that inspect it run and report the error, runs fail.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ibeam_testkit::fault_injection::{is_root, launcher_works, make_accessible_to_all, skip};
use ibeam_testkit::scene::{KEY, Scene, check_unstarted};
use ibeam_testkit::{Stdin, Workspace};

/// A configuration with a value of the wrong type in line 3, between two valid values.
const INVALID: &str = "[limits]\nmax_tool_calls = 7\nmax_turns = \"many\"\nmax_tokens = 9\n";

fn scene_with_config(config: &str) -> Scene {
    Scene::new([]).with_workspace(Workspace::new().user_config(config))
}

#[test]
fn commands_that_show_the_configuration_report_its_error() {
    let scene = scene_with_config(INVALID);
    for (args, expect) in [
        (&["doctor"][..], "\nok      bash: "),
        (&["status"], "Not logged in"),
        (&["config", "explain"], "limits.max_tool_calls = 7"),
    ] {
        let output = scene.ibeam_without_model(args).run();
        assert_eq!(output.code, Some(78), "{output}");
        assert!(output.stdout.contains(expect), "{output}");
        let (error, hint) = output.stderr.split_once('\n').unwrap();
        assert!(error.starts_with("error: the configuration in `"), "{output}");
        assert!(
            error
                .ends_with("config.toml:3:13` is wrong: `limits.max_turns` should be a whole number above 0")
        );
        assert!(hint.starts_with("hint: `ibeam config explain`"), "{output}");
    }
    for args in [&["doctor"][..], &["config", "explain"]] {
        let output = scene.ibeam_without_model(args).run();
        assert!(output.stdout.contains("config.toml:3:13` is wrong"), "{output}");
    }
    let rows = scene.ibeam_without_model(["config", "explain", "--format", "json"]).run();
    let rows: serde_json::Value = serde_json::from_str(&rows.stdout).unwrap();
    let value = |key: &str| rows.as_array().unwrap().iter().find(|row| row["key"] == key).cloned();
    assert_eq!(value("limits.max_tokens").unwrap()["value"], 9);
    assert_eq!(value("limits.max_turns").unwrap()["origin"], "default");
}

#[test]
fn an_unknown_setting_is_named_with_its_line_and_the_nearest_one() {
    let scene = scene_with_config("modle = \"x\"\n[providers.corp]\nbase_ulr = \"http://localhost\"\n");
    let expect = [
        "config.toml:1` is not a known setting and was ignored; did you mean `model`?",
        "config.toml:3` is not a known setting and was ignored; did you mean `providers.corp.base_url`?",
    ];
    let doctor = scene.ibeam_without_model(["doctor"]).run();
    assert_eq!(doctor.code, Some(78), "{doctor}");
    assert!(
        doctor.stderr.starts_with("error: the configuration has the unknown setting `modle` (`"),
        "{doctor}"
    );
    assert!(!doctor.stdout.contains("ok      configuration"), "{doctor}");
    // A run ignores the setting too.
    let explain = scene.ibeam_without_model(["config", "explain"]).run().succeeded();
    for expect in expect {
        assert!(doctor.stdout.contains(expect), "{doctor}");
        assert!(explain.stdout.contains(expect), "{explain}");
    }
}

fn write_file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A run refuses these files too.
#[test]
fn wrong_files_with_hooks_and_servers_are_errors_in_every_report() {
    let (hooks, servers) = ("`ibeam help hooks` describes this file", "`ibeam help mcp` describes this file");
    for (name, text, detail, hint) in [
        (".config/ibeam/mcp.json", "{\"mcpServers\": {\"x\": 5}}", "`url` of a server", servers),
        (
            ".config/ibeam/mcp.json",
            "{\"mcpServers\": {\"x\": {}}}",
            "has neither `command` nor `url`",
            servers,
        ),
        (
            ".config/ibeam/hooks.json",
            "{\"hooks\": {\"stop\": [{\"comand\": \"x\"}]}}",
            "has no `command`",
            hooks,
        ),
        (".cursor/hooks.json", "{\"hooks\": {\"stop\": [5]}}", "`command` of a hook", hooks),
        (".claude/settings.json", "{\"hooks\": []}", "an object of events", hooks),
    ] {
        let scene = Scene::new([]);
        write_file(&scene.workspace.home().join(name), text);
        for args in [&["-p", "x"][..], &["doctor"], &["status"], &["config", "explain"]] {
            let output = scene.ibeam(args).run();
            assert_eq!(output.code, Some(78), "{args:?}: {output}");
            assert!(output.stderr.contains(name) && output.stderr.contains(detail), "{args:?}: {output}");
            assert!(output.stderr.contains(&format!("hint: {hint}")), "{args:?}: {output}");
            assert!(!output.stderr.contains("struct"), "{output}");
            let is_listed = output.stdout.contains("wrong   configuration: ") && output.stdout.contains(name);
            assert!(args[0] != "doctor" || is_listed, "{output}");
        }
    }
    let scene = Scene::new([]);
    for name in [".config/ibeam/mcp.json", ".cursor/hooks.json"] {
        write_file(&scene.workspace.home().join(name), "{}");
    }
    let doctor = scene.ibeam(["doctor"]).run().succeeded();
    for name in [".config/ibeam/mcp.json", ".cursor/hooks.json"] {
        let home = scene.workspace.home();
        let line = format!("ok      configuration: {}", home.join(name).display());
        assert!(doctor.stdout.contains(&line), "{doctor}");
    }
}

/// The first error is an error line; the others are warnings.
#[test]
fn every_error_is_reported() {
    for (config, errors) in [
        ("lang = \"xx\"\n", &["config.toml:1` is wrong: unknown language `xx`"][..]),
        ("= [\n", &["config.toml:1:"]),
        ("verbose = 1\nbackground = 2\n", &["config.toml:1:11`", "config.toml:2:14`"]),
    ] {
        let scene = scene_with_config(config);
        let path = scene.workspace.home().join(".config/ibeam/credentials.toml");
        std::fs::write(&path, "keys = \"no\"\n= [").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let output = scene.ibeam_without_model(["config", "explain"]).env("IBEAM_TIMEOUT", "soon").run();
        assert_eq!((output.code, output.stderr.matches("error: ").count()), (Some(78), 1), "{output}");
        for error in errors.iter().chain(&["`$IBEAM_TIMEOUT` is wrong", "credentials.toml:2` is wrong"]) {
            assert!(output.stdout.contains(error) && output.stderr.contains(error), "{error}: {output}");
        }
    }
}

#[test]
fn commands_that_need_no_configuration_run_and_warn() {
    for config in [INVALID, "= ["] {
        let scene = scene_with_config(config);
        for (args, expect) in [
            (&["about"][..], "contract: 1"),
            (&["ls"], ""),
            (&["ls", "--all"], ""),
            (&["config", "path"], "config.toml"),
            (&["trust", "list"], "nothing is trusted"),
            (&["trust", "forget"], "nothing to forget"),
            (&["logout"], "no stored key"),
        ] {
            let output = scene.ibeam_without_model(args).run().succeeded();
            assert!(output.stdout.contains(expect), "{output}");
            assert!(output.stderr.starts_with("warning: the configuration in `"), "{args:?}: {output}");
        }
        let login = scene
            .ibeam_without_model(["login", "--no-check"])
            .stdin(Stdin::Piped(format!("{KEY}\n").into_bytes()));
        login.run().succeeded();
        let output =
            scene.ibeam_without_model(["sessions", "check", "9c655aca-e4c6-46a6-a110-6193ad04e451"]).run();
        assert_eq!(output.code, Some(66), "{output}");
    }
}

/// Otherwise a rule could be missing, or a key could be sent to another server.
#[test]
fn runs_and_commands_that_use_rules_or_a_provider_fail() {
    let scene = scene_with_config(INVALID);
    check_unstarted(&scene.ibeam(["-p", "x"]).run(), 78);
    for args in [&["models"][..], &["--list-models"], &["policy", "list"], &["mcp", "list"], &["create-chat"]]
    {
        let output = scene.ibeam(args).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(78), ""), "{args:?}: {output}");
    }
}

#[test]
fn an_unreadable_path_is_not_reported_as_invalid() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can be a user without the right to read");
    }
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let restrict = |path: &std::path::Path| {
        std::fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
    };
    let scene = scene_with_config("verbose = true\n");
    make_accessible_to_all(&scene);
    restrict(&scene.workspace.home().join(".config/ibeam/config.toml"));
    let output = scene.ibeam_without_model(["doctor"]).through(user).run();
    assert_eq!(output.code, Some(78), "{output}");
    assert!(output.stderr.starts_with("error: cannot read the configuration `"), "{output}");

    let scene = scene_with_config("");
    make_accessible_to_all(&scene);
    let locked = scene.workspace.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    restrict(&locked);
    for args in [&["status"][..], &["-p", "x"]] {
        let output = scene.ibeam_without_model(args).args(["--workspace", "locked"]).through(user).run();
        assert_eq!(output.code, Some(66), "{output}");
        assert!(output.stderr.starts_with("error: cannot read `locked`: Permission denied"), "{output}");
    }
}

#[test]
fn a_size_that_an_untrusted_project_may_only_lower_is_explained_with_the_value_in_force() {
    let config = "[limits]\nfile_size = \"900000G\"\n[sandbox]\nscratch_size = \"900000G\"\n";
    let workspace = Workspace::new().file(".ibeam/config.toml", config);
    let scene = Scene::new([]).with_workspace(workspace);
    let output = scene.ibeam_without_model(["config", "explain", "--format", "json"]).run().succeeded();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&output.stdout).unwrap();
    for key in ["limits.file_size", "sandbox.scratch_size"] {
        let row = rows.iter().find(|row| row["key"] == key).unwrap();
        assert!(row["value"].as_u64().unwrap() <= 8 << 30, "{row}");
        let origin = row["origin"].as_str().unwrap();
        assert!(origin.starts_with("default; ") && origin.contains(".ibeam/config.toml"), "{row}");
    }
}
