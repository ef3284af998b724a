//! `cargo xtask sdks`: the SDKs of Claude Code and Codex, unmodified, start this program in its dialects.
//!
//! Each is installed from its registry into `target/sdks` at a pinned version, without the program it bundles, and driven
//! by a script of `clients/sdks` against a scripted model. The scripts say what their SDK gave; what the model was sent
//! is checked here.

mod install;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{Answer, ModelServer, Request, Workspace};
use serde_json::json;

use ibeam_testkit::{BuildError, build_program};

/// The wheel would bring a program of 160 MB.
const CLAUDE: &str = "claude-agent-sdk==0.2.187";
/// Optional dependencies would bring others.
const CLAUDE_OF_NODE: &str = "@anthropic-ai/claude-agent-sdk@0.3.330";
const CODEX: &str = "@openai/codex-sdk@0.163.0";

const USAGE: &str = "usage: cargo xtask sdks [--bin PATH]";

/// Why not every check passed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// The words after the command.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// Something could not be started, read or written.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// Already printed.
    #[error("{0} of the SDKs did not understand everything")]
    Checks(usize),
}

impl Failed {
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// Runs both and prints a line for each check.
pub(crate) fn run(root: &Path, mut words: impl Iterator<Item = String>) -> Result<(), Failed> {
    let program = match (words.next().as_deref(), words.next(), words.next()) {
        (None, ..) => build_program(root, &[])?,
        (Some("--bin"), Some(path), None) => fs::canonicalize(&path).map_err(Failed::system(path))?,
        _ => return Err(Failed::Usage("only `--bin PATH` is taken".to_owned())),
    };
    let target = root.join("target/sdks");
    let failed = [
        claude(root, &target, &program)?,
        claude_of_node(root, &target, &program)?,
        codex(root, &target, &program)?,
    ];
    let failed = failed.into_iter().filter(|passed| !passed).count();
    if failed == 0 { Ok(()) } else { Err(Failed::Checks(failed)) }
}

fn claude(root: &Path, target: &Path, program: &Path) -> Result<bool, Failed> {
    let directory = target.join("claude");
    if let Err(missing) = install::of_python(&directory, CLAUDE) {
        return Ok(skip("claude-agent-sdk", &missing));
    }
    let server = ModelServer::start([
        write("hello.txt", "toolu_1"),
        says("The file is made."),
        says("It says hello."),
        says("One."),
        says("Two."),
        says("Three."),
        Answer::new().call("toolu_6", "mcp_calc_add", &json!({ "a": 1, "b": 2 })),
        says("It is three."),
        write("guarded.txt", "toolu_7"),
        says("It is guarded."),
        write("changed.txt", "toolu_8"),
        says("It is changed."),
        write("yes.txt", "toolu_2"),
        says("Done."),
        write("no.txt", "toolu_3"),
        says("Not done."),
        write("unasked.txt", "toolu_4"),
        says("I may not."),
        // An interrupt ends it, whenever it comes.
        says("I wait.").call("toolu_5", "shell", &json!({ "command": "sleep 300" })),
        says("Here again."),
    ]);
    let failing = unauthorised();
    let stage = Stage::set("claude", program)?;
    let mut script = Command::new(directory.join("bin/python"));
    script.arg(root.join("clients/sdks/claude.py"));
    script.args([&stage.shim, stage.workspace.path()]).arg(failing.url());
    script.env("ANTHROPIC_BASE_URL", server.url());
    let mut passed = stage.play(script)?;
    let requests = server.requests();
    passed &= check(
        "claude-agent-sdk: the model got the key",
        header(&requests, "x-api-key", "key-of-the-acceptance"),
    );
    passed &=
        check("claude-agent-sdk: a resumed session is remembered", mentions(requests.get(2), "make a file"));
    passed &= check("claude-agent-sdk: and so is the turn before", mentions(requests.get(4), "first"));
    Ok(passed)
}

fn claude_of_node(root: &Path, target: &Path, program: &Path) -> Result<bool, Failed> {
    let directory = target.join("claude-of-node");
    if let Err(missing) = install::of_node(&directory, CLAUDE_OF_NODE) {
        return Ok(skip("claude-agent-sdk.mjs", &missing));
    }
    let server = ModelServer::start([
        write("hello.txt", "toolu_1"),
        says("The file is made."),
        says("It says hello."),
        write("yes.txt", "toolu_2"),
        says("Done."),
    ]);
    let failing = unauthorised();
    let stage = Stage::set("claude", program)?;
    let mut script = Command::new("node");
    script.arg(root.join("clients/sdks/claude.mjs"));
    script.args([&stage.shim, stage.workspace.path()]).arg(failing.url());
    script.env("ANTHROPIC_BASE_URL", server.url()).current_dir(&directory);
    let mut passed = stage.play(script)?;
    let requests = server.requests();
    passed &= check(
        "claude-agent-sdk.mjs: the model got its instructions",
        mentions(requests.first(), "Speak Latin."),
    );
    passed &= check(
        "claude-agent-sdk.mjs: a resumed session is remembered",
        mentions(requests.get(2), "make a file"),
    );
    Ok(passed)
}

fn codex(root: &Path, target: &Path, program: &Path) -> Result<bool, Failed> {
    let directory = target.join("codex");
    if let Err(missing) = install::of_node(&directory, CODEX) {
        return Ok(skip("codex-sdk", &missing));
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
    let failing = unauthorised();
    let stage = Stage::set("codex", program)?;
    let mut script = Command::new("node");
    script.arg(root.join("clients/sdks/codex.mjs"));
    script.args([&stage.shim, stage.workspace.path()]);
    script.args([format!("{}/v1", server.url()), format!("{}/v1", failing.url())]);
    script.current_dir(&directory);
    let mut passed = stage.play(script)?;
    let requests = server.requests();
    let key = header(&requests, "authorization", "Bearer key-of-the-acceptance");
    passed &= check("codex-sdk: the model got the key", key);
    passed &= check("codex-sdk: a resumed thread is remembered", mentions(requests.get(3), "make a file"));
    Ok(passed)
}

fn says(text: &str) -> Answer {
    Answer::new().text(text)
}

fn write(name: &str, id: &str) -> Answer {
    says("I write it.").call(id, "write", &json!({ "path": name, "fileText": "hello\n" }))
}

/// A workspace, and the program under the name of a dialect.
struct Stage {
    workspace: Workspace,
    shim: PathBuf,
}

impl Stage {
    fn set(dialect: &str, program: &Path) -> Result<Self, Failed> {
        let workspace = Workspace::new();
        let shim = workspace.outside().join(dialect);
        let text = format!("#!/bin/sh\nexec '{}' --dialect {dialect} \"$@\"\n", program.display());
        let made = fs::write(&shim, text)
            .and_then(|()| fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)));
        made.map_err(Failed::system(shim.display()))?;
        Ok(Self { workspace, shim })
    }

    /// Runs a script as a user who has set nothing but a key.
    fn play(&self, mut script: Command) -> Result<bool, Failed> {
        script.env("HOME", self.workspace.home()).env("ANTHROPIC_API_KEY", "key-of-the-acceptance");
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "OPENAI_API_KEY"]
        {
            script.env_remove(name);
        }
        let shown = format!("{script:?}");
        Ok(script.status().map_err(Failed::system(shown))?.success())
    }
}

fn unauthorised() -> ModelServer {
    ModelServer::start((0..8).map(|_| Answer::error(401, "authentication_error", "invalid x-api-key")))
}

fn header(requests: &[Request], name: &str, value: &str) -> bool {
    !requests.is_empty() && requests.iter().all(|request| request.header(name) == Some(value))
}

fn mentions(request: Option<&Request>, text: &str) -> bool {
    request.is_some_and(|request| request.body.to_string().contains(text))
}

fn check(name: &str, holds: bool) -> bool {
    println!("{} {name}", if holds { "PASS" } else { "FAIL" });
    holds
}

fn skip(name: &str, missing: &str) -> bool {
    eprintln!("SKIP: {name}: {missing}");
    true
}
