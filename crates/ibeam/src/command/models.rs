//! `models`: the available models, one `<id> - <Label>` per line. `models --providers`: the providers.
//!
//! Requests the list of every provider with a key or a configured URL. A provider that fails is a warning on stderr.

use std::fs::File;
use std::io::{self, Write};

use ibeam_protocol::Reason;
use ibeam_providers::known_provider;

use super::{explain_in_line, print_text};
use crate::app::AppContext;
use crate::cli_error::CliError;
use crate::model::{self, ConfiguredProvider, EMBEDDED};

/// Prints the available models.
pub(crate) fn list(app: &AppContext, stdout: &mut File) -> Result<(), CliError> {
    let mut text = "Available models\n\n".to_owned();
    let current = model::choose_model(app).ok().map(|choice| {
        let info = choice.info();
        format!("{}/{}", info.provider, info.id)
    });
    let mut add = |id: &str, label: &str| {
        let mark = if current.as_deref() == Some(id) { " (current)" } else { "" };
        text.push_str(&format!("{id} - {label}{mark}\n"));
    };
    for provider in ConfiguredProvider::usable(app)? {
        if let Err(reason) = provider.check_address(app) {
            drop(writeln!(io::stderr(), "warning: {}: {}", provider.name, explain_in_line(app, &reason)));
            continue;
        }
        match crate::run::on_runtime(|runtime| runtime.block_on(model::list_models(&provider))) {
            Ok(models) => {
                for found in models {
                    // The server of `--endpoint` is not a provider of the table.
                    let id = match app.base.flags.endpoint {
                        Some(_) => found.id.clone(),
                        None => format!("{}/{}", provider.name, found.id),
                    };
                    add(&id, found.label.as_deref().unwrap_or(&found.id));
                }
            }
            Err(failure) => {
                let message = app.base.catalogue.failure(&failure).message;
                drop(writeln!(io::stderr(), "warning: {}: {message}", provider.name));
            }
        }
    }
    // Clients of the Cursor CLI use these ids, and some refuse an id that is not listed.
    for (name, meant) in model::aliases(app) {
        add(&name, &meant);
    }
    if cfg!(feature = "embedded") {
        let mark = if model::is_installed(app) { "" } else { " (not set up: `ibeam setup`)" };
        add(&format!("{EMBEDDED}/qwen2.5-coder-1.5b"), &format!("{}{mark}", model::EMBEDDED_DISPLAY));
    } else {
        drop(writeln!(io::stderr(), "{}", explain_in_line(app, &Reason::NoLocalEngine)));
    }
    text.push_str(
        "\nTip: choose one with `--model ID`, `IBEAM_MODEL` or `model` in the configuration; \
         `ibeam models --providers` lists the providers.\n",
    );
    print_text(stdout, &text)
}

/// Prints the providers, one `<name> - <Label>: <key>` per line, without any request.
pub(super) fn list_providers(app: &AppContext, stdout: &mut File) -> Result<(), CliError> {
    let keys = model::key_sources(app);
    let mut text = "Providers\n\n".to_owned();
    for name in model::provider_names(app) {
        let label = known_provider(&name).map_or("from your configuration", |provider| provider.label);
        let source = keys.iter().find(|(provider, _)| *provider == name).map(|(_, source)| source);
        let key = match (source, model::key_variable(app, &name)) {
            (Some(source), _) => format!("key from {source}"),
            (None, None) => "needs no key".to_owned(),
            (None, Some(variable)) => format!("no key; set `{variable}`, or run `ibeam login {name}`"),
        };
        text.push_str(&format!("{name} - {label}: {key}\n"));
    }
    text.push_str(
        "\nTip: `ibeam models` lists the models of those that have a key or an address of yours.\n",
    );
    print_text(stdout, &text)
}
