//! Hints after a command that failed in a way that suggests a limit of the sandbox.
//!
//! Programs report a symptom: a name that is not found, a package without a matching version, a file system that is
//! read-only. Neither the model nor a person can conclude from it what the sandbox denies. Each hint is given once per run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ibeam_core::Notices;
use ibeam_protocol::tool_output::ShellOutput;
use ibeam_protocol::{Notice, ToolFailure, ToolOutcome, ToolOutput};
use memchr::memmem;

use super::report::with_note;

/// Messages that programs print when a host cannot be reached.
const SYMPTOMS: [&str; 28] = [
    // The C library and programs that use its resolver.
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "Name or service not known",
    "Name does not resolve",
    "No address associated with hostname",
    "Network is unreachable",
    "No route to host",
    "bad address '",
    // curl, git, ssh, wget.
    "Could not resolve host",
    "Couldn't resolve host",
    "unable to resolve host",
    "Could not resolve proxy",
    "CONNECT tunnel failed",
    "from proxy after CONNECT",
    // Python.
    "No matching distribution found",
    "Tunnel connection failed",
    // Node.
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENETUNREACH",
    "tunneling socket could not be established",
    // Rust.
    "failed to lookup address information",
    "dns error",
    "failed to download from `",
    // Go.
    "dial tcp: lookup ",
    ": no such host",
    "server misbehaving",
    // The Java virtual machine, .NET.
    "UnknownHostException",
    "Unable to load the service index",
];

/// Texts that programs print when the proxy of the sandbox allows a host and does not reach it: it answers 502,
/// not 403.
const UNREACHED: [&str; 3] =
    ["CONNECT tunnel failed, response 502", "HTTP code 502 from proxy", "Tunnel connection failed: 502"];

/// Messages that programs print when they cannot write a file: outside the directories of the sandbox, or a protected
/// one, over which nothing can be renamed.
const UNWRITABLE: [&str; 4] = ["ead-only file system", "EROFS", "evice or resource busy", "EBUSY"];

/// Messages that clients of services on this machine print when their socket is not in the sandbox.
const UNCONNECTED: [&str; 5] = [
    "Cannot connect to the Docker daemon",
    "connect to the docker API at unix://",
    "connect to the Docker daemon socket",
    "Cannot connect to Podman",
    "unable to connect to Podman socket",
];

/// The hint for the model about the network.
const NETWORK_HINT: &str = "(commands have no network in this sandbox, but for hosts that were granted; that is \
                            probably why this failed, and trying again will not help. Work with what is installed, \
                            or tell the user that `--allow-net HOST:PORT`, e.g. `--allow-net example.com:443`, lets \
                            commands reach a host)\n";
/// The hint for the model about sockets.
const SOCKET_HINT: &str = "(commands reach no service of this machine in this sandbox; that is probably why this \
                           failed, and trying again will not help. Tell the user that `--allow-socket PATH`, e.g. \
                           `--allow-socket /var/run/docker.sock`, lets commands connect to a socket)\n";

/// Gives each hint once.
pub(super) struct SandboxHints {
    is_confined: bool,
    /// The workspace, without links.
    workspace: PathBuf,
    network: AtomicBool,
    files: AtomicBool,
    sockets: AtomicBool,
}

impl SandboxHints {
    /// Returns the hints for commands in `workspace`, which are given only if commands are confined.
    pub(super) fn new(is_confined: bool, workspace: &Path) -> Self {
        Self {
            is_confined,
            workspace: workspace.to_owned(),
            network: AtomicBool::new(false),
            files: AtomicBool::new(false),
            sockets: AtomicBool::new(false),
        }
    }

    /// Adds a hint for the model to the outcome of a command that failed because of a limit of the sandbox; people get a
    /// notice.
    ///
    /// `is_refused_write` finds refused writes that the messages about read-only files do not show.
    pub(super) fn add_to(
        &self,
        outcome: ToolOutcome,
        notices: &Notices,
        is_refused_write: impl FnOnce(&str) -> bool,
    ) -> ToolOutcome {
        let Some(output) = failed_output(&outcome).filter(|_| self.is_confined) else { return outcome };
        let text = output.interleaved.as_bytes();
        let has_any = |parts: &[&str]| parts.iter().any(|part| memmem::find(text, part.as_bytes()).is_some());
        // A socket comes first: what follows from it may look like a missing network.
        let (is_given, notice, hint) = if has_any(&UNCONNECTED) {
            (&self.sockets, Notice::SocketDenied, SOCKET_HINT.to_owned())
        } else if has_any(&UNWRITABLE) || is_refused_write(&output.interleaved) {
            let example = self.directory_to_add();
            (&self.files, Notice::WriteDenied { example: example.clone() }, files_hint(&example))
        } else if has_any(&SYMPTOMS) && !has_any(&UNREACHED) {
            (&self.network, Notice::NetworkDenied, NETWORK_HINT.to_owned())
        } else {
            return outcome;
        };
        if is_given.swap(true, Ordering::Relaxed) {
            return outcome;
        }
        notices.add(notice);
        with_note(outcome, &hint)
    }

    /// Returns an example of a directory for `--add-dir`: that of the repository if it begins above the workspace.
    fn directory_to_add(&self) -> String {
        let has_git = |directory: &&Path| directory.join(".git").symlink_metadata().is_ok();
        let repository = self.workspace.ancestors().find(has_git);
        let above = repository.filter(|directory| *directory != self.workspace);
        above.map_or_else(|| "../other".to_owned(), |directory| directory.display().to_string())
    }
}

/// Returns the hint for the model about files. `example` is a directory that the user could add.
fn files_hint(example: &str) -> String {
    format!(
        "(in this sandbox commands write only in the workspace, the directories of `--add-dir` and a private `/tmp`, and \
         there not to protected files, such as `.git/config`, hooks and settings of editors; that is probably why this \
         failed, and trying again will not help. Tell the user that `--add-dir DIR`, e.g. `--add-dir {example}`, or the \
         setting `sandbox.writable` makes a directory writable, and `--allow 'Write(.git/config)'` a protected file)\n"
    )
}

/// Returns the output of a command that failed, or whose failure a pipe may hide: `pip install x | tail`.
fn failed_output(outcome: &ToolOutcome) -> Option<&ShellOutput> {
    match outcome {
        ToolOutcome::Success { output: ToolOutput::Shell(output), .. } => {
            output.command.contains('|').then_some(output)
        }
        ToolOutcome::Failure { failure: ToolFailure::CommandFailed(output), .. } => Some(output),
        ToolOutcome::Failure { failure: ToolFailure::TimedOut { partial, .. }, .. } => Some(partial),
        ToolOutcome::Success { .. } | ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::{Fixture, failure, success};

    /// Returns the outcome of a command, without a sandbox.
    fn run(command: &str) -> ToolOutcome {
        Fixture::new().call("shell", json!({ "command": command }))
    }

    fn hints() -> SandboxHints {
        SandboxHints::new(true, Path::new("/nowhere/w"))
    }

    /// Returns the notice that a command gets where commands are confined; the model gets `--FLAG` of it.
    fn notice(command: &str) -> Option<Notice> {
        let notices = Notices::default();
        let outcome = hints().add_to(run(command), &notices, |_| false);
        let notice = notices.take().pop();
        let flag = match &notice {
            Some(Notice::NetworkDenied) => "--allow-net example.com:443",
            Some(Notice::WriteDenied { .. }) => "--add-dir ../other",
            Some(Notice::SocketDenied) => "--allow-socket /var/run/docker.sock",
            _ => "\n",
        };
        assert!(outcome.for_model().contains(flag), "{outcome:?}");
        notice
    }

    fn is_hinted(command: &str) -> bool {
        notice(command).is_some()
    }

    #[test]
    fn a_command_that_could_not_write_or_connect_is_hinted() {
        for (printed, expect) in [
            ("error: could not write config file .git/config: Device or resource busy", "write"),
            ("fatal: Unable to create '/repo/.git/index.lock': Read-only file system", "write"),
            ("OSError: [Errno 30] Read-only file system: '/x'", "write"),
            ("Error: EROFS: read-only file system, open '/x'", "write"),
            ("open /x: read-only file system", "write"),
            ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "socket"),
            ("failed to connect to the docker API at unix:///var/run/docker.sock", "socket"),
        ] {
            let notice = notice(&format!("echo \"{printed}\"; exit 1"));
            match expect {
                "write" => {
                    assert!(matches!(notice, Some(Notice::WriteDenied { .. })), "{printed}: {notice:?}")
                }
                _ => assert_eq!(notice, Some(Notice::SocketDenied), "{printed}"),
            }
        }
    }

    #[test]
    fn a_write_that_landlock_refused_is_hinted() {
        let notices = Notices::default();
        let outcome = run("echo '/x: Permission denied'; exit 1");
        let outcome = hints().add_to(outcome, &notices, |text| text.contains("/x"));
        assert!(outcome.for_model().contains("--add-dir ../other"), "{outcome:?}");
        assert!(matches!(notices.take().pop(), Some(Notice::WriteDenied { .. })));
    }

    #[test]
    fn a_repository_above_the_workspace_is_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join(".git")).unwrap();
        let hints = SandboxHints::new(true, &directory.path().join("packages/a"));
        let outcome = run("echo 'index.lock: Read-only file system'; exit 128");
        let (_, text) = failure(hints.add_to(outcome, &Notices::default(), |_| false));
        assert!(text.contains(&format!("--add-dir {}`", directory.path().display())), "{text}");
    }

    #[test]
    fn a_command_that_found_no_network_is_hinted() {
        for (printed, code) in [
            ("ERROR: No matching distribution found for example", 1),
            ("npm error code EAI_AGAIN", 1),
            ("curl: (6) Could not resolve host: example.com", 6),
            ("fatal: unable to access 'https://example.com/': Could not resolve host: example.com", 128),
            ("Err:1 http://example.com  Temporary failure resolving 'example.com'", 100),
            ("dial tcp: lookup example.com: Temporary failure in name resolution", 1),
            ("error: failed to download from `https://example.com/crate`", 101),
            ("java.net.UnknownHostException: example.com", 1),
            ("connect: Network is unreachable", 2),
        ] {
            assert!(
                is_hinted(&format!("echo \"{}\"; exit {code}", printed.replace('`', "\\`"))),
                "{printed}"
            );
            assert!(is_hinted(&format!("echo \"{}\" | cat", printed.replace('`', "\\`"))), "{printed}");
        }
    }

    #[test]
    fn other_commands_get_no_hint() {
        let unreached = "echo 'curl: (56) CONNECT tunnel failed, response 502'; exit 56";
        for command in
            [unreached, "echo fine", "exit 1", "echo ENOTFOUND", "echo 'error: test failed' >&2; exit 101"]
        {
            assert!(!is_hinted(command), "{command}");
        }
    }

    #[test]
    fn the_hint_is_given_once_and_only_where_the_network_is_denied() {
        let (hint, notices) = (hints(), Notices::default());
        let lookup = || run("echo 'Could not resolve host: example.com'; exit 6");
        let (_, first) = failure(hint.add_to(lookup(), &notices, |_| false));
        assert!(first.contains("exit code 6") && first.contains("no network in this sandbox"), "{first}");
        let (_, second) = failure(hint.add_to(lookup(), &notices, |_| false));
        assert!(!second.contains("network"), "{second}");
        assert_eq!(notices.take().len(), 1);
        let (_, elsewhere) =
            failure(SandboxHints::new(false, Path::new("/")).add_to(lookup(), &notices, |_| false));
        assert!(!elsewhere.contains("network"), "{elsewhere}");
        success(run("true"));
    }
}
