//! `cargo xtask sdks`: the unmodified SDKs of Claude Code and Codex start this program in its dialects.
//!
//! Each SDK is installed from its registry into `target/sdks` at a pinned version, without the program that the package
//! bundles. A script of `clients/sdks` uses the SDK with a scripted model and checks its results. This module checks the
//! requests to the model.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{Answer, BuildError, ModelServer, Request, Workspace, build_program};
use serde_json::json;

use crate::conformance::{ConformanceError, Counts, SuiteResult, record};
use crate::interpreter::find_python;

/// The SDK of Claude Code for Python, built from source, since the wheel contains a program of 160 MB.
const CLAUDE_PYTHON: &str = "claude-agent-sdk==0.2.187";
/// The SDK of Claude Code for Node, installed without optional dependencies, which contain programs.
const CLAUDE_NODE: &str = "@anthropic-ai/claude-agent-sdk@0.3.330";
/// The SDK of Codex for Node.
const CODEX: &str = "@openai/codex-sdk@0.163.0";

const USAGE: &str = "usage: cargo xtask sdks [--bin PATH]";

/// A failure of this subcommand, or of checks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SdksError {
    /// Invalid arguments.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// A program that could not be started, or a file that could not be read or written.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// The result could not be recorded.
    #[error(transparent)]
    Record(#[from] ConformanceError),
    /// The number of failed SDKs, whose checks are already printed.
    #[error("{0} of the SDKs failed")]
    Checks(usize),
}

impl SdksError {
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// The result of the checks of an SDK.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SdkResult {
    Passed,
    Failed,
    /// This machine lacks a requirement.
    Skipped,
}

impl SdkResult {
    fn from_checks(passed: bool) -> Self {
        if passed { Self::Passed } else { Self::Failed }
    }
}

/// Runs all scripts and prints a line for each check.
pub(crate) fn run(root: &Path, mut words: impl Iterator<Item = String>) -> Result<(), SdksError> {
    let program = match (words.next().as_deref(), words.next(), words.next()) {
        (None, ..) => build_program(root)?,
        (Some("--bin"), Some(path), None) => fs::canonicalize(&path).map_err(SdksError::system(path))?,
        _ => return Err(SdksError::Usage("the only option is `--bin PATH`".to_owned())),
    };
    let target = root.join("target/sdks");
    let results = [
        run_claude_python(root, &target, &program)?,
        run_claude_node(root, &target, &program)?,
        run_codex(root, &target, &program)?,
    ];
    let count = |result: SdkResult| results.iter().filter(|other| **other == result).count();
    let counts = Counts {
        passed: count(SdkResult::Passed),
        failed: count(SdkResult::Failed),
        skipped: count(SdkResult::Skipped),
        known_failures: 0,
    };
    let versions = [("PyPI", CLAUDE_PYTHON, "=="), ("npm", CLAUDE_NODE, "@"), ("npm", CODEX, "@")];
    let version = |(registry, pin, separator): (&str, &str, &str)| {
        let (name, version) = pin.rsplit_once(separator).unwrap_or((pin, ""));
        format!("{registry} `{name}` {version}")
    };
    let versions = versions.into_iter().map(version).collect();
    record(root, "sdks", SuiteResult { versions, counts, details: Vec::new() })?;
    if counts.failed == 0 { Ok(()) } else { Err(SdksError::Checks(counts.failed)) }
}

fn run_claude_python(root: &Path, target: &Path, program: &Path) -> Result<SdkResult, SdksError> {
    let directory = target.join("claude");
    if let Err(missing) = install_from_pypi(&directory, CLAUDE_PYTHON) {
        return Ok(print_skip("claude-agent-sdk", &missing));
    }
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
    Ok(SdkResult::from_checks(passed))
}

fn run_claude_node(root: &Path, target: &Path, program: &Path) -> Result<SdkResult, SdksError> {
    let directory = target.join("claude-of-node");
    if let Err(missing) = install_from_npm(&directory, CLAUDE_NODE) {
        return Ok(print_skip("claude-agent-sdk.mjs", &missing));
    }
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
    Ok(SdkResult::from_checks(passed))
}

fn run_codex(root: &Path, target: &Path, program: &Path) -> Result<SdkResult, SdksError> {
    let directory = target.join("codex");
    if let Err(missing) = install_from_npm(&directory, CODEX) {
        return Ok(print_skip("codex-sdk", &missing));
    }
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
    Ok(SdkResult::from_checks(passed))
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
    fn create(dialect: &str, program: &Path) -> Result<Self, SdksError> {
        let workspace = Workspace::new();
        let shim = workspace.outside().join(dialect);
        let text = format!("#!/bin/sh\nexec '{}' --dialect {dialect} \"$@\"\n", program.display());
        let written = fs::write(&shim, text)
            .and_then(|()| fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)));
        written.map_err(SdksError::system(shim.display()))?;
        Ok(Self { workspace, shim })
    }

    /// Runs a script in an environment without settings except an API key.
    fn run_script(&self, mut script: Command) -> Result<bool, SdksError> {
        script.env("HOME", self.workspace.home()).env("ANTHROPIC_API_KEY", "key-of-the-acceptance");
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "OPENAI_API_KEY"]
        {
            script.env_remove(name);
        }
        let display = format!("{script:?}");
        Ok(script.status().map_err(SdksError::system(display))?.success())
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

/// Prints the requirement that this machine lacks.
fn print_skip(name: &str, missing: &str) -> SdkResult {
    eprintln!("SKIP: {name}: {missing}");
    SdkResult::Skipped
}

/// Installs a package of PyPI from its source, in a virtual environment. The error is the requirement that this machine
/// lacks.
fn install_from_pypi(directory: &Path, pin: &str) -> Result<(), String> {
    let python = directory.join("bin/python").display().to_string();
    let display_path = directory.display().to_string();
    let name = pin.split("==").next().unwrap_or(pin);
    let found = find_python().ok_or("no Python with `venv` and `pip` found")?.program.display().to_string();
    let venv = [&*found, "-m", "venv", "--clear", &display_path];
    let pip =
        [&*python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-binary", name, pin];
    install_once(directory, pin, &[&venv, &pip])
}

/// Installs packages of npm, separated by spaces, without optional dependencies and install scripts. The error is the requirement that this
/// machine lacks.
pub(crate) fn install_from_npm(directory: &Path, pin: &str) -> Result<(), String> {
    let display_path = directory.display().to_string();
    let npm =
        ["npm", "install", "--prefix", &display_path, "--omit=optional", "--ignore-scripts", "--no-audit"];
    let npm: Vec<&str> = npm.into_iter().chain(["--no-fund", "--silent"]).chain(pin.split(' ')).collect();
    let written = fs::create_dir_all(directory);
    written
        .and_then(|()| fs::write(directory.join("package.json"), "{\"private\":true}\n"))
        .map_err(|error| format!("{display_path}: {error}"))?;
    install_once(directory, pin, &[&["node", "--version"], &npm])
}

/// Runs the steps unless they have completed with this pin. The error is the requirement that this machine lacks.
fn install_once(directory: &Path, pin: &str, steps: &[&[&str]]) -> Result<(), String> {
    let installed_pin_file = directory.join("installed-pin");
    if fs::read_to_string(&installed_pin_file).is_ok_and(|installed| installed == pin) {
        return Ok(());
    }
    println!("== installing {pin}");
    for step in steps {
        let Some((program, args)) = step.split_first() else { continue };
        let output =
            Command::new(program).args(args).output().map_err(|error| format!("`{program}`: {error}"))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "`{}` failed: {}",
                step.join(" "),
                stderr.lines().last().unwrap_or_default()
            ));
        }
    }
    fs::write(&installed_pin_file, pin).map_err(|error| error.to_string())
}
