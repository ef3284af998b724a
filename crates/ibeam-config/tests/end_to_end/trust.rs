//! Restrictions of untrusted repositories, and how trust is stored.

mod approval;
mod environment;
mod instructions;
mod question;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::stdio_mcp_server::table;
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::Value;

/// Returns a workspace with a project hook that creates the file `trace`.
fn workspace_with_hook(trace: &str) -> Workspace {
    Workspace::new().file(".ibeam/hooks.json", hook(trace))
}

fn hook(trace: &str) -> String {
    format!(r#"{{"version": 1, "hooks": {{"sessionStart": [{{"command": "touch {trace}"}}]}}}}"#)
}

fn write_file(scene: &Scene, path: &str, text: &str) {
    let path = scene.workspace.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Starts one run with these flags.
#[track_caller]
fn run(scene: Scene, flags: &[&str]) -> (Scene, ProgramOutput) {
    let scene = scene.with_answers([answer_text("done")]);
    let output = scene.print(flags).run().succeeded();
    (scene, output)
}

/// Whether the hook ran since the last call. Removes the file of the hook.
fn hook_ran(scene: &Scene, trace: &str) -> bool {
    fs::remove_file(scene.workspace.path().join(trace)).is_ok()
}

fn trust_file(workspace: &Workspace) -> std::path::PathBuf {
    workspace.home().join(".config/ibeam/trust.json")
}

#[test]
fn trust_is_remembered_until_the_content_changes() {
    let scene = Scene::new([]).with_workspace(workspace_with_hook("ran"));
    let (scene, output) = run(scene, &[]);
    assert!(!hook_ran(&scene, "ran") && output.stderr.contains("--trust"), "{output}");
    let (scene, output) = run(scene, &["--trust"]);
    assert!(hook_ran(&scene, "ran") && output.stderr.is_empty(), "{output}");
    assert_eq!(fs::metadata(trust_file(&scene.workspace)).unwrap().permissions().mode() & 0o777, 0o600);
    let (scene, output) = run(scene, &[]);
    assert!(hook_ran(&scene, "ran") && output.stderr.is_empty(), "{output}");

    write_file(&scene, ".ibeam/hooks.json", &hook("other"));
    let (scene, output) = run(scene, &[]);
    assert!(!hook_ran(&scene, "other"), "{output}");
    let [warning] = output.stderr_lines("warning: ")[..] else { panic!("{output}") };
    assert!(warning.contains(".ibeam/hooks.json") && warning.contains("has changed"), "{output}");
    write_file(&scene, ".ibeam/hooks.json", &hook("ran"));
    let (scene, output) = run(scene, &[]);
    assert!(hook_ran(&scene, "ran"), "trust depends on the content, not on the time: {output}");
    write_file(&scene, ".ibeam/hooks.json", &hook("other"));
    let (scene, _) = run(scene, &["--trust"]);
    assert!(hook_ran(&scene, "other"));
    let (scene, output) = run(scene, &[]);
    assert!(hook_ran(&scene, "other") && output.stderr.is_empty(), "{output}");
}

/// Every change that revokes trust is reported with the name of the file.
#[test]
fn adding_or_removing_a_policy_file_revokes_trust() {
    for (path, text) in [
        (".cursor/mcp.json", "{\"mcpServers\": {}}"),
        (".cursor/cli.json", "{}"),
        (".cursor/hooks.json", "{\"hooks\": {}}"),
        (".ibeam/config.toml", "verbose = false\n"),
    ] {
        let (scene, _) = run(Scene::new([]).with_workspace(workspace_with_hook("ran")), &["--trust"]);
        assert!(hook_ran(&scene, "ran"));
        write_file(&scene, path, text);
        let (scene, output) = run(scene, &[]);
        assert!(!hook_ran(&scene, "ran"), "{path}: {output}");
        let [warning] = output.stderr_lines("warning: ")[..] else { panic!("{output}") };
        assert!(warning.contains(path), "{output}");
        let (scene, _) = run(scene, &["--trust"]);
        assert!(hook_ran(&scene, "ran"));
        fs::remove_file(scene.workspace.path().join(path)).unwrap();
        let (scene, output) = run(scene, &[]);
        assert!(!hook_ran(&scene, "ran") && output.stderr.contains(path), "{path}: {output}");
    }
}

#[test]
fn force_trusts_for_one_run_only() {
    let (scene, _) = run(Scene::new([]).with_workspace(workspace_with_hook("ran")), &["--force"]);
    assert!(hook_ran(&scene, "ran") && !trust_file(&scene.workspace).exists());
    let (scene, output) = run(scene, &[]);
    assert!(!hook_ran(&scene, "ran"), "{output}");
}

/// Identical content at another path is another workspace; a link to a trusted path is the same workspace.
#[test]
fn trust_is_bound_to_the_real_path() {
    let (scene, _) = run(Scene::new([]).with_workspace(workspace_with_hook("ran")), &["--trust"]);
    assert!(hook_ran(&scene, "ran"));
    let link = scene.workspace.outside().join("link");
    std::os::unix::fs::symlink(scene.workspace.path(), &link).unwrap();
    let (scene, _) = run(scene, &["--workspace", link.to_str().unwrap()]);
    assert!(hook_ran(&scene, "ran"));
    let config = scene.workspace.home().join(".config");
    let other = Scene::new([answer_text("done")]).with_workspace(workspace_with_hook("ran"));
    let output = other.print::<&str>([]).env("XDG_CONFIG_HOME", config).run().succeeded();
    assert!(!hook_ran(&other, "ran"), "{output}");
}

#[test]
fn a_damaged_store_trusts_nothing_and_is_reported() {
    let (scene, _) = run(Scene::new([]).with_workspace(workspace_with_hook("ran")), &["--trust"]);
    assert!(hook_ran(&scene, "ran"));
    let path = trust_file(&scene.workspace);
    let valid = fs::read_to_string(&path).unwrap();
    for damaged in ["", "{", &valid[..valid.len() / 2], "{\"version\": 9}"] {
        fs::write(&path, damaged).unwrap();
        for flags in [&[][..], &["--trust"]] {
            let scene = Scene::new([answer_text("done")]).with_workspace(workspace_with_hook("ran"));
            let config = path.parent().unwrap().parent().unwrap();
            let output = scene.print(flags).env("XDG_CONFIG_HOME", config).run().succeeded();
            assert_eq!(hook_ran(&scene, "ran"), !flags.is_empty(), "{output}");
            assert!(output.stderr.contains("trust.json"), "{output}");
            assert_eq!(fs::read_to_string(&path).unwrap(), damaged, "the damaged file is preserved");
        }
    }
    fs::write(&path, valid).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let (scene, output) = run(scene, &[]);
    assert!(!hook_ran(&scene, "ran") && output.stderr.contains("666"), "{output}");
}

/// If trust cannot be stored, the flag still applies to its run.
#[test]
fn trust_that_cannot_be_stored_applies_to_this_run() {
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace_with_hook("ran"));
    let file = scene.workspace.outside().join("file");
    fs::write(&file, "").unwrap();
    let output = scene.print(["--trust"]).env("XDG_CONFIG_HOME", &file).run().succeeded();
    assert!(hook_ran(&scene, "ran"), "{output}");
    let [warning] = output.stderr_lines("warning: ")[..] else { panic!("{output}") };
    assert!(warning.contains("trust.json") && warning.contains("this run only"), "{output}");
}

// ---- settings of an untrusted project

#[test]
fn an_untrusted_project_changes_neither_model_nor_address() {
    let config = "model = \"openrouter/evil\"\n[models.aliases]\nauto = \"openrouter/evil\"\n\
                  [providers.anthropic]\nbase_url = \"http://127.0.0.1:9\"\nheaders = { X = \"y\" }\n\
                  [limits]\nmax_turns = 100000\nprocesses = 100000\n";
    let scene =
        Scene::new([answer_text("hi")]).with_workspace(Workspace::new().file(".ibeam/config.toml", config));
    let settings =
        scene.ibeam_without_model(["config", "explain", "--format", "json"]).run().succeeded().json();
    let origins: Vec<&Value> = settings.as_array().unwrap().iter().map(|row| &row["origin"]).collect();
    let is_from_project =
        |origin: &&Value| origin.as_str().is_some_and(|origin| origin.contains("/.ibeam/config.toml"));
    assert!(!origins.into_iter().any(|origin| is_from_project(&origin)), "{settings}");
    scene.print::<&str>([]).run().succeeded();
    assert_eq!(scene.server.requests().len(), 1);
    assert_eq!(scene.server.requests()[0].header("x"), None);
}

#[test]
fn a_setting_that_needs_trust_is_an_error() {
    let config = "[providers.corp]\nbase_url = \"http://127.0.0.1:9\"\n[models.aliases]\nfast = \"corp/x\"\n";
    for model in ["corp/x", "fast"] {
        let scene = Scene::new([]).with_workspace(Workspace::new().file(".ibeam/config.toml", config));
        let output =
            scene.ibeam_without_model(["-p", "do it", "--model", model, "--error-format", "json"]).run();
        assert_eq!(output.code, Some(41), "{output}");
        assert!(
            output.stderr.contains("untrusted") && output.stderr.contains(".ibeam/config.toml"),
            "{output}"
        );
        assert!(
            !scene.workspace.home().join(".local/share/ibeam/sessions").exists(),
            "no session was created: {output}"
        );
    }
    let scene = Scene::new([]).with_workspace(Workspace::new().file(".ibeam/config.toml", config));
    let output = scene.ibeam_without_model(["-p", "do it", "--model", "fast", "--trust"]).run();
    assert_ne!(output.code, Some(41), "{output}");
}

#[test]
fn a_server_that_an_untrusted_project_requires_is_exit_41() {
    let Some(table) = table("test", &["starts=starts"]) else { return };
    let config = format!("{table}required = true\n");
    let scene = Scene::new([]).with_workspace(Workspace::new().file(".ibeam/config.toml", config));
    let output = scene.print::<&str>([]).run();
    assert_eq!((output.code, scene.workspace.read("starts")), (Some(41), None), "{output}");
    assert!(output.stderr_lines("error: ")[0].contains("mcp_servers.test"), "{output}");
}

// ---- the commands

#[test]
fn the_trust_commands_show_list_and_forget() {
    let config = "model = \"openrouter/other\"\n[permissions]\ndeny = [\"Shell(rm)\"]\n";
    let cursor = r#"{"mcpServers": {"far": {"command": "far\u200b", "args": ["x"]}}}"#;
    let workspace = workspace_with_hook("ran")
        .file(".ibeam/config.toml", config)
        .file(".cursor/mcp.json", cursor)
        .file(".cursor/worktrees.json", "{}")
        .file(".claude/agents/reviewer.md", "---\nname: reviewer\ndescription: Reviews\n---\nReview.\n")
        .file(".claude/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies\n---\nTidy.\n")
        .file("AGENTS.md", "Be brief.\n");
    let scene = Scene::new([]).with_workspace(workspace);
    let ibeam = |args: &[&str]| scene.ibeam_without_model(args).run();
    let shown = ibeam(&["trust", "show"]).succeeded().stdout;
    for expect in [
        ": untrusted",
        "with --trust  model = \"openrouter/other\"",
        "counts now    permissions.deny",
        "with --trust  hook sessionStart: touch ran",
        "with --trust  MCP server far: far<U+200B> x",
        "with --trust  set-up commands of worktrees  # ",
        "with --trust  sub-agent reviewer  # ",
        "with --trust  instructions for the model  # ",
        "with --trust  skill tidy  # ",
    ] {
        assert!(shown.contains(expect), "{expect}: {shown}");
    }
    assert!(ibeam(&["trust", "list"]).succeeded().stdout.starts_with("nothing is trusted"));
    assert!(!trust_file(&scene.workspace).exists(), "showing does not grant trust");
    // To forget an untrusted workspace succeeds; a directory that does not exist is an error.
    let output = ibeam(&["trust", "forget"]).succeeded();
    assert!(output.stdout.starts_with("nothing to forget: `"), "{output}");
    assert!(!trust_file(&scene.workspace).exists(), "{output}");
    let output = ibeam(&["trust", "forget", "/nowhere"]);
    assert_eq!(output.code, Some(2), "{output}");

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
