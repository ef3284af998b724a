//! A session with a scripted model, and its exports.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{Answer, ModelServer, Workspace};
use serde_json::json;

use crate::suite::SuiteError;

/// Texts of the session that a continued trajectory contains.
pub(super) const TEXTS: [&str; 3] = ["List the files", "I look at them.", "There are two files."];

/// A recorded session of two runs.
pub(super) struct Session {
    program: PathBuf,
    workspace: Workspace,
}

impl Session {
    /// Records a session with commands, edits, a failed call, a to-do list and Markdown.
    pub(super) fn record(program: &Path) -> Result<Self, SuiteError> {
        let workspace = Workspace::new().file("a.txt", "one\n").file("b.txt", "two\n");
        let session = Self { program: program.to_owned(), workspace };
        let todos = json!({ "todos": [
            { "id": "1", "content": "look", "status": "completed" },
            { "id": "2", "content": "edit", "status": "in_progress" },
        ] });
        let edit = json!({ "path": "a.txt", "strReplace": { "oldText": "one", "newText": "1" } });
        let server = ModelServer::start([
            Answer::new().text("I look at them.").call("t1", "shell", &json!({ "command": "ls" })),
            Answer::new().text("").call("t2", "read", &json!({ "path": "missing.txt" })),
            Answer::new().text("There are two files.\n\n| name | size |\n|---|---|\n| the `a.txt` | 4 |\n"),
            Answer::new().text("I plan.").call("t3", "update_todos", &todos),
            Answer::new().text("I edit.").call("t4", "edit", &edit),
            Answer::new().text("Done: **1**."),
        ]);
        session.run(&server, &["-p", "--force", "List the files"])?;
        session.run(&server, &["-p", "--force", "--continue", "Replace one by 1"])?;
        Ok(session)
    }

    /// Exports the session into a directory and returns the path of the file.
    pub(super) fn export(&self, format: &str, directory: &Path) -> Result<PathBuf, SuiteError> {
        let path = directory.join(format!("session.{format}"));
        self.replay(&[OsStr::new("-1")], format, &path)?;
        Ok(path)
    }

    /// Lets a run print its trajectory into a directory and returns the path of the file.
    pub(super) fn run_as_trajectory(&self, directory: &Path) -> Result<PathBuf, SuiteError> {
        let server = ModelServer::start([
            Answer::new().text("I count.").call("t1", "shell", &json!({ "command": "ls | wc -l" })),
            Answer::new().text("Two."),
        ]);
        let path = directory.join("run.atif");
        let mut command = self.command();
        command.args(["-p", "--force", "--ephemeral", "--output-format", "atif", "Count the files"]);
        let stdout = finish("-p", command.env("ANTHROPIC_BASE_URL", server.url()))?;
        fs::write(&path, stdout).map_err(SuiteError::system(path.display()))?;
        Ok(path)
    }

    /// Writes a replay in a format to a file.
    pub(super) fn replay(&self, args: &[&OsStr], format: &str, path: &Path) -> Result<(), SuiteError> {
        let mut command = self.command();
        command.arg("replay").args(args).args(["--output-format", format]);
        command.env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
        let stdout = finish("replay", &mut command)?;
        fs::write(path, stdout).map_err(SuiteError::system(path.display()))
    }

    /// Continues a trajectory with a prompt, and returns the request to the model.
    pub(super) fn continue_trajectory(&self, trajectory: &Path) -> Result<String, SuiteError> {
        let server = ModelServer::start([Answer::new().text("They are a.txt and b.txt.")]);
        let path = trajectory.display().to_string();
        self.run(&server, &["-p", "--from-atif", &path, "Name the files"])?;
        Ok(server.requests().first().map(|request| request.body.to_string()).unwrap_or_default())
    }

    fn run(&self, server: &ModelServer, args: &[&str]) -> Result<(), SuiteError> {
        let mut command = self.command();
        command.args(args).env("ANTHROPIC_BASE_URL", server.url());
        finish("-p", &mut command).map(drop)
    }

    /// Returns the program in an environment without settings except an API key.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().current_dir(self.workspace.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.workspace.home()).env("ANTHROPIC_API_KEY", "key-of-the-acceptance");
        command
    }
}

fn finish(name: &str, command: &mut Command) -> Result<Vec<u8>, SuiteError> {
    let output = command.output().map_err(SuiteError::system(name))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(SuiteError::Failed(format!("`ibeam {name}` failed: {stderr}")))
        }
    }
}
