//! `mcp list`: the declared MCP servers.

use ibeam_output::{SubcommandLine, escape_to_one_line};
use ibeam_protocol::{McpStatus, Reason, Sentence, sentence};
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::Report;
use crate::app::AppContext;
use crate::mcp::{ServerDeclaration, ServerDeclarations, declared_servers};

/// The width of the column with the status where no status is wider.
const MIN_STATUS_COLUMNS: usize = 11;

/// Returns the declared servers; starts none.
///
/// # Errors
/// `BadConfig` for an invalid declaration.
pub fn server_list(app: &AppContext) -> Result<Report, Reason> {
    let ServerDeclarations { servers, notices } = declared_servers(app)?;
    let width = servers
        .iter()
        .map(|server| escape_to_one_line(&server.name).chars().count())
        .max()
        .unwrap_or_default();
    let catalogue = &app.base.catalogue;
    let status = |server: &ServerDeclaration| catalogue.sentence(&status_sentence(server.status));
    let status_width = servers.iter().map(|server| status(server).width()).chain([MIN_STATUS_COLUMNS]).max();
    let mut text = String::new();
    for server in &servers {
        let (status, source, target) =
            (status(server), escape_to_one_line(&source(server)), server.transport.target());
        let name = escape_to_one_line(&server.name);
        let padding = " ".repeat(status_width.unwrap_or_default().saturating_sub(status.width()));
        text.push_str(&format!(
            "{name:width$}  {status}{padding}  {}  # {source}\n",
            escape_to_one_line(target.trim_end())
        ));
    }
    if servers.is_empty() {
        text.push_str(&format!("{}\n", app.base.catalogue.line(&SubcommandLine::NoServers)));
    }
    let rows: Vec<_> = servers
        .iter()
        .map(|server| {
            json!({
                "name": server.name,
                "status": status_sentence(server.status).as_str(),
                "required": server.required,
                "source": source(server),
            })
        })
        .collect();
    let warnings = notices.iter().map(|notice| app.base.catalogue.notice(notice)).collect();
    Ok(Report { text, json: json!(rows), warnings })
}

/// Returns the status of a server that was not started.
fn status_sentence(status: McpStatus) -> Sentence {
    match status {
        McpStatus::Connected => sentence!("enabled"),
        McpStatus::Failed => sentence!("failed"),
        McpStatus::Untrusted => sentence!("untrusted"),
        McpStatus::Unsupported => sentence!("unsupported"),
        McpStatus::Disabled => sentence!("disabled"),
    }
}

/// Returns the file, and the line if it is known, that declares the server.
fn source(server: &ServerDeclaration) -> String {
    let path = server.source.path.display();
    server.source.line.map_or_else(|| path.to_string(), |line| format!("{path}:{line}"))
}
