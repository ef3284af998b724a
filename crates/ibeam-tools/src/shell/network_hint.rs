//! A hint after a command that failed in a way that suggests a missing network.
//!
//! Programs report a symptom: a name that is not found, a package without a matching version. Neither the model nor a
//! person can conclude that the sandbox denies the network. The hint is given once per run.

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

/// The hint for the model.
const HINT: &str = "(commands have no network in this sandbox, but for hosts that were granted; that is probably why \
                    this failed, and trying again will not help. Work with what is installed, or tell the user that \
                    `--allow-net HOST:PORT`, e.g. `--allow-net example.com:443`, lets commands reach a host)\n";

/// Gives the hint once.
pub(super) struct NetworkHint {
    /// The network is not denied, or the hint was given.
    is_done: AtomicBool,
}

impl NetworkHint {
    /// Returns a hint that is given only if `is_denied`: the sandbox denies the network.
    pub(super) fn new(is_denied: bool) -> Self {
        Self { is_done: AtomicBool::new(!is_denied) }
    }

    /// Adds the hint for the model to the outcome of a command that failed because of the missing network; people get
    /// a notice.
    pub(super) fn add_to(&self, outcome: ToolOutcome, notices: &Notices) -> ToolOutcome {
        if self.is_done.load(Ordering::Relaxed)
            || !failed_output(&outcome).is_some_and(suggests_missing_network)
        {
            return outcome;
        }
        if self.is_done.swap(true, Ordering::Relaxed) {
            return outcome;
        }
        notices.add(Notice::NetworkDenied);
        with_note(outcome, HINT)
    }
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

fn suggests_missing_network(output: &ShellOutput) -> bool {
    let text = output.interleaved.as_bytes();
    let has_any = |parts: &[&str]| parts.iter().any(|part| memmem::find(text, part.as_bytes()).is_some());
    has_any(&SYMPTOMS) && !has_any(&UNREACHED)
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

    /// Whether a command gets the hint where the network is denied.
    fn is_hinted(command: &str) -> bool {
        let notices = Notices::default();
        let outcome = NetworkHint::new(true).add_to(run(command), &notices);
        let is_hinted = outcome.for_model().contains("--allow-net example.com:443");
        assert_eq!(notices.take(), if is_hinted { vec![Notice::NetworkDenied] } else { Vec::new() });
        is_hinted
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
        let (hint, notices) = (NetworkHint::new(true), Notices::default());
        let lookup = || run("echo 'Could not resolve host: example.com'; exit 6");
        let (_, first) = failure(hint.add_to(lookup(), &notices));
        assert!(first.contains("exit code 6") && first.contains("no network in this sandbox"), "{first}");
        let (_, second) = failure(hint.add_to(lookup(), &notices));
        assert!(!second.contains("network"), "{second}");
        assert_eq!(notices.take().len(), 1);
        let (_, elsewhere) = failure(NetworkHint::new(false).add_to(lookup(), &notices));
        assert!(!elsewhere.contains("network"), "{elsewhere}");
        success(run("true"));
    }
}
