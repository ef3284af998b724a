//! `providers`: the providers, the variable for the key of each, and where a key comes from. Sends no request.

use std::fs::File;

use ibeam_providers::{default_model, known_provider};
use serde_json::json;

use super::report;
use crate::app::AppContext;
use crate::cli::ReportFormat;
use crate::cli_error::CliError;
use crate::model;

/// Prints the providers, one `<name> - <Label>: <key>` per line or as one JSON object.
pub(super) fn list(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let keys = model::key_sources(app);
    let mut text = "Providers\n\n".to_owned();
    let mut rows = Vec::new();
    for name in model::provider_names(app) {
        let label = known_provider(&name).map_or("from your configuration", |provider| provider.label);
        let source = keys.iter().find(|(provider, _)| *provider == name).map(|(_, source)| source);
        let variable = model::key_variable(app, &name);
        let key = match (source, &variable) {
            (Some(source), _) => format!("key from {source}"),
            (None, None) => "needs no key".to_owned(),
            (None, Some(variable)) => format!("no key; set `{variable}`, or run `ibeam login {name}`"),
        };
        text.push_str(&format!("{name} - {label}: {key}\n"));
        rows.push(json!({
            "name": name,
            "label": label,
            "key_variable": variable,
            "has_key": source.is_some(),
            "key_source": source,
            "default_model": default_model(&name),
        }));
    }
    text.push_str(
        "\nTip: `ibeam models` lists the models of providers with a key, or with an address that you set.\n",
    );
    report(stdout, format, &text, &json!({ "providers": rows }))
}
