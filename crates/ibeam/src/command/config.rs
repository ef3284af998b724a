//! `config explain`: every value and what set it. `config path`: where the files are looked for.

use std::fs::File;

use ibeam_protocol::Failure;
use ibeam_providers::Timeouts;
use serde_json::json;

use super::{report, say};
use crate::app::App;
use crate::cli::{ConfigCommand, ReportFormat};
use crate::config::Value;

pub(super) fn config(app: &App, what: &ConfigCommand, stdout: &mut File) -> Result<(), Failure> {
    match what {
        ConfigCommand::Explain { format } => explain(app, format.unwrap_or_default(), stdout),
        ConfigCommand::Path => {
            let paths = app.places.configuration().map(|path| format!("{}\n", path.display()));
            say(stdout, &paths.collect::<String>())
        }
    }
}

fn explain(app: &App, format: ReportFormat, stdout: &mut File) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (path, settings) in app.config.all() {
        let is_secret = matches!(path, [table, _, env, _] if table == "mcp_servers" && env == "env");
        let path = path.join(".");
        // Lists add up over the layers; of everything else the strongest layer counts.
        let in_force = match settings.last() {
            Some(last) if !matches!(last.value, Value::List(_)) => std::slice::from_ref(last),
            Some(_) | None => settings,
        };
        for setting in in_force {
            // Tokens stand there; who looks for one knows the file.
            let value = if is_secret { "\"…\"".to_owned() } else { setting.value.to_string() };
            rows.push((path.clone(), value, setting.origin.to_string()));
        }
    }
    rows.extend(bounds_of_the_service(app));
    rows.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    rows.push(model_row(app));
    let width = rows.iter().map(|(path, value, _)| path.len() + value.len() + 3).max().unwrap_or_default();
    let mut text = String::new();
    for (path, value, origin) in &rows {
        text.push_str(&format!("{:width$}  # {origin}\n", format!("{path} = {value}")));
    }
    for notice in app.trust.tell(app.config.notices.clone()) {
        text.push_str(&format!("# {}\n", app.catalogue.notice(&notice)));
    }
    let json: Vec<_> = rows
        .iter()
        .map(|(path, value, origin)| json!({ "key": path, "value": value, "origin": origin }))
        .collect();
    report(stdout, format, &text, &json!(json))
}

/// The bounds that nobody set: those that suit the model in use.
fn bounds_of_the_service(app: &App) -> Vec<(String, String, String)> {
    let (bounds, origin) = match crate::model::choose(app) {
        Ok(choice) => match choice.bounds() {
            Some(bounds) => (bounds, format!("default of {}", choice.info().provider)),
            // The embedded model is not waited for over a network.
            None => return Vec::new(),
        },
        Err(_) => (Timeouts::default(), "default".to_owned()),
    };
    [
        ("connect", bounds.connect),
        ("first_byte", bounds.first_byte),
        ("idle", bounds.idle),
        ("content_idle", bounds.content_idle),
        ("answer", bounds.whole),
    ]
    .into_iter()
    .filter(|(key, _)| app.config.get(&["timeouts", key]).is_none())
    .map(|(key, bound)| (format!("timeouts.{key}"), Value::Time(bound).to_string(), origin.clone()))
    .collect()
}

/// The model that a run would use now, which may come from a key rather than from a setting.
fn model_row(app: &App) -> (String, String, String) {
    match crate::model::choose(app) {
        Ok(choice) => {
            let info = choice.info();
            (
                "(model in use)".to_owned(),
                format!("{:?}", format!("{}/{}", info.provider, info.id)),
                choice.why(),
            )
        }
        Err(reason) => {
            ("(model in use)".to_owned(), "none".to_owned(), app.catalogue.reason(&reason).message)
        }
    }
}
