//! `config explain`: every value with its origin. `config path`: the paths of the configuration files.

use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::run::computed_sizes;
use ibeam_config::{Setting, Value};
use ibeam_providers::{Timeouts, is_secret_header};
use serde_json::json;

use super::facts::CommandFacts;
use super::printing::{print_text, report};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;
use crate::secret_mask::{MASK, mask_secrets};

/// The flags that set a value of the configuration, which `config explain` shows.
const CONFIG_FLAGS: &[&str] = &[
    "LimitFlags",
    "RuleFlags",
    "background",
    "ca_file",
    "client_cert",
    "client_key",
    "effort",
    "ephemeral",
    "force",
    "model",
    "sandbox",
    "thinking_budget",
    "trust",
    "verbose",
    "workspace",
];

/// Show the configuration
#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    what: ConfigCommand,
}

/// The commands of `config`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum ConfigCommand {
    /// Show every value and which flag, variable or file set it
    Explain {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// List the paths of the configuration files
    Path,
}

impl SubCommand for ConfigArgs {
    const FACTS: CommandFacts = CommandFacts::new("config").uses(CONFIG_FLAGS).above(&[
        CommandFacts::new("explain").with_examples(&["ibeam config explain --format json"]),
        CommandFacts::new("path").with_examples(&["ibeam config path"]),
    ]);

    fn config_use(&self) -> ConfigUse {
        match self.what {
            ConfigCommand::Explain { .. } => ConfigUse::Shown,
            ConfigCommand::Path => ConfigUse::Incidental,
        }
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        config(app, &self.what, call.stdout).map(success)
    }
}

pub(super) fn config(app: &AppContext, what: &ConfigCommand, stdout: &mut File) -> Result<(), CliError> {
    match what {
        ConfigCommand::Explain { format } => explain(app, format.unwrap_or_default(), stdout),
        ConfigCommand::Path => {
            let paths = app.dirs.config_files().map(|path| format!("{}\n", path.display()));
            print_text(stdout, &paths.collect::<String>())
        }
    }
}

/// A value of the effective configuration.
struct Row {
    key: String,
    /// The value as a file accepts it.
    text: String,
    json: serde_json::Value,
    /// The flag, the variable, or the file and line that set it.
    origin: String,
}

impl Row {
    fn new(key: String, value: &Value, origin: String) -> Self {
        let value = match value {
            Value::Text(text) => Value::Text(mask_secrets(text).into_owned()),
            Value::List(texts) => Value::List(mask_list(texts)),
            other => other.clone(),
        };
        Self { key, text: value.to_string(), json: value.to_json(), origin }
    }
}

/// Returns the texts without likely secrets. The value of an option may be a text of its own.
fn mask_list(texts: &[String]) -> Vec<String> {
    let before = std::iter::once("").chain(texts.iter().map(String::as_str));
    let mask = |(before, text): (&str, &String)| {
        let is_option = before.starts_with('-') && !before.contains('=') && is_secret_header(before);
        match is_option && !text.starts_with(['-', '$']) {
            true => MASK.to_owned(),
            false => mask_secrets(text).into_owned(),
        }
    };
    before.zip(texts).map(mask).collect()
}

fn explain(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let mut rows = Vec::new();
    let lowered = computed_sizes(app);
    for (path, settings) in app.base.config.all_settings() {
        let is_secret = match path {
            [table, _, group, name] if table == "mcp_servers" => match group.as_str() {
                "env" | "headers" => true,
                "auth" => name == "client_secret",
                _ => false,
            },
            [table, _, headers, name] if table == "providers" => {
                headers == "headers" && is_secret_header(name)
            }
            _ => false,
        };
        let path = path.join(".");
        // Lists of all sources (flags, variables, files) are combined. Any other value comes from the strongest source.
        let in_force = match settings.last() {
            Some(last) if !matches!(last.value, Value::List(_)) => std::slice::from_ref(last),
            Some(_) | None => settings,
        };
        for setting in in_force {
            // Environment variables of MCP servers, and headers of providers, may be secrets.
            let hidden = is_secret.then(|| Value::Text("…".to_owned()));
            let value = hidden.as_ref().unwrap_or(&setting.value);
            rows.push(
                lowered_row(&lowered, &path, setting)
                    .unwrap_or_else(|| Row::new(path.clone(), value, setting.origin.to_string())),
            );
        }
    }
    rows.extend(default_timeouts(app));
    rows.sort_by(|one, other| one.key.cmp(&other.key));
    rows.push(model_row(app));
    let width = rows.iter().map(|row| row.key.len() + row.text.len() + 3).max().unwrap_or_default();
    let mut text = String::new();
    for Row { key, text: value, origin, .. } in &rows {
        text.push_str(&format!("{:width$}  # {origin}\n", format!("{key} = {value}")));
    }
    for notice in app.trust.merge_notices(app.base.config.notices.clone()) {
        text.push_str(&format!("# {}\n", app.base.catalogue.notice(&notice)));
    }
    for fault in &app.base.config_errors {
        text.push_str(&format!("# {}\n", app.base.catalogue.reason(fault).message));
    }
    let json: Vec<_> =
        rows.iter().map(|row| json!({ "key": row.key, "value": row.json, "origin": row.origin })).collect();
    match format {
        // A value that was wrapped could not be pasted into a file.
        ReportFormat::Text => print_text(stdout, &text),
        ReportFormat::Json => report(stdout, format, "", &json!(json)),
    }
}

/// Returns the row of a size that a project sets above the computed default, which a project may only lower.
fn lowered_row(sizes: &[(&str, u64)], path: &str, setting: &Setting) -> Option<Row> {
    let (_, size) = sizes.iter().find(|(key, _)| *key == path)?;
    let value = Value::Number(*size);
    let origin = format!("default; {} may only lower it", setting.origin);
    (setting.value != value).then(|| Row::new(path.to_owned(), &value, origin))
}

/// Returns the timeouts that are not configured: the defaults for the model in use.
fn default_timeouts(app: &AppContext) -> Vec<Row> {
    let (timeouts, origin) = match ibeam_agent::model::choose_model(app) {
        Ok(choice) => match choice.timeouts() {
            Some(timeouts) => (timeouts, format!("default of {}", choice.info().provider)),
            // The embedded model has no network timeouts.
            None => return Vec::new(),
        },
        Err(_) => (Timeouts::default(), "default".to_owned()),
    };
    let set = &app.base.settings.timeouts;
    [
        ("connect", &set.connect, timeouts.connect),
        ("first_byte", &set.first_byte, timeouts.first_byte),
        ("idle", &set.idle, timeouts.idle),
        ("content_idle", &set.content_idle, timeouts.content_idle),
        ("answer", &set.answer, timeouts.total),
    ]
    .into_iter()
    .filter(|(_, set, _)| set.value.is_none())
    .map(|(key, _, timeout)| Row::new(format!("timeouts.{key}"), &Value::Time(timeout), origin.clone()))
    .collect()
}

/// Returns the model that a run would use, which an API key may select instead of a setting.
fn model_row(app: &AppContext) -> Row {
    let key = "(model in use)".to_owned();
    match ibeam_agent::model::choose_model(app) {
        Ok(choice) => {
            let info = choice.info();
            Row::new(key, &Value::Text(format!("{}/{}", info.provider, info.id)), choice.origin().to_string())
        }
        Err(reason) => Row {
            key,
            text: "none".to_owned(),
            json: serde_json::Value::Null,
            origin: app.base.catalogue.reason(&reason).message,
        },
    }
}
