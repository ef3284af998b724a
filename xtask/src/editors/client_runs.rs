//! The runs of the clients, each with the answers of its scripted model.

use std::fs;
use std::path::Path;
use std::process::Output;

use ibeam_testkit::Answer;
use serde_json::{Value, json};

use super::Clients;
use super::scene::Scene;
use crate::suite::{Checks, SuiteError, SuiteResult};

/// The prompt of the clients that take one.
const PROMPT: &str = "Read README.md and create a summary";

/// Runs every client.
pub(super) fn run(clients: &Clients, result: &mut SuiteResult) -> Result<(), SuiteError> {
    result.add_program("npm @agentclientprotocol/sdk", "client", &run_typescript(clients)?);
    if let Some(python) = &clients.programs.python {
        result.add_program("PyPI agent-client-protocol", "client", &run_python(clients, python)?);
        result.add_program("PyPI harbor", "runner of an agent", &run_harbor(clients, python)?);
    }
    result.add_program("npm acpx", "run of one prompt", &run_acpx_exec(clients)?);
    result.add_program("npm acpx", "stored session", &run_acpx_session(clients)?);
    for (name, package) in [("acp-minimal.sh", "script acp-minimal.sh"), ("acpx.sh", "script acpx.sh")] {
        let script = clients.runners.join(name);
        if script.is_file() {
            result.add_program(package, "runner with `cursor_login`", &run_script(clients, &script)?);
        } else {
            result.skip(name, format_args!("there is no {}", script.display()));
        }
    }
    Ok(())
}

fn text(text: &str) -> Answer {
    Answer::new().text(text)
}

fn call(id: &str, tool: &str, arguments: &Value) -> Answer {
    Answer::new().call(id, tool, arguments)
}

fn command(id: &str, command: &str) -> Answer {
    call(id, "shell", &json!({ "command": command }))
}

/// Returns the answers to [`PROMPT`]: a file is read, another one written.
fn summary() -> [Answer; 3] {
    [
        call("c1", "read", &json!({ "path": "README.md" })),
        call("c2", "write", &json!({ "path": "summary.md", "fileText": "A project.\n" })),
        text("The summary is in summary.md."),
    ]
}

fn write_readme(scene: &Scene<'_>) -> Result<(), SuiteError> {
    let path = scene.workspace.path().join("README.md");
    fs::write(&path, "# Project\n").map_err(SuiteError::system(path.display()))
}

fn texts(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Runs `client.mjs`.
fn run_typescript(clients: &Clients) -> Result<Checks, SuiteError> {
    let edit = json!({ "path": "open.txt", "strReplace": { "oldText": "unsaved", "newText": "edited" } });
    let todos = json!({ "todos": [{ "id": "1", "content": "look", "status": "pending" }] });
    let slow = || text("Slow").stall();
    let answers = [
        text("Hello."),
        command("t1", "touch yes.txt"),
        text("Done."),
        command("t2", "touch no.txt"),
        text("Not done."),
        call("t3", "read", &json!({ "path": "open.txt" })),
        text("Read."),
        call("t4", "edit", &edit),
        text("Edited."),
        call("t5", "write", &json!({ "path": "new.txt", "fileText": "new\n" })),
        text("Written."),
        call("t6", "update_todos", &todos),
        text("Planned."),
        slow(),
        slow(),
    ];
    let scene = Scene::new(clients, answers)?;
    let workspace = scene.workspace.path().canonicalize().map_err(SuiteError::system("the workspace"))?;
    let open = workspace.join("open.txt");
    fs::write(&open, "saved\n").map_err(SuiteError::system(open.display()))?;
    let mut script = scene.command(&clients.programs.node);
    script.arg(clients.programs.scripts.join("client.mjs")).args([
        &clients.programs.packages,
        &scene.program,
        &workspace,
    ]);
    finish_script(&scene, script)
}

/// Runs `client.py`.
fn run_python(clients: &Clients, python: &Path) -> Result<Checks, SuiteError> {
    let answers = [text("Hello."), command("t1", "touch python.txt"), text("Done."), text("Slow").stall()];
    let scene = Scene::new(clients, answers)?;
    let mut script = scene.command(python);
    script.arg(clients.programs.scripts.join("client.py")).arg(&scene.program).arg(scene.workspace.path());
    finish_script(&scene, script)
}

/// Runs a script that prints its checks.
fn finish_script(scene: &Scene<'_>, script: std::process::Command) -> Result<Checks, SuiteError> {
    let output = scene.run(script)?;
    let mut checks = Checks::default();
    checks.add_printed(&output.stdout);
    checks.add("ends", output.status.success(), String::from_utf8_lossy(&output.stderr));
    scene.check_records(&mut checks)?;
    Ok(checks)
}

/// Runs the file of harbor that runs agents in a container, here without one.
fn run_harbor(clients: &Clients, python: &Path) -> Result<Checks, SuiteError> {
    let scene = Scene::new(clients, summary())?;
    write_readme(&scene)?;
    let find = "import pathlib, sysconfig; print(pathlib.Path(sysconfig.get_path('purelib')) / 'harbor/agents/installed')";
    let mut search = scene.command(python);
    search.args(["-c", find]);
    let found = scene.run(search)?;
    let directory = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let (logs, launcher) =
        (scene.workspace.outside().join("logs"), scene.workspace.outside().join("launch.sh"));
    fs::write(&launcher, format!("#!/bin/sh\nexec '{}' acp\n", scene.program.display()))
        .and_then(|()| fs::set_permissions(&launcher, std::os::unix::fs::PermissionsExt::from_mode(0o755)))
        .map_err(SuiteError::system(launcher.display()))?;
    // As in the container, the file is alone: its directory has modules with the names of others.
    let (own, script) =
        (Path::new(&directory).join("acp_runner.py"), scene.workspace.outside().join("run.py"));
    fs::copy(&own, &script).map_err(SuiteError::system(own.display()))?;
    let mut runner = scene.command(python);
    runner.arg(&script).args(["--instruction", PROMPT]);
    runner.arg("--logs-dir").arg(&logs).arg("--launcher").arg(&launcher);
    runner.env("HARBOR_ACP_REQUESTED_MODEL", "anthropic/claude-sonnet-4-6");
    runner.env("HARBOR_ACP_AUTHENTICATE_METHOD_ID", "cursor_login");
    let output = scene.run(runner)?;
    let summary = fs::read_to_string(logs.join("acp-summary.json")).unwrap_or_default();
    let summary: Value = serde_json::from_str(&summary).unwrap_or_default();
    let mut checks = Checks::default();
    checks.add("ends", output.status.success() && summary.get("error").is_none(), texts(&output));
    let authenticated = summary.get("authenticate_response").is_some();
    checks.add("authenticates with `cursor_login`", authenticated, &summary);
    let model =
        summary.get("resolved_session_model_id").is_some() && summary.get("set_model_error").is_none();
    checks.add("sets the model", model, &summary);
    let stop = summary.pointer("/prompt_response/stopReason").and_then(Value::as_str);
    checks.add("ends the turn", stop == Some("end_turn"), &summary);
    let usage = summary.pointer("/latest_usage_update/used").and_then(Value::as_u64);
    checks.add("receives the usage", usage.is_some_and(|used| used > 0), &summary);
    let written = scene.workspace.read("summary.md");
    checks.add("writes a file", written.as_deref() == Some("A project.\n"), written.unwrap_or_default());
    scene.check_records(&mut checks)?;
    Ok(checks)
}

/// Returns the text and the stop reason in the lines of JSON that acpx prints.
fn answer_of(output: &Output) -> (String, Option<String>) {
    let (mut text, mut stop) = (String::new(), None);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let update = line.pointer("/params/update").cloned().unwrap_or_default();
        if update.get("sessionUpdate").and_then(Value::as_str) == Some("agent_message_chunk") {
            text.push_str(update.pointer("/content/text").and_then(Value::as_str).unwrap_or_default());
        }
        let reason = line.pointer("/result/stopReason").and_then(Value::as_str);
        stop = reason.map(str::to_owned).or(stop);
    }
    (text, stop)
}

/// Returns acpx with arguments; it starts `cursor-agent acp`.
fn acpx(clients: &Clients, scene: &Scene<'_>, args: &[&str]) -> Result<Output, SuiteError> {
    let mut command = scene.command(&clients.programs.node);
    command.arg(clients.programs.packages.join("acpx/dist/cli.js"));
    // The time after which the process of a session ends unused: longer than a loaded machine needs between two prompts. The
    // session is closed at the end.
    command
        .args(["--approve-all", "--format", "json", "--timeout", "100", "--ttl", "60", "cursor"])
        .args(args);
    scene.run(command)
}

fn run_acpx_exec(clients: &Clients) -> Result<Checks, SuiteError> {
    let scene = Scene::new(clients, summary())?;
    write_readme(&scene)?;
    let output = acpx(clients, &scene, &["exec", PROMPT])?;
    let mut checks = Checks::default();
    checks.add("ends", output.status.success(), texts(&output));
    let (text, stop) = answer_of(&output);
    checks.add("receives the answer", text.ends_with("The summary is in summary.md."), texts(&output));
    checks.add("ends the turn", stop.as_deref() == Some("end_turn"), texts(&output));
    let written = scene.workspace.read("summary.md");
    checks.add("writes a file", written.as_deref() == Some("A project.\n"), written.unwrap_or_default());
    scene.check_records(&mut checks)?;
    Ok(checks)
}

fn run_acpx_session(clients: &Clients) -> Result<Checks, SuiteError> {
    let scene = Scene::new(clients, [text("One."), text("Two.")])?;
    let mut checks = Checks::default();
    let output = acpx(clients, &scene, &["sessions", "new"])?;
    checks.add("begins a session", output.status.success(), texts(&output));
    for (prompt, answer, name) in
        [("First.", "One.", "receives the first answer"), ("Second.", "Two.", "receives the second answer")]
    {
        let output = acpx(clients, &scene, &[prompt])?;
        let (text, _) = answer_of(&output);
        checks.add(name, output.status.success() && text.ends_with(answer), texts(&output));
    }
    let output = acpx(clients, &scene, &["sessions", "close"])?;
    checks.add("closes the session", output.status.success(), texts(&output));
    scene.check_records(&mut checks)?;
    Ok(checks)
}

/// Runs a script that takes the path of a program, starts a client with it and judges the run by its exit code.
fn run_script(clients: &Clients, script: &Path) -> Result<Checks, SuiteError> {
    let scene = Scene::new(clients, summary())?;
    let installed = scene.workspace.outside().join("clients/npm-acpx");
    fs::create_dir_all(&installed).map_err(SuiteError::system(installed.display()))?;
    let link = installed.join("node_modules");
    std::os::unix::fs::symlink(&clients.programs.packages, &link)
        .map_err(SuiteError::system(link.display()))?;
    let mut command = scene.command(script);
    command.arg(&scene.program).env("ACC_CLIENTS", scene.workspace.outside().join("clients"));
    let output = scene.run(command)?;
    let mut checks = Checks::default();
    checks.add("passes", output.status.success(), texts(&output));
    scene.check_records(&mut checks)?;
    Ok(checks)
}
