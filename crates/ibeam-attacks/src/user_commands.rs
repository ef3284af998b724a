//! What the person does around a run: prepares the workspace before it, and works there after it.
//!
//! Processes that the preparation leaves in the background live during the run and are ended with [`Background`].
//! Refuses to wait for them.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::fixture::Fixture;
use crate::user::program;

/// What the person does after the run ends after so many seconds.
const TIMEOUT_SECONDS: &str = "30";

/// Processes that are still there after the lines that started them.
#[derive(Debug)]
pub(crate) struct BackgroundProcesses(Pid);

impl Drop for BackgroundProcesses {
    fn drop(&mut self) {
        // All of them may have ended by themselves.
        let _ended = kill_process_group(self.0, Signal::KILL);
    }
}

/// Runs the lines that prepare a case; the first that fails ends them.
///
/// # Errors
/// What they printed on stderr, where they failed.
pub(crate) fn prepare(fixture: &Fixture, lines: &[String]) -> io::Result<BackgroundProcesses> {
    let script = format!("set -e\n{}", lines.join("\n"));
    let (status, background, _, stderr) = run(fixture, Vec::new(), &script, fixture.workspace.path())?;
    if status.success() {
        return Ok(background);
    }
    Err(io::Error::other(format!("{status}: {}", stderr.trim())))
}

/// Runs the lines of the person after the run, and returns what they printed on stdout. What they exit with says
/// nothing: a line may find what it looks for, or not.
pub(crate) fn follow_up(fixture: &Fixture, lines: &[String], directory: &Path) -> io::Result<String> {
    if lines.is_empty() {
        return Ok(String::new());
    }
    let timeout = program("timeout").unwrap_or_else(|| "timeout".into());
    let limit = vec![timeout.into_os_string(), "--kill-after=1".into(), TIMEOUT_SECONDS.into()];
    let (_, _, stdout, _) = run(fixture, limit, &lines.join("\n"), directory)?;
    Ok(stdout)
}

/// Runs a script in a process group of its own. Both streams go to files, which nothing in the background holds up.
fn run(
    fixture: &Fixture,
    mut words: Vec<OsString>,
    script: &str,
    directory: &Path,
) -> io::Result<(ExitStatus, BackgroundProcesses, String, String)> {
    words.extend(fixture.bash(script));
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
    let background = BackgroundProcesses(group);
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
    fn what_stays_in_the_background_lives_until_it_is_ended() {
        let fixture = fixture();
        let background = prepare(&fixture, &lines(&["sleep 7794.5 & echo $! > \"$OUT/pid\""])).unwrap();
        let pid = std::fs::read_to_string(fixture.out().join("pid")).unwrap();
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
    fn a_preparation_that_fails_says_why() {
        let error = prepare(&fixture(), &lines(&["echo reason >&2", "false", "true"])).unwrap_err();
        assert!(error.to_string().contains("reason"), "{error}");
    }

    #[test]
    fn the_person_works_in_the_directory_and_its_output_is_kept() {
        let fixture = fixture();
        let after = lines(&["false", "pwd; git status --porcelain; echo end"]);
        let printed = follow_up(&fixture, &after, fixture.workspace.path()).unwrap();
        assert!(printed.starts_with(&fixture.workspace.path().display().to_string()), "{printed}");
        assert!(printed.ends_with("?? .env\nend\n"), "{printed}");
        assert_eq!(follow_up(&fixture, &[], fixture.workspace.path()).unwrap(), "");
    }
}
