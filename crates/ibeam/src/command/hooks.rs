//! `hooks`: lists the configured hooks, and runs those of an event on a sample input.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use ibeam_agent::app::AppContext;
use ibeam_agent::run::HookModel;
use ibeam_agent::{hooks, model, signals, stderr};
use ibeam_core::Stop;
use ibeam_hooks::{HookConfig, HookListing, HookRunner, HookTrial, TrialResult, UnknownEvent};
use ibeam_output::{SubcommandLine, escape_to_one_line};
use ibeam_protocol::{
    Failure, KeySource, Limits, ModelInfo, Reason, RunStarted, Sandbox, SessionId, sentence,
};
use serde_json::{Map, Value, json};

use super::facts::CommandFacts;
use super::printing::report;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// List the hooks, and try those of an event
#[derive(Args, Clone, Debug)]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    what: HooksCommand,
}

/// The commands of `hooks`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum HooksCommand {
    /// List the hooks that a run would have, with their files; runs none
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Run the hooks of an event on a sample input, and show what each of them decides
    #[command(after_help = "The hooks are really run. The events: `ibeam help hooks`.")]
    Test {
        /// The event, e.g. `preToolUse`
        event: String,
        /// A file with a JSON object, whose keys replace those of the sample
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

impl SubCommand for HooksArgs {
    const FACTS: CommandFacts =
        CommandFacts::new("hooks").uses(&["force", "model", "trust", "workspace"]).above(&[
            CommandFacts::new("list").with_examples(&["ibeam hooks list"]),
            CommandFacts::new("test").with_examples(&["ibeam hooks test preToolUse --input call.json"]),
        ]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        hooks(app, &self.what, call.stdout).map(success)
    }
}

/// The largest file with an input, in bytes.
const MAX_INPUT_BYTES: u64 = 4 << 20;

fn hooks(app: &Arc<AppContext>, what: &HooksCommand, stdout: &mut File) -> Result<(), CliError> {
    match what {
        HooksCommand::List { format } => list(app, format.unwrap_or_default(), stdout),
        HooksCommand::Test { event, input, format } => {
            test(app, event, input.as_deref(), format.unwrap_or_default(), stdout)
        }
    }
}

/// Reads the hooks that a run would have, and prints the warnings about them.
fn load(app: &AppContext) -> Result<HookConfig, Reason> {
    let config = hooks::load(app)?;
    for notice in &config.notices {
        stderr::write_line(&format!("warning: {}", app.base.catalogue.notice(notice)));
    }
    Ok(config)
}

/// Lists the hooks by event, in the order in which they run.
fn list(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let listings = load(app)?.listings();
    let mut text = String::new();
    for hook in &listings {
        text.push_str(&format!("{}\n", line_of(hook)));
    }
    if listings.is_empty() {
        text.push_str(&format!("{}\n", app.base.catalogue.line(&SubcommandLine::NoHooks)));
    }
    let rows: Vec<Value> = listings.iter().map(object_of).collect();
    report(stdout, format, &text, &json!({ "hooks": rows }))
}

fn line_of(hook: &HookListing) -> String {
    let matcher = hook.matcher.as_deref().unwrap_or("*");
    format!(
        "{}  {}  {}: {}  # {}",
        hook.event,
        escape_to_one_line(matcher),
        hook.kind,
        escape_to_one_line(&hook.text),
        escape_to_one_line(&hook.path.display().to_string())
    )
}

fn object_of(hook: &HookListing) -> Value {
    json!({
        "event": hook.event,
        "type": hook.kind,
        "text": hook.text,
        "matcher": hook.matcher,
        "path": hook.path.display().to_string(),
    })
}

/// Runs the hooks of an event, and prints what each of them decides.
fn test(
    app: &Arc<AppContext>,
    event: &str,
    input: Option<&Path>,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let input = input.map(read_input).transpose()?.unwrap_or_default();
    let config = load(app)?;
    let has_hooks = !config.listings().is_empty();
    let runner = runner(app, config);
    let trials = try_event(&runner, event, &input)?;
    let mut text = String::new();
    for HookTrial { hook, result } in &trials {
        text.push_str(&format!("{}\n", line_of(hook)));
        match result {
            Some(result) => text.push_str(&text_of(result)),
            None => text.push_str("  the matcher does not match; the hook was not run\n"),
        }
    }
    if trials.is_empty() {
        let catalogue = &app.base.catalogue;
        let line = match has_hooks {
            true => {
                let event = escape_to_one_line(event);
                let line = sentence!(
                    "no hook runs on `{event}`; `ibeam hooks list` lists those of other events",
                    event,
                );
                catalogue.sentence(&line)
            }
            false => catalogue.line(&SubcommandLine::NoHooks),
        };
        text.push_str(&format!("{line}\n"));
    }
    let rows: Vec<Value> = trials
        .iter()
        .map(|HookTrial { hook, result }| {
            let mut row = object_of(hook);
            if let Some(row) = row.as_object_mut() {
                row.insert("matched".to_owned(), result.is_some().into());
                row.insert("result".to_owned(), result.as_ref().map(object_of_result).into());
            }
            row
        })
        .collect();
    report(stdout, format, &text, &json!({ "hooks": rows }))
}

/// Returns the lines of a result.
fn text_of(result: &TrialResult) -> String {
    let TrialResult { exit_code, stdout, stderr, decision, message } = result;
    let mut text = format!("  decision: {}\n", decision.as_str());
    let mut line = |name: &str, value: &str| {
        let value = value.trim();
        if !value.is_empty() {
            text.push_str(&format!("  {name}: {}\n", escape_to_one_line(value)));
        }
    };
    line("message", message.as_deref().unwrap_or_default());
    line("exit code", &exit_code.map(|code| code.to_string()).unwrap_or_default());
    line("stdout", stdout);
    line("stderr", stderr);
    text
}

fn object_of_result(result: &TrialResult) -> Value {
    let TrialResult { exit_code, stdout, stderr, decision, message } = result;
    json!({
        "decision": decision.as_str(),
        "message": message,
        "exit_code": exit_code,
        "stdout": stdout,
        "stderr": stderr,
    })
}

/// Reads the keys that replace those of the sample input.
fn read_input(path: &Path) -> Result<Map<String, Value>, CliError> {
    let no_input =
        |error: io::Error| Reason::NoInput { path: path.display().to_string(), detail: error.to_string() };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(no_input)?;
    file.take(MAX_INPUT_BYTES).read_to_end(&mut bytes).map_err(no_input)?;
    serde_json::from_slice(&bytes).map_err(|error| CliError::InvalidHookInput {
        path: path.display().to_string(),
        line: u64::try_from(error.line()).unwrap_or_default(),
        column: u64::try_from(error.column()).unwrap_or_default(),
    })
}

/// Returns the runner of the hooks in `config`, as in a run.
fn runner(app: &Arc<AppContext>, config: HookConfig) -> Arc<HookRunner> {
    let unknown = || {
        let unknown = "unknown".to_owned();
        ModelInfo { provider: unknown.clone(), id: unknown.clone(), display: unknown }
    };
    let head = RunStarted {
        session_id: SessionId::random(),
        cwd: app.workspace.clone(),
        model: model::choose_model(app).map_or_else(|_| unknown(), |choice| choice.info().clone()),
        key_source: KeySource::None,
        permission_mode: ibeam_agent::run::permission_mode(app),
        tools: Vec::new(),
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        limits: Limits::NONE,
        resumed: false,
        continues: false,
        message_turn: 0,
        journal_gaps: 0,
        ephemeral: true,
        parent: None,
        environment: None,
    };
    let prompt_model = HookModel::new(app, None, head.session_id);
    hooks::runner(config, app, &head, true, Arc::new(prompt_model))
}

/// Runs the hooks of an event. A signal ends the running hook.
fn try_event(
    runner: &HookRunner,
    event: &str,
    input: &Map<String, Value>,
) -> Result<Vec<HookTrial>, CliError> {
    let stop = Stop::default();
    let work = async {
        let system = |error: std::io::Error| Reason::System {
            what: "sigaction".to_owned(),
            detail: error.to_string(),
        };
        let _watch = signals::watch(&ibeam_agent::pump::CurrentStop::new(stop.clone())).map_err(system)?;
        let unknown = |error: UnknownEvent| Reason::Usage { detail: error.sentence() };
        tokio::select! {
            biased;
            reason = stop.wait() => Err(reason),
            trials = runner.try_event(event, input) => trials.map_err(unknown),
        }
    };
    Ok(ibeam_agent::run::on_runtime(|runtime| runtime.block_on(work).map_err(Failure::from))?)
}
