//! `status`: which keys there are, and which model a run would use.

use std::fs::File;

use serde_json::json;

use super::report;
use crate::app::AppContext;
use crate::cli::ReportFormat;
use crate::cli_error::CliError;
use crate::model;

pub(super) fn status(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let keys = model::key_sources(app);
    let mut text = String::new();
    if keys.is_empty() {
        text.push_str("Not logged in: no key is set or stored (`ibeam login PROVIDER`)\n");
    }
    for (provider, source) in &keys {
        text.push_str(&format!("Logged in as {provider} (key from {source})\n"));
    }
    let choice = model::choose_model(app);
    let model = choice.as_ref().ok().map(|choice| choice.info().clone());
    match (&model, &choice) {
        (Some(info), Ok(choice)) => {
            text.push_str(&format!(
                "Model: {} ({}/{}; {})\n",
                info.display,
                info.provider,
                info.id,
                choice.origin()
            ));
        }
        (_, Err(reason)) => {
            text.push_str(&format!("Model: none ({})\n", app.base.catalogue.reason(reason).message))
        }
        (None, Ok(_)) => {}
    }
    let authenticated = !keys.is_empty();
    let providers: Vec<_> =
        keys.iter().map(|(provider, source)| json!({ "provider": provider, "source": source })).collect();
    let json = json!({
        "status": if authenticated { "authenticated" } else { "unauthenticated" },
        "isAuthenticated": authenticated,
        "hasAccessToken": authenticated,
        "hasRefreshToken": false,
        "providers": providers,
        "model": model.as_ref().map(|info| &info.display),
        "message": if authenticated { "Logged in" } else { "Not logged in" },
    });
    report(stdout, format, &text, &json)
}
