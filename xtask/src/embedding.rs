//! `cargo xtask embedding`: builds a program outside of the workspace that embeds the agent, and runs it.
//!
//! The program is `examples/embedded-agent`. It is built as a copy below `target`, with the versions of the libraries that
//! the workspace has, so that both share what is compiled.

use std::fs;
use std::path::Path;
use std::process::Command;

use ibeam_testkit::{Answer, Ibeam, ModelServer, Wire, Workspace};
use serde_json::json;

use crate::suite::SuiteError;

const NAME: &str = "embedded-agent";

/// Builds the program, and checks what it prints and what the model gets.
///
/// # Errors
/// `Failed` with what differs; `System` if a file or cargo cannot be used.
pub(crate) fn run(root: &Path) -> Result<(), SuiteError> {
    let (source, copy) = (root.join("examples").join(NAME), root.join("target").join(NAME));
    fs::create_dir_all(copy.join("src")).map_err(SuiteError::system(copy.display()))?;
    for name in ["Cargo.toml", "src/main.rs"] {
        fs::copy(source.join(name), copy.join(name)).map_err(SuiteError::system(name))?;
    }
    fs::copy(root.join("Cargo.lock"), copy.join("Cargo.lock")).map_err(SuiteError::system("Cargo.lock"))?;
    let target = root.join("target");
    let mut cargo = Command::new("cargo");
    cargo.arg("build").current_dir(&copy).env("CARGO_TARGET_DIR", &target);
    let status = cargo.status().map_err(SuiteError::system("cargo"))?;
    if !status.success() {
        return Err(SuiteError::Failed(format!("`{NAME}` is not built")));
    }

    let call = |id, tool, arguments| Answer::new().call(id, tool, &arguments);
    let server = ModelServer::start([
        call("c1", "ticket", json!({ "number": 7 })),
        call("c2", "write", json!({ "path": "/etc/x", "fileText": "" })),
        Answer::new().text("It is about a squeaking door."),
    ]);
    let (workspace, wire) = (Workspace::new(), Wire::Anthropic);
    let output = Ibeam::new(target.join("debug").join(NAME), &workspace)
        .args(["What is ticket 7 about?"])
        .env("IBEAM_MODEL", wire.model_name())
        .env(wire.base_url_variable(), server.url())
        .env(wire.key_variable(), "key-0123456789abcdef")
        .run();
    let sent = server.requests().last().map(|request| request.transcript().join("\n")).unwrap_or_default();
    let is_expected = output.code == Some(0)
        && output.stdout == "It is about a squeaking door.\n"
        && output.stderr.contains("3 model requests")
        && sent.contains("The door squeaks when it rains.")
        && sent.contains("this program allows only `ticket`");
    match is_expected {
        true => Ok(()),
        false => Err(SuiteError::Failed(format!("`{NAME}`: {output}\nthe model got: {sent}"))),
    }
}
