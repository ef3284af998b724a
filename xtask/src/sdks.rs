//! `cargo xtask sdks`: the unmodified SDKs of Claude Code and Codex start this program in its dialects.
//!
//! Each SDK is installed from its registry into `target/sdks` at a pinned version, without the program that the package
//! bundles. A script of `clients/sdks` uses the SDK with a scripted model and checks its results. This module checks the
//! requests to the model.

mod dialect_programs;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{Answer, ModelServer, Request, Workspace};
use serde_json::json;

use crate::clients::NO_PYTHON;
use crate::interpreter::find_python;
use crate::suite::{ProgramOption, SuiteContext, SuiteError};

/// The SDK of Claude Code for Python, built from source, since the wheel contains a program of 160 MB.
const CLAUDE_PYTHON: &str = "claude-agent-sdk==0.2.189";
/// The SDK of Claude Code for Node, installed without optional dependencies, which contain programs.
const CLAUDE_NODE: &str = "@anthropic-ai/claude-agent-sdk@0.3.333";
/// The SDK of Codex for Node.
const CODEX: &str = "@openai/codex-sdk@0.163.0";

/// Runs all scripts and prints a line for each check and each SDK.
pub(crate) fn run(root: &Path, program: &ProgramOption) -> Result<(), SuiteError> {
    SuiteContext::new(root, program)?.run("sdks", |context, result| {
        type Sdk = (&'static str, fn(&Path, &Path, &Path) -> Result<bool, SuiteError>);
        let sdks: [Sdk; 3] = [
            ("claude-agent-sdk", run_claude_python),
            ("claude-agent-sdk.mjs", run_claude_node),
            ("codex-sdk", run_codex),
        ];
        for (name, run_sdk) in sdks {
            let passed = run_sdk(root, &root.join("target/sdks"), &context.program);
            if let Some(is_passed) = result.available(name, passed)? {
                result.add(name, is_passed, "");
            }
        }
        let pins = [("PyPI", CLAUDE_PYTHON, "=="), ("npm", CLAUDE_NODE, "@"), ("npm", CODEX, "@")];
        result.versions.extend(pins.map(|(registry, pin, separator)| {
            let (name, version) = pin.rsplit_once(separator).unwrap_or((pin, ""));
            format!("{registry} `{name}` {version}")
        }));
        dialect_programs::run(root, context, result)
    })
}

fn run_claude_python(root: &Path, target: &Path, program: &Path) -> Result<bool, SuiteError> {
    let directory = target.join("claude");
    install_from_pypi(&directory, CLAUDE_PYTHON)?;
    let server = ModelServer::start([
        write_file_answer("hello.txt", "toolu_1"),
        text_answer("The file is made."),
        text_answer("It says hello."),
        text_answer("One."),
        text_answer("Two."),
        text_answer("Three."),
        Answer::new().call("toolu_6", "mcp_calc_add", &json!({ "a": 1, "b": 2 })),
        text_answer("It is three."),
        write_file_answer("guarded.txt", "toolu_7"),
        text_answer("It is guarded."),
        write_file_answer("changed.txt", "toolu_8"),
        text_answer("It is changed."),
        write_file_answer("yes.txt", "toolu_2"),
        text_answer("Done."),
        write_file_answer("no.txt", "toolu_3"),
        text_answer("Not done."),
        write_file_answer("unasked.txt", "toolu_4"),
        text_answer("I may not."),
        // The script interrupts this command.
        text_answer("I wait.").call("toolu_5", "shell", &json!({ "command": "sleep 300" })),
        text_answer("Here again."),
    ]);
    let failing = unauthorised_server();
    let environment = SdkEnvironment::create("claude", program)?;
    let mut script = Command::new(directory.join("bin/python"));
    script.arg(root.join("clients/sdks/claude.py"));
    script.args([&environment.shim, environment.workspace.path()]).arg(failing.url());
    script.env("ANTHROPIC_BASE_URL", server.url());
    let mut passed = environment.run_script(script)?;
    let requests = server.requests();
    passed &= print_check(
        "claude-agent-sdk: the model got the key",
        all_have_header(&requests, "x-api-key", "key-of-the-acceptance"),
    );
    passed &= print_check(
        "claude-agent-sdk: a resumed session has its history",
        body_contains(requests.get(2), "make a file"),
    );
    passed &= print_check(
        "claude-agent-sdk: the history has the turn before",
        body_contains(requests.get(4), "first"),
    );
    Ok(passed)
}

fn run_claude_node(root: &Path, target: &Path, program: &Path) -> Result<bool, SuiteError> {
    let directory = target.join("claude-of-node");
    install_from_npm(&directory, CLAUDE_NODE)?;
    let server = ModelServer::start([
        write_file_answer("hello.txt", "toolu_1"),
        text_answer("The file is made."),
        text_answer("It says hello."),
        write_file_answer("yes.txt", "toolu_2"),
        text_answer("Done."),
    ]);
    let failing = unauthorised_server();
    let environment = SdkEnvironment::create("claude", program)?;
    let mut script = Command::new("node");
    script.arg(root.join("clients/sdks/claude.mjs"));
    script.args([&environment.shim, environment.workspace.path()]).arg(failing.url());
    script.env("ANTHROPIC_BASE_URL", server.url()).current_dir(&directory);
    let mut passed = environment.run_script(script)?;
    let requests = server.requests();
    passed &= print_check(
        "claude-agent-sdk.mjs: the model got its instructions",
        body_contains(requests.first(), "Speak Latin."),
    );
    passed &= print_check(
        "claude-agent-sdk.mjs: a resumed session has its history",
        body_contains(requests.get(2), "make a file"),
    );
    Ok(passed)
}

fn run_codex(root: &Path, target: &Path, program: &Path) -> Result<bool, SuiteError> {
    let directory = target.join("codex");
    install_from_npm(&directory, CODEX)?;
    let server =
        ModelServer::start([
            Answer::new()
                .call("call_1", "write", &json!({ "path": "hello.txt", "fileText": "hello\n" }))
                .call("call_2", "shell", &json!({ "command": "echo ran" })),
            Answer::new().text("The file ").text("is made."),
            Answer::new().text("It says hello."),
            Answer::new().text("Once more."),
            Answer::new().call("call_3", "write", &json!({ "path": "unasked.txt", "fileText": "x" })),
            Answer::new().text("I may not."),
        ]);
    let failing = unauthorised_server();
    let environment = SdkEnvironment::create("codex", program)?;
    let mut script = Command::new("node");
    script.arg(root.join("clients/sdks/codex.mjs"));
    script.args([&environment.shim, environment.workspace.path()]);
    script.args([format!("{}/v1", server.url()), format!("{}/v1", failing.url())]);
    script.current_dir(&directory);
    let mut passed = environment.run_script(script)?;
    let requests = server.requests();
    let key = all_have_header(&requests, "authorization", "Bearer key-of-the-acceptance");
    passed &= print_check("codex-sdk: the model got the key", key);
    passed &= print_check(
        "codex-sdk: a resumed thread has its history",
        body_contains(requests.get(3), "make a file"),
    );
    Ok(passed)
}

fn text_answer(text: &str) -> Answer {
    Answer::new().text(text)
}

/// Returns an answer with a call that writes a file.
fn write_file_answer(name: &str, id: &str) -> Answer {
    text_answer("I write it.").call(id, "write", &json!({ "path": name, "fileText": "hello\n" }))
}

/// A workspace, and a script that starts the program in a dialect.
struct SdkEnvironment {
    workspace: Workspace,
    shim: PathBuf,
}

impl SdkEnvironment {
    fn create(dialect: &str, program: &Path) -> Result<Self, SuiteError> {
        let workspace = Workspace::new();
        let shim = workspace.outside().join(dialect);
        let text = format!("#!/bin/sh\nexec '{}' --dialect {dialect} \"$@\"\n", program.display());
        let written = fs::write(&shim, text)
            .and_then(|()| fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)));
        written.map_err(SuiteError::system(shim.display()))?;
        Ok(Self { workspace, shim })
    }

    /// Runs a script in an environment without settings except an API key.
    fn run_script(&self, mut script: Command) -> Result<bool, SuiteError> {
        script.env("HOME", self.workspace.home()).env("ANTHROPIC_API_KEY", "key-of-the-acceptance");
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "OPENAI_API_KEY"]
        {
            script.env_remove(name);
        }
        let display = format!("{script:?}");
        Ok(script.status().map_err(SuiteError::system(display))?.success())
    }
}

/// Starts a server that rejects every key.
fn unauthorised_server() -> ModelServer {
    ModelServer::start((0..8).map(|_| Answer::error(401, "authentication_error", "invalid x-api-key")))
}

fn all_have_header(requests: &[Request], name: &str, value: &str) -> bool {
    !requests.is_empty() && requests.iter().all(|request| request.header(name) == Some(value))
}

fn body_contains(request: Option<&Request>, text: &str) -> bool {
    request.is_some_and(|request| request.body.to_string().contains(text))
}

/// Prints and returns the result of a check.
fn print_check(name: &str, is_passed: bool) -> bool {
    println!("{} {name}", if is_passed { "PASS" } else { "FAIL" });
    is_passed
}

/// Installs a package of PyPI from its source, in a virtual environment.
fn install_from_pypi(directory: &Path, pin: &str) -> Result<(), SuiteError> {
    let python = directory.join("bin/python").display().to_string();
    let display_path = directory.display().to_string();
    let name = pin.split("==").next().unwrap_or(pin);
    let found = find_python().ok_or_else(|| SuiteError::Missing(NO_PYTHON.to_owned()))?;
    let found = found.program.display().to_string();
    let venv = [&*found, "-m", "venv", "--clear", &display_path];
    let pip =
        [&*python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-binary", name, pin];
    install_once(directory, pin, &[&venv, &pip])
}

/// Installs packages of npm, separated by spaces, without optional dependencies and install scripts.
pub(crate) fn install_from_npm(directory: &Path, pin: &str) -> Result<(), SuiteError> {
    let display_path = directory.display().to_string();
    let npm =
        ["npm", "install", "--prefix", &display_path, "--omit=optional", "--ignore-scripts", "--no-audit"];
    let npm: Vec<&str> = npm.into_iter().chain(["--no-fund", "--silent"]).chain(pin.split(' ')).collect();
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(directory.join("package.json"), "{\"private\":true}\n"))
        .map_err(SuiteError::system(&display_path))?;
    install_once(directory, pin, &[&["node", "--version"], &npm])
}

/// Runs the steps unless they have completed with this pin. A step that fails is a missing requirement.
fn install_once(directory: &Path, pin: &str, steps: &[&[&str]]) -> Result<(), SuiteError> {
    let installed_pin_file = directory.join("installed-pin");
    if fs::read_to_string(&installed_pin_file).is_ok_and(|installed| installed == pin) {
        return Ok(());
    }
    println!("== installing {pin}");
    for step in steps {
        let Some((program, args)) = step.split_first() else { continue };
        let output = Command::new(program).args(args).output();
        let output = output.map_err(|error| SuiteError::Missing(format!("`{program}`: {error}")))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let (command, reason) = (step.join(" "), stderr.lines().last().unwrap_or_default());
            return Err(SuiteError::Missing(format!("`{command}` failed: {reason}")));
        }
    }
    fs::write(&installed_pin_file, pin).map_err(SuiteError::system(installed_pin_file.display()))
}
