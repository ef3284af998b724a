//! `providers`: the providers, the variable for the key of each, and where a key comes from. Sends no request.

use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::AppContext;
use ibeam_agent::model;
use ibeam_protocol::sentence;
use ibeam_providers::default_models::default_model;
use ibeam_providers::known_provider;
use serde_json::json;

use super::facts::CommandFacts;
use super::printing::report;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// List the providers, the variable for the key of each, and whether a key is there
#[derive(Args, Clone, Debug)]
#[command(hide = true)]
pub(crate) struct ProvidersArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl SubCommand for ProvidersArgs {
    const FACTS: CommandFacts = CommandFacts::new("providers").uses(&["api_key", "trust", "workspace"]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        list(app, self.json, call.stdout).map(success)
    }
}

/// Prints the providers, one `<name> - <Label>: <key>` per line or as one JSON object.
pub(super) fn list(app: &AppContext, json: bool, stdout: &mut File) -> Result<(), CliError> {
    let format = if json { ReportFormat::Json } else { ReportFormat::Text };
    let keys = model::key_sources(app);
    let sentence = |sentence| app.base.catalogue.sentence(&sentence);
    let mut text = format!("{}\n\n", sentence(sentence!("Providers")));
    let mut rows = Vec::new();
    for name in model::provider_names(app) {
        let known_label = known_provider(&name).map(|provider| provider.label);
        let configured = sentence!("from your configuration");
        let label = known_label.unwrap_or(configured.as_str());
        let label_text = known_label.map_or_else(|| sentence(configured.clone()), str::to_owned);
        let source = keys.iter().find(|(provider, _)| *provider == name).map(|(_, source)| source);
        let variable = model::key_variable(app, &name);
        let key = match (source, &variable) {
            (Some(source), _) => sentence!("key from {source}", source),
            (None, None) => sentence!("needs no key"),
            (None, Some(variable)) => {
                sentence!("no key; set `${variable}`, or run `ibeam login {name}`", variable, name)
            }
        };
        text.push_str(&format!("{name} - {label_text}: {}\n", sentence(key)));
        rows.push(json!({
            "name": name,
            "label": label,
            "key_variable": variable,
            "has_key": source.is_some(),
            "key_source": source,
            "default_model": default_model(&name, &ibeam_agent::clock::utc_date()),
        }));
    }
    let tip = sentence!(
        "`ibeam models` lists the models of providers with a key, or with an address that you set."
    );
    text.push_str(&format!("\nTip: {}\n", sentence(tip)));
    report(stdout, format, &text, &json!({ "providers": rows }))
}
