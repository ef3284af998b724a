//! Starts a process tree with pipes for its standard streams, and reads the pipes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use ibeam_sandbox::{LaunchSpec, Launcher, SpawnError};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::process_tree::ProcessTree;

/// Bytes of one read: the size of a Linux pipe.
const CHUNK_BYTES: usize = 64 << 10;

/// A program to start, without its standard streams.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec<'a> {
    /// Absolute path of the program.
    pub program: &'a Path,
    /// Arguments; the first one is the program's own name.
    pub arguments: &'a [&'a OsStr],
    pub environment: &'a [(OsString, OsString)],
    /// Absolute path of the working directory.
    pub directory: &'a Path,
}

/// Returns the arguments with which bash runs `command` and reads no start-up file.
pub fn bash_arguments(command: &str) -> [&OsStr; 5] {
    ["bash", "--norc", "--noprofile", "-c", command].map(OsStr::new)
}

/// The reason why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartProcessError {
    /// A pipe could not be created or registered.
    #[error(transparent)]
    Pipe(#[from] io::Error),
    /// The launcher could not start the program.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// A process that was started, and the read ends of its output pipes.
#[derive(Debug)]
pub struct PipedProcess {
    /// The process and everything that it starts.
    pub tree: ProcessTree,
    /// Standard output.
    pub stdout: Receiver,
    /// Standard error.
    pub stderr: Receiver,
}

impl PipedProcess {
    /// Starts a process that reads from the returned pipe. Must be called within an async runtime.
    ///
    /// # Errors
    /// A pipe could not be created, or the program not started.
    pub fn spawn(
        launcher: &Launcher,
        command: &CommandSpec<'_>,
    ) -> Result<(Self, Sender), StartProcessError> {
        let (process_stdin, stdin) = io::pipe()?;
        let process = Self::spawn_with_stdin(launcher, command, &process_stdin.into())?;
        Ok((process, Sender::from_owned_fd(stdin.into())?))
    }

    /// Starts a process whose standard input is `/dev/null`. Must be called within an async runtime.
    ///
    /// # Errors
    /// A pipe could not be created, or the program not started.
    pub fn spawn_without_input(
        launcher: &Launcher,
        command: &CommandSpec<'_>,
    ) -> Result<Self, StartProcessError> {
        Self::spawn_with_stdin(launcher, command, &File::open("/dev/null")?.into())
    }

    fn spawn_with_stdin(
        launcher: &Launcher,
        command: &CommandSpec<'_>,
        stdin: &OwnedFd,
    ) -> Result<Self, StartProcessError> {
        let &CommandSpec { program, arguments, environment, directory } = command;
        let (stdout, process_stdout) = output_pipe()?;
        let (stderr, process_stderr) = output_pipe()?;
        let stdio = [stdin.as_fd(), process_stdout.as_fd(), process_stderr.as_fd()];
        let tree = launcher.spawn(&LaunchSpec { program, arguments, environment, directory, stdio })?;
        Ok(Self { tree: ProcessTree::new(tree)?, stdout, stderr })
    }
}

/// Returns the read end of a pipe, in non-blocking mode, and its write end.
fn output_pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((Receiver::from_owned_fd(reader.into())?, writer.into()))
}

/// Reads a pipe in chunks.
#[derive(Debug)]
pub struct PipeReader {
    /// The pipe; `None` after its end or an error.
    pipe: Option<Receiver>,
    chunk: Vec<u8>,
}

impl PipeReader {
    /// Returns a reader of `pipe`.
    pub fn new(pipe: Receiver) -> Self {
        Self { pipe: Some(pipe), chunk: Vec::with_capacity(CHUNK_BYTES) }
    }

    /// Whether more bytes may arrive.
    pub fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Waits for the next bytes; `None` at the end of the pipe and after an error. Cancel safe.
    pub async fn next(&mut self) -> Option<&[u8]> {
        self.chunk.clear();
        // Reads into the reserved memory, which nothing has to fill before.
        match self.pipe.as_mut()?.read_buf(&mut self.chunk).await {
            Ok(1..) => Some(&self.chunk),
            Ok(0) | Err(_) => {
                self.pipe = None;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    async fn read_all(pipe: Receiver) -> String {
        let (mut reader, mut bytes) = (PipeReader::new(pipe), Vec::new());
        while let Some(chunk) = reader.next().await {
            bytes.extend_from_slice(chunk);
        }
        assert!(!reader.is_open());
        String::from_utf8(bytes).unwrap()
    }

    fn bash<'a>(arguments: &'a [&'a OsStr]) -> CommandSpec<'a> {
        let (program, directory) = (Path::new("/bin/bash"), Path::new("/"));
        CommandSpec { program, arguments, environment: &[], directory }
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn a_process_has_three_pipes() {
        run(async {
            let launcher = Launcher::default();
            let arguments = bash_arguments("read line; echo \"out $line\"; echo err >&2; exit 3");
            let (mut process, mut stdin) = PipedProcess::spawn(&launcher, &bash(&arguments)).unwrap();
            stdin.write_all(b"in\n").await.unwrap();
            assert_eq!(process.tree.wait_for_exit().await.code(), Some(3));
            assert_eq!(read_all(process.stdout).await, "out in\n");
            assert_eq!(read_all(process.stderr).await, "err\n");
        });
    }

    #[test]
    fn a_process_without_input_reads_an_empty_stdin() {
        run(async {
            let launcher = Launcher::default();
            let arguments = bash_arguments("read line || echo \"end$line\"");
            let process = PipedProcess::spawn_without_input(&launcher, &bash(&arguments)).unwrap();
            assert_eq!(read_all(process.stdout).await, "end\n");
        });
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        run(async {
            let command = CommandSpec { program: Path::new("/dev/null/missing"), ..bash(&[]) };
            let error = PipedProcess::spawn(&Launcher::default(), &command).unwrap_err();
            assert!(matches!(error, StartProcessError::Spawn(SpawnError::System(_))), "{error:?}");
        });
    }
}
