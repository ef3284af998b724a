//! `shell`: a command.

use super::{Arm, ErrorMessage, Tool};
use crate::describe::{DescribeObject, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("shell"),
    key: "shellToolCall",
    description: "Runs a command.",
    args: Some(ShellArgs::<String>::object),
    success: ShellOutput::<String>::object,
    arms: &[
        Arm {
            name: "failure",
            description: "It ran, and exited non-zero or was ended by a signal.",
            payload: ShellOutput::<String>::object,
        },
        Arm { name: "timeout", description: "It took longer than it may.", payload: Timeout::object },
        Arm {
            name: "spawnError",
            description: "It could not be started.",
            payload: ErrorMessage::<String>::object,
        },
    ],
    repeats_call_id: true,
};

contract_object! {
    /// A command and where it runs.
    pub struct ShellArgs<S: Default = String> {
        /// The command, for bash.
        required command("command"): S,
        /// The directory it runs in; empty for that of the run.
        required working_directory("workingDirectory"): S,
        /// The longest it may take.
        required timeout("timeout", unit: "ms"): u64,
        /// Whether it goes on in the background.
        optional is_background("isBackground"): Option<bool>,
        /// The `call_id` again.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// A command that ran, whatever its exit code.
    pub struct ShellOutput<S: Default = String> {
        /// The command as it ran.
        payload command("command"): S,
        /// Where it ran.
        payload working_directory("workingDirectory"): S,
        /// Its exit code; 128 and the number of the signal where one ended it.
        payload exit_code("exitCode", unit: "exit code"): i32,
        /// The signal that ended it, e.g. `SIGKILL`.
        optional signal("signal"): Option<S>,
        /// What it wrote to stdout; long output is cut in the middle.
        payload stdout("stdout"): S,
        /// What it wrote to stderr; long output is cut in the middle.
        payload stderr("stderr"): S,
        /// Both, in the order in which they were read.
        payload interleaved_output("interleavedOutput"): S,
        /// How long it ran.
        payload execution_time("executionTime", unit: "ms"): u64,
    }
}

contract_object! {
    /// A command that took longer than it may.
    pub struct Timeout {
        /// How long it may take.
        payload timeout_ms("timeoutMs", unit: "ms"): u64,
    }
}
