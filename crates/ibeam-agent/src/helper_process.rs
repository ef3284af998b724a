//! Programs that this program starts for itself: git.
//!
//! Each runs below a supervisor. It and everything that it starts, such as the filters of the user's git, end with the
//! work that needs them, and with this process, however that ends. They get TERM first, so that git removes its locks.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;

use ibeam_core::Stop;
use ibeam_process::{CommandSpec, Launcher, PipedProcess};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::Sender;

/// Starts the programs. The first one starts the process from which all are forked.
static LAUNCHER: Launcher = Launcher::gentle(MAX_PROCESSES);
/// The number of processes and threads that all helpers may have together.
const MAX_PROCESSES: u32 = 4096;
/// The size of the first buffer for what a program prints, in bytes.
const OUTPUT_BYTES: usize = 16 << 10;
/// The time limit for the end of what a program has left, with the time for TERM.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// The time after which a git with a work tree may be waiting at a file that is none.
const SLOW_AFTER: Duration = Duration::from_millis(400);

/// Starts a program with pipes for its standard streams. Dropping the process ends it and everything that it started.
///
/// # Errors
/// The reason why it cannot be started.
pub(crate) fn start(command: &Command) -> Result<(PipedProcess, Sender), String> {
    let name = command.get_program();
    let arguments: Vec<&OsStr> = std::iter::once(name).chain(command.get_args()).collect();
    let spec = CommandSpec {
        program: Path::new(name),
        arguments: &arguments,
        environment: &environment(command),
        directory: command.get_current_dir().unwrap_or(Path::new("/")),
    };
    PipedProcess::spawn(&LAUNCHER, &spec).map_err(|error| error.to_string())
}

/// Returns the complete environment of a command, which inherits that of this process.
fn environment(command: &Command) -> Vec<(OsString, OsString)> {
    let changes: Vec<_> = command.get_envs().collect();
    let is_changed = |name: &OsStr| changes.iter().any(|(changed, _)| *changed == name);
    let inherited = std::env::vars_os().filter(|(name, _)| !is_changed(name));
    let set = changes.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
    inherited.chain(set).collect()
}

/// Runs a program with `input` on stdin to its end, and ends what it has left. Dropping the future ends all of it.
///
/// # Errors
/// `InvalidData` for a work tree with a file at which git waits forever; the reason why it cannot be started.
pub(crate) async fn run(command: &Command, input: &[u8]) -> io::Result<Output> {
    let (PipedProcess { mut tree, mut stdout, mut stderr }, mut stdin) =
        start(command).map_err(io::Error::other)?;
    let (mut out, mut err) = (Vec::with_capacity(OUTPUT_BYTES), Vec::new());
    let mut blocked = pin!(blocking_file(command));
    let mut is_searched = false;
    let status = {
        let write = async {
            // A program that fails does not read its input to the end.
            let _ = stdin.write_all(input).await;
            drop(stdin);
        };
        let read = async { tokio::join!(write, stdout.read_to_end(&mut out), stderr.read_to_end(&mut err)) };
        let mut streams = pin!(read);
        let mut is_closed = false;
        let status = loop {
            tokio::select! {
                status = tree.wait_for_exit() => break status,
                _ = &mut streams, if !is_closed => is_closed = true,
                found = &mut blocked, if !is_searched => match found {
                    Some(path) => {
                        let detail = format!("`{}` is not a regular file", path.display());
                        return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
                    }
                    None => is_searched = true,
                },
            }
        };
        tree.kill();
        // When the tree has ended, no process can write any more: the pipes can be read to their end.
        let rest = async {
            tree.wait_until_gone().await;
            if !is_closed {
                drop(streams.await);
            }
        };
        let _ = tokio::time::timeout(END_TIMEOUT, rest).await;
        status
    };
    Ok(Output { status, stdout: out, stderr: err })
}

/// Returns the file of the work tree at which a slow git waits forever; `None` if there is none.
async fn blocking_file(command: &Command) -> Option<PathBuf> {
    let (_, work_tree) = command.get_envs().find(|(name, _)| *name == "GIT_WORK_TREE")?;
    let work_tree = PathBuf::from(work_tree?);
    tokio::time::sleep(SLOW_AFTER).await;
    let found = tokio::task::spawn_blocking(move || ibeam_git::find_blocking_file(&work_tree));
    found.await.ok().flatten()
}

/// Runs a program with `input` on stdin on a thread that may wait. It ends when `stop` is requested, and after `limit`.
///
/// # Errors
/// `Interrupted`, `TimedOut`; those of [`run`].
pub fn run_blocking(command: &Command, input: &[u8], stop: &Stop, limit: Duration) -> io::Result<Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            biased;
            _ = stop.wait() => Err(io::ErrorKind::Interrupted.into()),
            () = tokio::time::sleep(limit) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it took longer than {limit:?}"),
            )),
            done = run(command, input) => done,
        }
    })
}

/// Returns the message of a program that failed: the beginning of its stderr on one line, else its exit status.
pub(crate) fn failure_message(status: ExitStatus, stderr: &[u8]) -> String {
    /// The number of bytes of the message that is shown.
    const MAX_MESSAGE_BYTES: usize = 400;
    let message = stderr.get(..MAX_MESSAGE_BYTES).unwrap_or(stderr);
    let message = String::from_utf8_lossy(message).split_whitespace().collect::<Vec<_>>().join(" ");
    match message.is_empty() {
        true => status.to_string(),
        false => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(script: &str) -> Command {
        let mut command = Command::new("/bin/bash");
        command.args(["-c", script]).env("GIVEN", "given").env_remove("HOME");
        command
    }

    #[test]
    fn a_program_has_its_input_and_environment_and_leaves_nothing() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let script = "cat; echo $GIVEN ${HOME-none}; echo bad >&2; sleep 60 & exit 3";
        let output = runtime.block_on(run(&bash(script), b"input\n")).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "input\ngiven none\n");
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(3), b"bad\n".as_slice()));
        assert_eq!(failure_message(output.status, b""), "exit status: 3");
    }

    #[test]
    fn a_program_ends_at_its_limit_and_at_a_stop() {
        let ended = |stop: &Stop| run_blocking(&bash("sleep 60"), b"", stop, Duration::from_millis(100));
        let stop = Stop::default();
        assert_eq!(ended(&stop).unwrap_err().kind(), io::ErrorKind::TimedOut);
        stop.request(ibeam_protocol::Reason::OutputClosed);
        assert_eq!(ended(&stop).unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
