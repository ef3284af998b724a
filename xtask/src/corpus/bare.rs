//! An attack with nothing in its way: bash itself runs the command, without the program, its rules and its sandbox.
//!
//! If the harm is done and seen here, then it is the program that prevents it elsewhere. Refuses calls that bash does
//! not know.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use ibeam_testkit::Finished;
use serde_json::json;

use super::arrange::Arranged;
use super::case::Case;
use super::ground::Ground;
use super::ran::Ran;
use super::who::program;

/// Some attacks end by themselves only after minutes; their harm is done at once.
const SECONDS: &str = "8";

/// Runs the command of a case, and tells of it as the program would.
pub(super) fn run(case: &Case, ground: &Ground, arranged: &Arranged) -> io::Result<Ran> {
    let text = |key: &str| case.args.get(key).and_then(serde_json::Value::as_str);
    let (Some(command), "shell") = (text("command"), case.tool.as_str()) else {
        return Err(io::Error::other("only commands do harm without the program"));
    };
    let directory = text("workingDirectory").or_else(|| text("working_directory")).unwrap_or_default();
    // What outlives the command may hold its pipes; files let it.
    let (stdout, stderr) = (ground.top().join("stdout"), ground.top().join("stderr"));
    let mut words = vec![program("timeout").unwrap_or_else(|| "timeout".into()).into_os_string()];
    words.extend(["--kill-after=1".into(), SECONDS.into()]);
    words.extend(ground.who.launcher());
    words.extend(["/bin/bash", "--norc", "--noprofile", "-c", command].map(Into::into));
    let (launcher, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let started = Instant::now();
    let status = Command::new(launcher)
        .args(args)
        .current_dir(ground.workspace.path().join(directory))
        .env_clear()
        .env("HOME", ground.workspace.home())
        .envs(arranged.environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .status()?;
    let read = |path| Ok::<_, io::Error>(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
    let told = json!({ "stdout": read(&stdout)?, "stderr": read(&stderr)?, "exitCode": status.code() });
    let result = if status.success() { json!({ "success": told }) } else { json!({ "failure": told }) };
    let call = json!({ "shellToolCall": { "args": { "command": command }, "result": result } });
    let completed = json!({ "type": "tool_call", "subtype": "completed", "tool_call": call });
    let finished = Finished {
        code: Some(0),
        signal: status.signal(),
        stdout: format!("{completed}\n{}\n", json!({ "type": "result" })),
        stderr: String::new(),
        elapsed: started.elapsed(),
    };
    Ok(Ran { finished, requests: Vec::new() })
}
