//! An MCP server as a process, in Python: its program, its configuration, calls of its tools.

use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::fault_injection::skip;
use crate::scene::{Scene, answer_call};
use crate::{Answer, ProgramOutput, Workspace};

pub const SERVER: &str = include_str!("stdio_mcp_server/server.py");

/// Returns the path of the interpreter itself: `python3` in `PATH` may be a slow wrapper script.
pub fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let reported =
            Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
        String::from_utf8(reported.stdout)
            .ok()
            .map(|path| path.trim().to_owned())
            .filter(|path| !path.is_empty())
    };
    let found = PYTHON.get_or_init(find).as_deref();
    if found.is_none() {
        skip("no python3, in which the MCP servers of the tests are written");
    }
    found
}

/// Returns the table `[mcp_servers.NAME]` for the server of the tests, with these options.
pub fn table(name: &str, options: &[&str]) -> Option<String> {
    let args = [&["server.py"], options].concat();
    Some(format!("[mcp_servers.{name}]\ncommand = {:?}\nargs = {args:?}\n", python()?))
}

/// Returns a workspace whose user has configured the server `test`, with these options.
pub fn workspace(options: &[&str]) -> Option<Workspace> {
    Some(Workspace::new().file("server.py", SERVER).user_config(&table("test", options)?))
}

/// Returns an answer with a call of a tool of the server.
pub fn call(tool: &str, arguments: Value) -> Answer {
    answer_call(&format!("toolu_{tool}"), &format!("mcp_test_{tool}"), &arguments)
}

/// Returns the servers in `init`.
pub fn servers(_: &Scene, output: &ProgramOutput) -> Value {
    output.stream().init()["mcp_servers"].clone()
}

/// Returns the names of the tools of servers in the first request.
pub fn offered(scene: &Scene) -> Vec<String> {
    let requests = scene.server.requests();
    let tools = requests[0].body["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned));
    names.filter(|name| name.starts_with("mcp_")).collect()
}
