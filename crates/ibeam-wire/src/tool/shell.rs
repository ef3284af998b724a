//! `shell`: runs a command.

use super::definition::{Arm, ErrorMessage, Tool};
use crate::describe::{DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "shellToolCall";

/// The tool `shell`.
pub const TOOL: Tool = Tool {
    name: Some("shell"),
    key: KEY,
    description: "Runs a command.",
    args: Some(ShellArgs::<String>::object),
    success: ShellOutput::<String>::object,
    arms: &[
        Arm {
            name: "failure",
            description: "The command exited non-zero, or a signal ended it.",
            payload: ShellOutput::<String>::object,
        },
        Arm {
            name: "timeout",
            description: "The command exceeded its time limit.",
            payload: Timeout::object,
        },
        Arm {
            name: "spawnError",
            description: "The command could not be started.",
            payload: ErrorMessage::<String>::object,
        },
    ],
    repeats_call_id: true,
};

/// The key of [`ShellOutput`] with the text on stdout.
pub const STDOUT: &str = "stdout";

/// The key of [`ShellOutput`] with the text on stderr.
pub const STDERR: &str = "stderr";

/// The key of [`ShellOutput`] with stdout and stderr together.
pub const INTERLEAVED_OUTPUT: &str = "interleavedOutput";

contract_object! {
    /// A command and its working directory.
    pub struct ShellArgs<S: Default = String> {
        /// The bash command.
        required command("command"): S,
        /// The working directory; empty for the one of the run.
        required working_directory("workingDirectory"): S,
        /// The time limit.
        required timeout("timeout", unit: "ms"): u64,
        /// Whether the command continues in the background.
        optional is_background("isBackground"): Option<bool>,
        /// The `call_id` of the event.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// The output of a command that ran, with any exit code.
    pub struct ShellOutput<S: Default = String> {
        /// The command.
        payload command("command"): S,
        /// The working directory.
        payload working_directory("workingDirectory"): S,
        /// The exit code; 128 plus the signal number if a signal ended the command.
        payload exit_code("exitCode", unit: "exit code"): i32,
        /// The signal that ended the command, e.g. `SIGKILL`.
        optional signal("signal"): Option<S>,
        /// The text on stdout; long output is cut in the middle.
        payload stdout("stdout"): S,
        /// The text on stderr; long output is cut in the middle.
        payload stderr("stderr"): S,
        /// Stdout and stderr together, in the order in which they were read.
        payload interleaved_output("interleavedOutput"): S,
        /// The duration of the command.
        payload execution_time("executionTime", unit: "ms"): u64,
    }
}

contract_object! {
    /// A command that exceeded its time limit.
    pub struct Timeout {
        /// The time limit.
        payload timeout_ms("timeoutMs", unit: "ms"): u64,
    }
}
