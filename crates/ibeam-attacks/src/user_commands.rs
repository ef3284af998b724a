//! The commands of the user around a run: setup of the workspace before it, further commands after it.
//!
//! Processes that the setup leaves in the background run during the case and end with [`SetupProcesses`].

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::fixture::Fixture;
use crate::user::find_system_program;

/// The timeout of the commands after the run.
const TIMEOUT_SECONDS: &str = "30";

/// Processes that outlive the commands that started them.
#[derive(Debug)]
pub(crate) struct SetupProcesses(Pid);

impl Drop for SetupProcesses {
    fn drop(&mut self) {
        // All of them may have ended.
        let _ended = kill_process_group(self.0, Signal::KILL);
    }
}

/// Runs the setup commands of a case. Commands after a failed one do not run.
///
/// # Errors
/// The stderr of the failed command.
pub(crate) fn run_setup_commands(fixture: &Fixture, lines: &[String]) -> io::Result<SetupProcesses> {
    let script = format!("set -e\n{}", lines.join("\n"));
    let (status, background, _, stderr) = run_script(fixture, Vec::new(), &script, fixture.workspace.path())?;
    if status.success() {
        return Ok(background);
    }
    Err(io::Error::other(format!("{status}: {}", stderr.trim())))
}

/// Runs the commands of the user after the run and returns their stdout. Their exit codes are ignored, since a search
/// without a match is not a failure.
pub(crate) fn run_later_commands(
    fixture: &Fixture,
    lines: &[String],
    directory: &Path,
) -> io::Result<String> {
    if lines.is_empty() {
        return Ok(String::new());
    }
    let timeout = find_system_program("timeout").unwrap_or_else(|| "timeout".into());
    let limit = vec![timeout.into_os_string(), "--kill-after=1".into(), TIMEOUT_SECONDS.into()];
    let (_, _, stdout, _) = run_script(fixture, limit, &lines.join("\n"), directory)?;
    Ok(stdout)
}

/// Runs a script in its own process group. Both streams go to files, since background processes would hold pipes
/// open.
fn run_script(
    fixture: &Fixture,
    mut words: Vec<OsString>,
    script: &str,
    directory: &Path,
) -> io::Result<(ExitStatus, SetupProcesses, String, String)> {
    words.extend(fixture.bash_command(script));
    let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let output = tempfile::tempdir()?;
    let (stdout, stderr) = (output.path().join("stdout"), output.path().join("stderr"));
    let mut child = Command::new(program)
        .args(args)
        .current_dir(directory)
        .env_clear()
        .envs(fixture.environment())
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .process_group(0)
        .spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let background = SetupProcesses(group);
    let status = child.wait()?;
    let text = |path| Ok::<_, io::Error>(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
    Ok((status, background, text(stdout)?, text(stderr)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::User;

    fn fixture() -> Fixture {
        Fixture::create(User::Nobody, Path::new("/p/ibeam"), Path::new("/p/t"), 4711).unwrap()
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn background_processes_run_until_they_are_dropped() {
        let fixture = fixture();
        let background =
            run_setup_commands(&fixture, &lines(&["sleep 7794.5 & echo $! > \"$OUT/pid\""])).unwrap();
        let pid = std::fs::read_to_string(fixture.outside().join("pid")).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(!state().is_empty() && !state().contains(") Z"), "{}", state());
        drop(background);
        let ended = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            state().is_empty() || state().contains(") Z")
        });
        assert!(ended, "{}", state());
    }

    #[test]
    fn a_failed_setup_reports_its_stderr() {
        let error =
            run_setup_commands(&fixture(), &lines(&["echo reason >&2", "false", "true"])).unwrap_err();
        assert!(error.to_string().contains("reason"), "{error}");
    }

    #[test]
    fn commands_after_the_run_use_the_directory_and_return_stdout() {
        let fixture = fixture();
        let after = lines(&["false", "pwd; git status --porcelain; echo end"]);
        let printed = run_later_commands(&fixture, &after, fixture.workspace.path()).unwrap();
        assert!(printed.starts_with(&fixture.workspace.path().display().to_string()), "{printed}");
        assert!(printed.ends_with("?? .env\nend\n"), "{printed}");
        assert_eq!(run_later_commands(&fixture, &[], fixture.workspace.path()).unwrap(), "");
    }
}
