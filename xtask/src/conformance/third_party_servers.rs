//! MCP servers of others in runs of ibeam: a scripted model calls their tools.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ibeam_testkit::{Answer, Ibeam, ModelServer, Workspace};
use serde_json::{Value, json};

use crate::servers::server_process::free_address;
use crate::suite::{Checks, Programs, SuiteError, SuiteResult};

/// The name of the server in the configuration.
const SERVER: &str = "other";
/// The maximum time of a run, in which Node or Python starts.
const RUN_TIMEOUT: Duration = Duration::from_secs(90);
/// The maximum time until a server over HTTP accepts connections.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A call of the scripted model, and a part of the result that it must get.
struct Call {
    /// The name of the tool for the model.
    name: String,
    /// The description of the check.
    label: String,
    arguments: Value,
    expected: &'static str,
}

/// Returns a call of a tool of the server.
fn call(tool: &str, arguments: Value, expected: &'static str) -> Call {
    Call { name: format!("mcp_{SERVER}_{tool}"), label: format!("`{tool}`"), arguments, expected }
}

/// Returns a call of a tool of the server that must fail, for the reason in the label.
fn failing_call(tool: &str, label: &str, arguments: Value, expected: &'static str) -> Call {
    Call { label: format!("`{tool}` {label}"), ..call(tool, arguments, expected) }
}

/// Returns calls that list the resources of the server and read one.
fn resource_calls(listed: &'static str, uri: &str, text: &'static str) -> [Call; 2] {
    let server_call = |name: &str, label: &str, arguments, expected| Call {
        name: name.to_owned(),
        label: label.to_owned(),
        arguments,
        expected,
    };
    [
        server_call("mcp_list_resources", "lists resources", json!({ "server": SERVER }), listed),
        server_call("mcp_read_resource", "reads a resource", json!({ "server": SERVER, "uri": uri }), text),
    ]
}

/// The prompt of a run, and a part of what the model must get.
struct Prompt {
    text: &'static str,
    expected: &'static str,
}

/// Runs ibeam with every server.
pub(super) fn run(programs: &Programs, result: &mut SuiteResult) -> Result<(), SuiteError> {
    let packages = programs.packages.join("@modelcontextprotocol");
    run_everything(programs, &packages.join("server-everything/dist/index.js"), result)?;
    run_filesystem(programs, &packages.join("server-filesystem/dist/index.js"), result);
    if let Some(python) = &programs.python {
        run_python(programs, python, result)?;
    }
    Ok(())
}

fn run_everything(programs: &Programs, script: &Path, result: &mut SuiteResult) -> Result<(), SuiteError> {
    const PACKAGE: &str = "npm @modelcontextprotocol/server-everything";
    let calls = [
        call("echo", json!({ "message": "Grüße" }), "Echo: Grüße"),
        call("get-sum", json!({ "a": 2, "b": 3 }), "The sum of 2 and 3 is 5."),
        call("get-structured-content", json!({ "location": "Chicago" }), "Light rain / drizzle"),
        call("get-tiny-image", json!({}), "image/png"),
        call("get-resource-links", json!({ "count": 2 }), "demo://resource/dynamic/"),
        call("get-annotated-message", json!({ "messageType": "error" }), "Error: Operation failed"),
        call(
            "trigger-long-running-operation",
            json!({ "duration": 1, "steps": 2 }),
            "Long running operation completed",
        ),
        call("trigger-elicitation-request", json!({}), "declined"),
        failing_call("get-sum", "with wrong arguments", json!({ "a": "x" }), "Input validation error"),
    ];
    let resources = resource_calls(
        "demo://resource/static/document/",
        "demo://resource/dynamic/text/1",
        "This is a plaintext resource",
    );
    let calls: Vec<Call> = calls.into_iter().chain(resources).collect();
    let prompt = Prompt { text: "/other:args-prompt Oslo", expected: "What's weather in Oslo?" };
    let stdio = json!({ "command": programs.node, "args": [script, "stdio"] });
    let checks = run_calls(programs, &stdio, &prompt, &calls, &Workspace::new());
    result.add_program(PACKAGE, "server over stdio, session", &checks);
    let address = free_address()?;
    let mut command = Command::new(&programs.node);
    command.arg(script).arg("streamableHttp").env("PORT", address.port().to_string());
    let _server = ListeningServer::start(command, address)?;
    let http = json!({ "url": format!("http://{address}/mcp") });
    let checks = run_calls(programs, &http, &prompt, &calls, &Workspace::new());
    result.add_program(PACKAGE, "server over HTTP, session", &checks);
    Ok(())
}

fn run_filesystem(programs: &Programs, script: &Path, result: &mut SuiteResult) {
    let workspace = Workspace::new().file("read.txt", "the text of a file\n");
    let path = |name: &str| workspace.path().join(name);
    let calls = [
        call("list_allowed_directories", json!({}), "project"),
        call("read_text_file", json!({ "path": path("read.txt") }), "the text of a file"),
        call("write_file", json!({ "path": path("new.txt"), "content": "one\n" }), "Successfully wrote"),
        call(
            "edit_file",
            json!({ "path": path("new.txt"), "edits": [{ "oldText": "one", "newText": "two" }] }),
            "+two",
        ),
        call("list_directory", json!({ "path": workspace.path() }), "[FILE] new.txt"),
        failing_call(
            "read_text_file",
            "outside of its directory",
            json!({ "path": "/etc/hostname" }),
            "Access denied",
        ),
    ];
    let server = json!({ "command": programs.node, "args": [script, workspace.path()] });
    let prompt = Prompt { text: "Use the tools.", expected: "Use the tools." };
    let mut checks = run_calls(programs, &server, &prompt, &calls, &workspace);
    let written = workspace.read("new.txt");
    checks.add("the file is written", written.as_deref() == Some("two\n"), format!("{written:?}"));
    result.add_program("npm @modelcontextprotocol/server-filesystem", "server over stdio, session", &checks);
}

fn run_python(programs: &Programs, python: &Path, result: &mut SuiteResult) -> Result<(), SuiteError> {
    const PACKAGE: &str = "PyPI mcp";
    let script = programs.scripts.join("server.py");
    let calls = [
        call("add", json!({ "a": 2, "b": 3 }), "5"),
        call("describe", json!({ "name": "Ada" }), "36"),
        call("count", json!({ "steps": 3 }), "counted to 3"),
        call("fail", json!({}), "this tool always fails"),
    ];
    let resources = resource_calls("note://one", "note://one", "the text of a note");
    let calls: Vec<Call> = calls.into_iter().chain(resources).collect();
    let prompt = Prompt { text: "/other:greet Ada", expected: "Greet Ada." };
    let address = free_address()?;
    let mut command = Command::new(python);
    command.arg(&script).arg(address.port().to_string());
    let _server = ListeningServer::start(command, address)?;
    for revision in ["2025-11-25", "2026-07-28"] {
        let stdio = json!({ "command": python, "args": [script], "revision": revision });
        let http = json!({ "url": format!("http://{address}/mcp"), "revision": revision });
        for (transport, config) in [("stdio", stdio), ("HTTP", http)] {
            let checks = run_calls(programs, &config, &prompt, &calls, &Workspace::new());
            result.add_program(PACKAGE, &format!("server over {transport}, {revision}"), &checks);
        }
    }
    Ok(())
}

/// Runs ibeam with a server and a model that makes these calls one after the other.
fn run_calls(
    programs: &Programs,
    config: &Value,
    prompt: &Prompt,
    calls: &[Call],
    workspace: &Workspace,
) -> Checks {
    let answers = (1..)
        .zip(calls)
        .map(|(number, call)| Answer::new().call(&format!("toolu_{number}"), &call.name, &call.arguments));
    let model = ModelServer::start(answers.chain([Answer::new().text("Done.")]));
    let servers = json!({ "mcpServers": { SERVER: config } }).to_string();
    let output = Ibeam::new(&programs.ibeam, workspace)
        .args(["-p", prompt.text, "--model", "anthropic/claude-test", "--output-format", "stream-json"])
        .args(["--mcp-config", &servers, "--approve-mcps", "--sandbox", "disabled"])
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "fake-key-of-the-checks")
        .timeout(RUN_TIMEOUT)
        .run();
    let mut checks = Checks::default();
    let init = output.stdout.lines().next().and_then(|line| serde_json::from_str(line).ok());
    let init: Value = init.unwrap_or_default();
    let status = init.pointer("/mcp_servers/0/status").and_then(Value::as_str);
    checks.add("connects", status == Some("connected"), &output);
    let requests = model.requests();
    let offered = requests.first().and_then(|request| request.body.get("tools")?.as_array().cloned());
    let offered = offered.unwrap_or_default();
    let names: Vec<&str> = offered.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
    let are_listed = calls.iter().all(|call| names.contains(&call.name.as_str()));
    checks.add("lists tools", are_listed, names.join(" "));
    // The last message of a request has the prompt, or the result of the call before.
    let last_message = |number: usize| {
        let message = requests.get(number).and_then(|request| request.messages().last());
        message.map(Value::to_string).unwrap_or_default()
    };
    if let Some((command, _)) = prompt.text.strip_prefix('/').and_then(|text| text.split_once(' ')) {
        let message = last_message(0);
        checks.add(format!("prompt `{command}`"), message.contains(prompt.expected), message);
    }
    for (number, call) in (1..).zip(calls) {
        let result = last_message(number);
        checks.add(&call.label, result.contains(call.expected), result);
    }
    checks.add("ends", output.code == Some(0), &output);
    checks
}

/// A server over HTTP. Dropping it ends the process.
struct ListeningServer(Child);

impl ListeningServer {
    /// Starts a server and waits until it accepts connections.
    fn start(mut command: Command, address: SocketAddr) -> Result<Self, SuiteError> {
        let display = format!("{:?}", command.get_program());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self(command.spawn().map_err(SuiteError::system(display.clone()))?);
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            match TcpStream::connect(address) {
                Ok(_) => return Ok(server),
                Err(error) if Instant::now() > deadline => {
                    return Err(SuiteError::System(display, error));
                }
                Err(_) => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }
}

impl Drop for ListeningServer {
    fn drop(&mut self) {
        // The process may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
