//! MCP clients of others that use `ibeam mcp serve`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use ibeam_testkit::{Answer, Ibeam, ModelServer, RunningProgram, Workspace};
use serde_json::{Value, json};

use crate::servers::server_process::free_address;
use crate::suite::{Checks, Programs, SuiteError, SuiteResult};

const TOKEN: &str = "fake-token-of-the-checks";
const KEY: &str = "fake-key-of-the-checks";
const PROMPT: &str = "Say hello.";

/// A way to reach the server.
#[derive(Clone, Copy)]
enum Transport {
    Stdio,
    Http,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
        }
    }
}

/// The surroundings of a client: a scripted model, a home and, over HTTP, a running server.
struct Scene {
    model: ModelServer,
    workspace: Workspace,
    /// The server and its URL; `None` over stdio, where the client starts the server.
    server: Option<(RunningProgram, String)>,
}

impl Scene {
    fn start(programs: &Programs, transport: Transport, answers: &[&str]) -> Result<Self, SuiteError> {
        let model = ModelServer::start(answers.iter().map(|text| Answer::new().text(*text)));
        let workspace = Workspace::new();
        let mut scene = Self { model, workspace, server: None };
        match transport {
            Transport::Stdio => {}
            Transport::Http => {
                let address = free_address()?;
                let args = ["mcp", "serve", "--http", &address.port().to_string()];
                let ibeam = Ibeam::new(&programs.ibeam, &scene.workspace).args(args);
                let settings = scene.settings().into_iter();
                let ibeam = settings.fold(ibeam, |ibeam, (name, value)| ibeam.env(name, value));
                let server = ibeam.env("IBEAM_MCP_TOKEN", TOKEN).start();
                let url = format!("http://{address}/mcp");
                server.wait_for_stdout(&url);
                scene.server = Some((server, url));
            }
        }
        Ok(scene)
    }

    /// Returns the variables that configure the model.
    fn settings(&self) -> [(&'static str, String); 3] {
        [
            ("IBEAM_MODEL", "anthropic/claude-test".to_owned()),
            ("ANTHROPIC_BASE_URL", self.model.url()),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ]
    }

    /// Returns the URL of the server; `None` over stdio.
    fn url(&self) -> Option<&str> {
        self.server.as_ref().map(|(_, url)| url.as_str())
    }

    /// Returns a command with the environment of the workspace.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.workspace.home()).current_dir(self.workspace.path());
        command
    }
}

/// Lets every client use ibeam.
pub(super) fn run(programs: &Programs, result: &mut SuiteResult) -> Result<(), SuiteError> {
    let inspector = programs.packages.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    for transport in [Transport::Stdio, Transport::Http] {
        for (era, revision) in [("legacy", "session"), ("modern", "2026-07-28")] {
            let checks = run_inspector(programs, &inspector, transport, era)?;
            let connection = format!("client over {}, {revision}", transport.name());
            result.add_program("npm @modelcontextprotocol/inspector", &connection, &checks);
        }
        if let Some(python) = &programs.python {
            for (mode, revision) in [("legacy", "session"), ("2026-07-28", "2026-07-28")] {
                let checks = run_python(programs, python, transport, mode)?;
                let connection = format!("client over {}, {revision}", transport.name());
                result.add_program("PyPI mcp", &connection, &checks);
            }
        }
    }
    Ok(())
}

/// Uses the command line of the inspector. Each invocation makes one request.
fn run_inspector(
    programs: &Programs,
    script: &Path,
    transport: Transport,
    era: &str,
) -> Result<Checks, SuiteError> {
    let scene = Scene::start(programs, transport, &["Hello."])?;
    let mut checks = Checks::default();
    let url = scene.url();
    let request = |method: &str, args: &[&str]| {
        let mut command = scene.command(&programs.node);
        command.arg(script).args(["--cli", "--format", "json", "--quiet", "--protocol-era", era]);
        command.args(["--method", method]).args(args);
        match url {
            Some(url) => {
                command.args(["--transport", "http", "--server-url", url]);
                command.args(["--header", &format!("Authorization: Bearer {TOKEN}")]);
            }
            None => {
                for (name, value) in scene.settings() {
                    command.args(["-e", &format!("{name}={value}")]);
                }
                command.arg("--").args([programs.ibeam.as_os_str(), OsStr::new("mcp"), OsStr::new("serve")]);
            }
        }
        let output = command.output().map_err(SuiteError::system(programs.node.display()))?;
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let result = answer.get("result").cloned().unwrap_or_default();
        let texts = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok::<_, SuiteError>((output.status.success(), result, texts.concat()))
    };
    let (has_succeeded, result, seen) = request("tools/list", &["--strict"])?;
    let tools = result.get("tools").and_then(Value::as_array).map_or(0, Vec::len);
    checks.add("`tools/list --strict`", has_succeeded && tools == 3, seen);
    let arguments = json!({ "prompt": PROMPT }).to_string();
    let (has_succeeded, result, seen) =
        request("tools/call", &["--tool-name", "run", "--tool-args-json", &arguments])?;
    let text = result.pointer("/content/0/text").and_then(Value::as_str);
    let session = result.pointer("/structuredContent/session_id").and_then(Value::as_str);
    checks.add("`tools/call`", has_succeeded && text == Some("Hello.") && session.is_some(), seen);
    let uri = format!("ibeam://sessions/{}", session.unwrap_or_default());
    let (has_succeeded, result, seen) = request("resources/list", &[])?;
    let listed = result.pointer("/resources/0/uri").and_then(Value::as_str);
    checks.add("`resources/list`", has_succeeded && listed == Some(uri.as_str()), seen);
    let (has_succeeded, result, seen) = request("resources/read", &["--uri", &uri])?;
    let transcript = result.pointer("/contents/0/text").and_then(Value::as_str).unwrap_or_default();
    checks.add("`resources/read`", has_succeeded && transcript.contains(PROMPT), seen);
    let (has_succeeded, result, seen) = request("resources/templates/list", &[])?;
    let templates = result.get("resourceTemplates").and_then(Value::as_array).map_or(0, Vec::len);
    checks.add("`resources/templates/list`", has_succeeded && templates == 1, seen);
    Ok(checks)
}

/// Runs `client.py`, which uses the SDK for Python.
fn run_python(
    programs: &Programs,
    python: &Path,
    transport: Transport,
    mode: &str,
) -> Result<Checks, SuiteError> {
    let scene = Scene::start(programs, transport, &["Hello.", "Hello again."])?;
    let mut command = scene.command(python);
    command.arg(programs.scripts.join("client.py"));
    match scene.url() {
        Some(url) => command.args(["http", mode, url]).env("MCP_TOKEN", TOKEN),
        None => command.args(["stdio", mode]).arg(&programs.ibeam).envs(scene.settings()),
    };
    let output = command.output().map_err(SuiteError::system(python.display()))?;
    let mut checks = Checks::default();
    checks.add_printed(&output.stdout);
    checks.add("ends", output.status.success(), String::from_utf8_lossy(&output.stderr));
    Ok(checks)
}
