//! The set-up commands of a new worktree: `worktrees.json` of the workspace in which the user started.
//!
//! They run with the shell tool of the run, so in its sandbox and with its time limits. Only a trusted workspace has
//! set-up commands. A worktree counts as not set up until all of them have succeeded.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_config::{ConfigError, Trust};
use ibeam_core::{Redactor, Tool, ToolContext};
use ibeam_protocol::{Elision, Notice, Reason, ToolFailure, ToolOutcome, json_fault};
use serde::Deserialize;
use serde_json::json;

/// The files with set-up commands. The first that exists counts.
const FILES: [&str; 2] = [".ibeam/worktrees.json", ".cursor/worktrees.json"];
/// The variable with the path of the workspace in which the user started.
const ROOT_VARIABLE: &str = "ROOT_WORKTREE_PATH";
/// The number of bytes of the output of a failed command that the error shows.
const MAX_OUTPUT_BYTES: usize = 600;

/// The set-up commands of a worktree that has not been set up.
#[derive(Clone, Debug)]
pub(crate) struct WorktreeSetup {
    file: PathBuf,
    commands: Vec<String>,
    origin: SetupOrigin,
}

/// The places outside of a worktree that its set-up uses.
#[derive(Clone, Debug)]
pub(super) struct SetupOrigin {
    /// The workspace in which the user started.
    pub(super) root: PathBuf,
    /// The marker of a worktree that is not set up.
    pub(super) marker: PathBuf,
}

#[derive(Deserialize)]
struct WorktreesFile {
    #[serde(rename = "setup-worktree-unix")]
    unix: Option<CommandList>,
    /// Used unless there are commands for Unix.
    #[serde(rename = "setup-worktree")]
    all: Option<CommandList>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "the set-up of a worktree should be a list of commands, or the path of a script"
)]
enum CommandList {
    Commands(Vec<String>),
    /// The path of a script relative to the file, or a command.
    Script(String),
}

impl WorktreeSetup {
    /// Returns the set-up of a worktree by the files of `workspace`: of the directory where the user started, or of the
    /// worktree itself.
    ///
    /// # Errors
    /// `BadConfig` with line and column. A workspace that is not trusted: the notice about it.
    pub(super) fn load(
        workspace: &Path,
        trust: &Trust,
        origin: &SetupOrigin,
    ) -> Result<Result<Option<Self>, Notice>, Reason> {
        let paths = FILES.map(|name| workspace.join(name));
        let Some(file) = paths.into_iter().find(|path| trust.files.exists(path)) else { return Ok(Ok(None)) };
        if !trust.is_trusted() {
            return Ok(Err(Notice::WorktreeSetupUntrusted { path: file.display().to_string() }));
        }
        let bytes = trust.files.bytes(&file)?.unwrap_or_default();
        let commands = parse(&bytes, &file)?;
        if commands.is_empty() {
            return Ok(Ok(None));
        }
        Ok(Ok(Some(Self { file, commands, origin: origin.clone() })))
    }

    /// Returns the workspace in which the user started, from which commands may copy files.
    pub(crate) fn root(&self) -> &Path {
        &self.origin.root
    }

    /// Runs the commands one after the other with the shell tool.
    ///
    /// # Errors
    /// `WorktreeSetup` for the first command that fails; the reason of a stop.
    pub(crate) async fn run(
        &self,
        shell: &dyn Tool,
        context: &ToolContext,
        redactor: &Redactor,
    ) -> Result<(), Reason> {
        for command in &self.commands {
            let failed = |detail: String| Reason::WorktreeSetup {
                command: redactor.redact(command).into_owned(),
                path: self.file.display().to_string(),
                detail: Elision::mostly_tail(MAX_OUTPUT_BYTES)
                    .apply(&redactor.redact(detail.trim()))
                    .into_owned(),
            };
            let root = shell_quoted(&self.origin.root).map_err(failed)?;
            // The longest time that commands may have.
            let arguments = json!({
                "command": format!("export {ROOT_VARIABLE}={root}\n{command}"),
                "timeout": u32::MAX,
            });
            let call = shell.prepare(&arguments).map_err(|error| failed(error.to_string()))?;
            let outcome = (call.run)(context.clone()).await;
            if let Some(reason) = context.stop.reason() {
                return Err(reason.clone());
            }
            match outcome {
                ToolOutcome::Success { .. } => {}
                ToolOutcome::Failure { failure: ToolFailure::CommandFailed(output), .. } => {
                    let end = match &output.signal {
                        Some(signal) => format!("signal {signal}"),
                        None => format!("exit code {}", output.exit_code),
                    };
                    return Err(failed(format!("{end}: {}", output.interleaved.trim())));
                }
                outcome @ (ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. }) => {
                    return Err(failed(outcome.for_model().to_string()));
                }
            }
        }
        // Without a marker, the worktree is set up. If it cannot be removed, the next run sets it up again.
        let _ = fs::remove_file(&self.origin.marker);
        Ok(())
    }
}

/// Returns the commands of a file.
///
/// # Errors
/// The line, the column and the message of a file that is not valid.
fn parse(bytes: &[u8], file: &Path) -> Result<Vec<String>, Reason> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let WorktreesFile { unix, all } = serde_json::from_slice(bytes)
        .map_err(|error| ConfigError::at(file, error.line(), error.column(), json_fault(&error)))?;
    let commands = match unix.or(all) {
        None => Vec::new(),
        Some(CommandList::Commands(commands)) => commands,
        Some(CommandList::Script(script)) => vec![script_command(&script, file)?],
    };
    Ok(commands.into_iter().filter(|command| !command.trim().is_empty()).collect())
}

/// Returns the command that runs a script of the directory of `file`. A text that names no file there is a command.
///
/// # Errors
/// `BadConfig` for a path that the shell cannot get.
fn script_command(script: &str, file: &Path) -> Result<String, Reason> {
    let path = file.with_file_name("").join(script.trim());
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    if script.trim().is_empty() || !is_file {
        return Ok(script.to_owned());
    }
    let is_executable = rustix::fs::access(&path, rustix::fs::Access::EXEC_OK).is_ok();
    let path = shell_quoted(&path).map_err(|message| ConfigError::in_file(file, message))?;
    Ok(if is_executable { path } else { format!("bash {path}") })
}

/// Returns a path as one word of the shell.
///
/// # Errors
/// The message about a path that is not text.
fn shell_quoted(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("`{}` is not UTF-8", path.display()))?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let commands = parse(text.as_bytes(), Path::new("/w/.cursor/worktrees.json")).unwrap();
        assert_eq!(commands, expect, "{text}");
    }

    #[test]
    fn commands_for_unix_come_before_those_for_all_systems() {
        check(
            r#"{"setup-worktree": ["npm ci", " ", "cp \"$ROOT_WORKTREE_PATH/.env\" ."]}"#,
            &["npm ci", "cp \"$ROOT_WORKTREE_PATH/.env\" ."],
        );
        check(
            r#"{"setup-worktree": ["a"], "setup-worktree-unix": ["b"], "setup-worktree-windows": "c.ps1"}"#,
            &["b"],
        );
        check(r#"{"setup-worktree-unix": "npm ci && make"}"#, &["npm ci && make"]);
        check(r#"{"setup-worktree-windows": ["a"]}"#, &[]);
        check("{}", &[]);
    }

    #[test]
    fn a_script_lies_next_to_the_file() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("worktrees.json");
        fs::write(home.path().join("set up.sh"), "true").unwrap();
        let commands = parse(br#"{"setup-worktree": "set up.sh"}"#, &file).unwrap();
        assert_eq!(commands, [format!("bash '{}'", home.path().join("set up.sh").display())]);
    }

    #[test]
    fn a_file_that_is_not_valid_is_an_error_with_its_place() {
        for (text, part) in [
            ("{\"setup-worktree\":\n3}", "a list of commands"),
            ("[", "ends too early"),
            ("{\"setup-worktree\": [1]}", "a list of commands"),
        ] {
            let Err(Reason::BadConfig { line, detail, .. }) = parse(text.as_bytes(), Path::new("/w/f"))
            else {
                panic!("{text}")
            };
            assert!(line.is_some() && detail.contains(part), "{detail}");
        }
    }
}
