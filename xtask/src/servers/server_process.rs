//! A model server of others as a child process, on a loopback port.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::suite::SuiteError;

/// The maximum time from the start of a server until it answers.
const START_TIMEOUT: Duration = Duration::from_secs(180);
/// The time between two requests to a server that starts.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A running server. Dropping it ends the process.
pub(super) struct ServerProcess {
    child: Child,
    address: SocketAddr,
}

/// Returns a loopback address with a free port.
pub(crate) fn free_address() -> Result<SocketAddr, SuiteError> {
    let bound = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    bound.map_err(SuiteError::system("a loopback port"))
}

/// Sends a GET request and returns the status of the response.
pub(crate) fn request_status(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n")?;
    let mut head = [0; "HTTP/1.x 200".len()];
    stream.read_exact(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    Ok(head.rsplit(' ').next().unwrap_or_default().to_owned())
}

impl ServerProcess {
    /// Starts a server that listens on `address`, and waits until `GET health_path` has status 200. The server has an empty
    /// home directory next to `log`, which gets its output, and no environment variable but those of `command` and PATH.
    ///
    /// # Errors
    /// `System`, `Missing` if the processor lacks instructions, and `Failed` if the process ends or the time is over.
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        address: SocketAddr,
        health_path: &str,
        log: &Path,
    ) -> Result<Self, SuiteError> {
        let home = log.with_extension("home");
        fs::create_dir_all(&home).map_err(SuiteError::system(home.display()))?;
        let output = File::create(log).map_err(SuiteError::system(log.display()))?;
        let errors = output.try_clone().map_err(SuiteError::system(log.display()))?;
        command.env("HOME", &home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(&home).stdin(Stdio::null()).stdout(output).stderr(errors);
        let display = format!("{:?}", command.get_program());
        let child = command.spawn().map_err(SuiteError::system(display))?;
        let mut server = Self { child, address };
        let not_ready = |reason: String| {
            let log = log.display();
            SuiteError::Failed(format!("{name} did not get ready: {reason}; its output is in {log}"))
        };
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let reason = match request_status(server.address, health_path) {
                Ok(status) if status == "200" => return Ok(server),
                Ok(status) => format!("status {status}"),
                Err(error) => error.to_string(),
            };
            if let Ok(Some(status)) = server.child.try_wait() {
                // The signal at an instruction which the processor does not have.
                if status.signal() == Some(Signal::ILL.as_raw()) {
                    return Err(SuiteError::Missing(format!(
                        "the processor of this machine lacks instructions of the package `{name}`"
                    )));
                }
                return Err(not_ready(format!("it ended with {status}")));
            }
            if Instant::now() > deadline {
                return Err(not_ready(reason));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns `http://127.0.0.1:PORT`, without a path.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{ServerProcess, free_address};
    use crate::suite::SuiteError;

    fn start(script: &str) -> SuiteError {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let log = directory.path().join("output.log");
        ServerProcess::start("example", command, free_address().unwrap(), "/health", &log).err().unwrap()
    }

    #[test]
    fn a_missing_instruction_differs_from_other_ends() {
        assert!(matches!(start("kill -ILL $$"), SuiteError::Missing(_)));
        assert!(matches!(start("kill -SEGV $$"), SuiteError::Failed(_)));
        assert!(matches!(start("exit 1"), SuiteError::Failed(_)));
    }
}
