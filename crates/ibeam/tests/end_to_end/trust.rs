//! What a repository can do before anybody trusts it, and what trust is remembered by.

#[path = "trust/approval.rs"]
mod approval;
#[path = "trust/environment.rs"]
mod environment;
#[path = "trust/text.rs"]
mod text;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::Value;

use crate::mcp::table;
use crate::scene::{Scene, answer_text};

/// A workspace whose project has a hook that leaves a trace.
fn hooked(trace: &str) -> Workspace {
    Workspace::new().file(".ibeam/hooks.json", hook(trace))
}

fn hook(trace: &str) -> String {
    format!(r#"{{"version": 1, "hooks": {{"sessionStart": [{{"command": "touch {trace}"}}]}}}}"#)
}

fn put(scene: &Scene, path: &str, text: &str) {
    let path = scene.workspace.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// One run with these flags; what it says.
#[track_caller]
fn run(scene: Scene, flags: &[&str]) -> (Scene, ProgramOutput) {
    let scene = scene.then([answer_text("done")]);
    let ran = scene.print(flags).run().succeeded();
    (scene, ran)
}

/// Whether the hook has run since the last look.
fn left(scene: &Scene, trace: &str) -> bool {
    fs::remove_file(scene.workspace.path().join(trace)).is_ok()
}

fn store(workspace: &Workspace) -> std::path::PathBuf {
    workspace.home().join(".config/ibeam/trust.json")
}

#[test]
fn trust_is_remembered_until_the_content_changes() {
    let scene = Scene::new([]).within(hooked("ran"));
    let (scene, ran) = run(scene, &[]);
    assert!(!left(&scene, "ran") && ran.stderr.contains("--trust"), "{ran}");
    let (scene, ran) = run(scene, &["--trust"]);
    assert!(left(&scene, "ran") && ran.stderr.is_empty(), "{ran}");
    assert_eq!(fs::metadata(store(&scene.workspace)).unwrap().permissions().mode() & 0o777, 0o600);
    let (scene, ran) = run(scene, &[]);
    assert!(left(&scene, "ran") && ran.stderr.is_empty(), "{ran}");

    put(&scene, ".ibeam/hooks.json", &hook("other"));
    let (scene, ran) = run(scene, &[]);
    assert!(!left(&scene, "other"), "{ran}");
    let [warning] = ran.stderr_lines("warning: ")[..] else { panic!("{ran}") };
    assert!(warning.contains(".ibeam/hooks.json") && warning.contains("has changed"), "{ran}");
    put(&scene, ".ibeam/hooks.json", &hook("ran"));
    let (scene, ran) = run(scene, &[]);
    assert!(left(&scene, "ran"), "the content counts, not when it was written: {ran}");
    put(&scene, ".ibeam/hooks.json", &hook("other"));
    let (scene, _) = run(scene, &["--trust"]);
    assert!(left(&scene, "other"));
    let (scene, ran) = run(scene, &[]);
    assert!(left(&scene, "other") && ran.stderr.is_empty(), "{ran}");
}

/// Each way in which a trusted workspace can become another one is told with the file.
#[test]
fn a_policy_file_that_comes_or_goes_takes_the_trust_away() {
    for (path, text) in [
        (".cursor/mcp.json", "{\"mcpServers\": {}}"),
        (".cursor/cli.json", "{}"),
        (".cursor/hooks.json", "{\"hooks\": {}}"),
        (".ibeam/config.toml", "verbose = false\n"),
    ] {
        let (scene, _) = run(Scene::new([]).within(hooked("ran")), &["--trust"]);
        assert!(left(&scene, "ran"));
        put(&scene, path, text);
        let (scene, ran) = run(scene, &[]);
        assert!(!left(&scene, "ran"), "{path}: {ran}");
        let [warning] = ran.stderr_lines("warning: ")[..] else { panic!("{ran}") };
        assert!(warning.contains(path), "{ran}");
        let (scene, _) = run(scene, &["--trust"]);
        assert!(left(&scene, "ran"));
        fs::remove_file(scene.workspace.path().join(path)).unwrap();
        let (scene, ran) = run(scene, &[]);
        assert!(!left(&scene, "ran") && ran.stderr.contains(path), "{path}: {ran}");
    }
}

#[test]
fn force_trusts_for_one_run_only() {
    let (scene, _) = run(Scene::new([]).within(hooked("ran")), &["--force"]);
    assert!(left(&scene, "ran") && !store(&scene.workspace).exists());
    let (scene, ran) = run(scene, &[]);
    assert!(!left(&scene, "ran"), "{ran}");
}

/// The same content elsewhere is another workspace, a link to it is the same one.
#[test]
fn trust_is_of_the_real_path() {
    let (scene, _) = run(Scene::new([]).within(hooked("ran")), &["--trust"]);
    assert!(left(&scene, "ran"));
    let link = scene.workspace.outside().join("link");
    std::os::unix::fs::symlink(scene.workspace.path(), &link).unwrap();
    let (scene, _) = run(scene, &["--workspace", link.to_str().unwrap()]);
    assert!(left(&scene, "ran"));
    let config = scene.workspace.home().join(".config");
    let other = Scene::new([answer_text("done")]).within(hooked("ran"));
    let ran = other.print::<&str>([]).env("XDG_CONFIG_HOME", config).run().succeeded();
    assert!(!left(&other, "ran"), "{ran}");
}

#[test]
fn a_damaged_store_trusts_nothing_and_says_so() {
    let (scene, _) = run(Scene::new([]).within(hooked("ran")), &["--trust"]);
    assert!(left(&scene, "ran"));
    let path = store(&scene.workspace);
    let whole = fs::read_to_string(&path).unwrap();
    for damaged in ["", "{", &whole[..whole.len() / 2], "{\"version\": 9}"] {
        fs::write(&path, damaged).unwrap();
        for flags in [&[][..], &["--trust"]] {
            let scene = Scene::new([answer_text("done")]).within(hooked("ran"));
            let config = path.parent().unwrap().parent().unwrap();
            let ran = scene.print(flags).env("XDG_CONFIG_HOME", config).run().succeeded();
            assert_eq!(left(&scene, "ran"), !flags.is_empty(), "{ran}");
            assert!(ran.stderr.contains("trust.json"), "{ran}");
            assert_eq!(fs::read_to_string(&path).unwrap(), damaged, "it is left for people to look at");
        }
    }
    fs::write(&path, whole).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let (scene, ran) = run(scene, &[]);
    assert!(!left(&scene, "ran") && ran.stderr.contains("666"), "{ran}");
}

/// Where nothing can be written, a flag still counts for its run.
#[test]
fn trust_that_cannot_be_remembered_counts_for_this_run() {
    let scene = Scene::new([answer_text("done")]).within(hooked("ran"));
    let file = scene.workspace.outside().join("file");
    fs::write(&file, "").unwrap();
    let ran = scene.print(["--trust"]).env("XDG_CONFIG_HOME", &file).run().succeeded();
    assert!(left(&scene, "ran"), "{ran}");
    let [warning] = ran.stderr_lines("warning: ")[..] else { panic!("{ran}") };
    assert!(warning.contains("trust.json") && warning.contains("this run only"), "{ran}");
}

// ---- what needs a project's file and cannot have it

#[test]
fn nothing_of_a_project_changes_model_or_address_before_it_is_trusted() {
    let config = "model = \"openrouter/evil\"\n[models.aliases]\nauto = \"openrouter/evil\"\n\
                  [providers.anthropic]\nbase_url = \"http://127.0.0.1:9\"\nheaders = { X = \"y\" }\n\
                  [limits]\nmax_turns = 100000\nprocesses = 100000\n";
    let scene = Scene::new([answer_text("hi")]).within(Workspace::new().file(".ibeam/config.toml", config));
    let explained = scene.bare(["config", "explain", "--format", "json"]).run().succeeded().json();
    let origins: Vec<&Value> = explained.as_array().unwrap().iter().map(|row| &row["origin"]).collect();
    let of_project =
        |origin: &&Value| origin.as_str().is_some_and(|origin| origin.contains("/.ibeam/config.toml"));
    assert!(!origins.into_iter().any(|origin| of_project(&origin)), "{explained}");
    scene.print::<&str>([]).run().succeeded();
    assert_eq!(scene.server.requests().len(), 1);
    assert_eq!(scene.server.requests()[0].header("x"), None);
}

#[test]
fn what_needs_an_untrusted_project_says_so() {
    let config = "[providers.corp]\nbase_url = \"http://127.0.0.1:9\"\n[models.aliases]\nfast = \"corp/x\"\n";
    for model in ["corp/x", "fast"] {
        let scene = Scene::new([]).within(Workspace::new().file(".ibeam/config.toml", config));
        let ran = scene.bare(["-p", "do it", "--model", model, "--error-format", "json"]).run();
        assert_eq!(ran.code, Some(41), "{ran}");
        assert!(ran.stderr.contains("untrusted") && ran.stderr.contains(".ibeam/config.toml"), "{ran}");
        assert!(!scene.workspace.home().join(".local/share/ibeam/sessions").exists(), "nothing began: {ran}");
    }
    let scene = Scene::new([]).within(Workspace::new().file(".ibeam/config.toml", config));
    let ran = scene.bare(["-p", "do it", "--model", "fast", "--trust"]).run();
    assert_ne!(ran.code, Some(41), "{ran}");
}

#[test]
fn a_server_that_an_untrusted_project_requires_is_exit_41() {
    let Some(table) = table("test", &["starts=starts"]) else { return };
    let config = format!("{table}required = true\n");
    let scene = Scene::new([]).within(Workspace::new().file(".ibeam/config.toml", config));
    let ran = scene.print::<&str>([]).run();
    assert_eq!((ran.code, scene.workspace.read("starts")), (Some(41), None), "{ran}");
    assert!(ran.stderr_lines("error: ")[0].contains("mcp_servers.test"), "{ran}");
}

// ---- the commands

#[test]
fn the_commands_say_what_is_trusted_and_forget_it() {
    let config = "model = \"openrouter/other\"\n[permissions]\ndeny = [\"Shell(rm)\"]\n";
    let cursor = r#"{"mcpServers": {"far": {"command": "far\u200b", "args": ["x"]}}}"#;
    let workspace = hooked("ran").file(".ibeam/config.toml", config).file(".cursor/mcp.json", cursor);
    let scene = Scene::new([]).within(workspace);
    let ibeam = |args: &[&str]| scene.bare(args).run();
    let shown = ibeam(&["trust", "show"]).succeeded().stdout;
    for expect in [
        ": untrusted",
        "with --trust  model = \"openrouter/other\"",
        "counts now    permissions.deny",
        "with --trust  hook sessionStart: touch ran",
        "with --trust  MCP server far: far<U+200B> x",
    ] {
        assert!(shown.contains(expect), "{expect}: {shown}");
    }
    assert!(ibeam(&["trust", "list"]).succeeded().stdout.starts_with("nothing is trusted"));
    assert!(!store(&scene.workspace).exists(), "looking trusts nothing");
    // Nothing is left to do, which is what was asked for; a directory that was named wrongly is an error.
    let ran = ibeam(&["trust", "forget"]).succeeded();
    assert!(ran.stdout.starts_with("nothing to forget: `"), "{ran}");
    assert!(!store(&scene.workspace).exists(), "{ran}");
    let ran = ibeam(&["trust", "forget", "/nowhere"]);
    assert_eq!(ran.code, Some(2), "{ran}");

    ibeam(&["status", "--trust"]).succeeded();
    let path = scene.workspace.path().canonicalize().unwrap();
    let listed = ibeam(&["trust", "list"]).succeeded().stdout;
    assert!(listed.starts_with(path.to_str().unwrap()) && listed.contains(".ibeam/config.toml"), "{listed}");
    let json = ibeam(&["trust", "show", "--format", "json"]).succeeded().json();
    assert_eq!(json["trust"], "trusted");
    assert!(json["says"].as_array().unwrap().iter().all(|row| row["counts"] == true), "{json}");
    ibeam(&["trust", "forget", path.to_str().unwrap()]).succeeded();
    assert!(ibeam(&["trust", "list"]).succeeded().stdout.starts_with("nothing is trusted"));
}
