//! Attacks without protection: bash itself runs the command, without the program, its rules and its sandbox.
//!
//! If the evidence of such an attack shows harm, then it is the program that prevents the harm in other modes.
//! Calls of file tools become commands with the same effect. Calls without such a command are rejected.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use ibeam_testkit::ProgramOutput;
use serde_json::{Value, json};

use crate::case::Case;
use crate::fixture::Fixture;
use crate::run_result::RunResult;
use crate::setup::RunSetup;
use crate::user::find_system_program;

/// The timeout of a command. It is short, because some attacks end only after minutes, but do their harm at once.
const TIMEOUT_SECONDS: &str = "8";

/// Runs the command of a case, and returns its result in the form that the program prints.
pub(crate) fn run(case: &Case, fixture: &Fixture, run_setup: &RunSetup) -> io::Result<RunResult> {
    let text = |key: &str| case.args.get(key).and_then(Value::as_str);
    let command =
        equivalent_command(case).ok_or_else(|| io::Error::other("no command does what the call does"))?;
    let directory = text("workingDirectory").or_else(|| text("working_directory")).unwrap_or_default();
    // A process that outlives the command may hold its pipes open. Files do not have this problem.
    let (stdout, stderr) = (fixture.top().join("stdout"), fixture.top().join("stderr"));
    let mut words = vec![find_system_program("timeout").unwrap_or_else(|| "timeout".into()).into_os_string()];
    words.extend(["--kill-after=1".into(), TIMEOUT_SECONDS.into()]);
    words.extend(fixture.user.launcher());
    words.extend(["/bin/bash", "--norc", "--noprofile", "-c", command.as_str()].map(Into::into));
    let (launcher, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let started = Instant::now();
    let status = Command::new(launcher)
        .args(args)
        .current_dir(fixture.start_directory(case.cwd.as_deref()).join(directory))
        .env_clear()
        .env("HOME", fixture.workspace.home())
        .envs(run_setup.environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .status()?;
    let read = |path| Ok::<_, io::Error>(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
    let payload = json!({ "stdout": read(&stdout)?, "stderr": read(&stderr)?, "exitCode": status.code() });
    let result = if status.success() { json!({ "success": payload }) } else { json!({ "failure": payload }) };
    let call = json!({ "shellToolCall": { "args": { "command": command }, "result": result } });
    let completed = json!({ "type": "tool_call", "subtype": "completed", "tool_call": call });
    let finished = ProgramOutput {
        code: Some(0),
        signal: status.signal(),
        stdout: format!("{completed}\n{}\n", json!({ "type": "result" })),
        stderr: String::new(),
        elapsed: started.elapsed(),
    };
    Ok(RunResult { finished, requests: Vec::new() })
}

/// Returns the command that bash runs in place of the call.
pub(crate) fn equivalent_command(case: &Case) -> Option<String> {
    let text = |key: &str| case.args.get(key).and_then(Value::as_str);
    let quoted = |key: &str| text(key).map(|text| format!("'{}'", text.replace('\'', "'\\''")));
    match case.tool.as_str() {
        "shell" => text("command").map(str::to_owned),
        "write" => {
            let (path, text) = (quoted("path")?, quoted("fileText").unwrap_or_else(|| "''".to_owned()));
            Some(format!("mkdir -p -- \"$(dirname -- {path})\"; printf %s {text} > {path}"))
        }
        "delete" => Some(format!("rm -rf -- {}", quoted("path")?)),
        "read" => Some(format!("cat -- {}", quoted("path")?)),
        "ls" => Some(format!("ls -la -- {}", quoted("path").unwrap_or_else(|| ".".to_owned()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, args: Value, expect: Option<&str>) {
        let line = json!({"id": "x", "tool": tool, "args": args, "expect": "denied"});
        assert_eq!(equivalent_command(&Case::parse(&line).unwrap()).as_deref(), expect);
    }

    #[test]
    fn calls_become_the_commands_that_do_the_same() {
        check("shell", json!({"command": "ls"}), Some("ls"));
        let write = "mkdir -p -- \"$(dirname -- 'a/b')\"; printf %s 'it'\\''s' > 'a/b'";
        check("write", json!({"path": "a/b", "fileText": "it's"}), Some(write));
        check("delete", json!({"path": "a"}), Some("rm -rf -- 'a'"));
        check("read", json!({"path": "a"}), Some("cat -- 'a'"));
        check("grep", json!({"pattern": "a"}), None);
        check("shell", json!({}), None);
    }
}
