//! Runs one command of the user in the sandbox of a run, without a model: the check of a task of a fleet.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{Stop, ToolContext};
use ibeam_fleet::CheckReport;
use ibeam_protocol::{AcceptedMedia, Failure, Reason, ToolFailure, ToolOutcome, ToolOutput};
use ibeam_tools::{PastFileAccess, ToolSettings};
use serde_json::json;

use ibeam_agent::app::AppContext;
use ibeam_agent::pump::CurrentStop;
use ibeam_agent::run::sandbox::RunSandbox;
use ibeam_agent::run::{on_runtime, system_error};
use ibeam_agent::signals;

/// Runs a command with the shell tool, and prints its exit code and its output as one JSON object.
///
/// No rule decides about the command: the user wrote it. At its time limit it is ended, and its output so far is printed.
/// Without `timeout`, that is the longest time that commands may have.
///
/// # Errors
/// `NoSandbox`, `NoInput`; the reason of a signal; `Io` if the command could not be run or stdout fails.
pub(super) fn run_check(
    app: &Arc<AppContext>,
    command: &str,
    timeout: Option<Duration>,
    stdout: &mut File,
) -> Result<(), Failure> {
    on_runtime(|runtime| {
        let _context = runtime.enter();
        let stop = Stop::default();
        let _signals = signals::watch(&CurrentStop::new(stop.clone()))
            .map_err(|error| system_error("sigaction", &error))?;
        let RunSandbox { workspace, path_policy, background, web, .. } =
            RunSandbox::spawn_for_check(app, timeout)?.join()?;
        let web = Arc::new(web);
        let listener = background.launcher().take_proxy_listener();
        let settings = ToolSettings {
            environment: std::env::vars_os().collect(),
            secret_variables: ibeam_agent::model::key_variable_names(app),
            log_directory: None,
            extra_variables: ibeam_agent::run::resources::extra_variables(app),
            command_environment: listener
                .as_ref()
                .map(|(_, port)| web.environment(*port))
                .unwrap_or_default(),
            path_policy,
            quarantine: None,
            monitors_home: false,
            background: background.clone(),
            past_file_access: PastFileAccess::default(),
            accepted_media: AcceptedMedia::default(),
            editor_files: None,
        };
        if let Some((listener, _)) = listener {
            // The task ends with the runtime.
            drop(runtime.spawn(web.serve(listener, background.clone())));
        }
        let tools = ibeam_tools::all(workspace, settings);
        let failed = |detail: String| Reason::Io { what: "check".to_owned(), detail };
        let shell = tools.get("shell").ok_or_else(|| failed("no shell".to_owned()))?;
        // The longest time that commands may have here.
        let arguments = json!({ "command": command, "timeout": u32::MAX });
        let call = shell.prepare(&arguments).map_err(|error| failed(error.to_string()))?;
        let context = ToolContext::new(stop.clone(), app.base.settings.timeouts.files.value);
        let outcome = runtime.block_on((call.run)(context));
        if let Some(reason) = stop.reason() {
            return Err(reason.clone().into());
        }
        let (exit_code, timeout_ms, output) = match outcome {
            ToolOutcome::Success { output: ToolOutput::Shell(output), .. }
            | ToolOutcome::Failure { failure: ToolFailure::CommandFailed(output), .. } => {
                (Some(output.exit_code), None, output)
            }
            ToolOutcome::Failure { failure: ToolFailure::TimedOut { timeout_ms, partial }, .. } => {
                (None, Some(timeout_ms), partial)
            }
            outcome => return Err(failed(outcome.for_model().to_string()).into()),
        };
        let report = CheckReport { exit_code, timeout_ms, output: output.interleaved };
        let line = serde_json::to_string(&report).map_err(|error| failed(error.to_string()))?;
        writeln!(stdout, "{line}").map_err(|error| failed(error.to_string()).into())
    })
}
