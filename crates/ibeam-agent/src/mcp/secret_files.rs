//! The files with secrets that declarations of MCP servers name: keys and tokens of logins, and files with variables.
//!
//! Those of `config.toml` are in [`ibeam_config::Config::secret_files`]. A file of the project names none.

use std::path::PathBuf;

use super::Filler;
use super::declaration::{ServerDeclaration, ServerTransport, users_json_servers};
use crate::app::AppContext;

/// Returns the files that JSON files of the user, and `--mcp-config`, name.
pub(crate) fn secret_files(app: &AppContext) -> Vec<PathBuf> {
    users_json_servers(app).iter().flat_map(|server| files_of(app, server)).collect()
}

fn files_of(app: &AppContext, server: &ServerDeclaration) -> Vec<PathBuf> {
    let filler = Filler::new(app, server);
    match &server.transport {
        ServerTransport::Http(http) => {
            let is_secret = |key: &str| ibeam_config::names_secret(&format!("mcp_servers.NAME.auth.{key}"));
            let texts = http.auth.texts().into_iter();
            let named = texts.filter(|(key, _)| is_secret(key)).filter_map(|(_, text)| text);
            // A server whose placeholders cannot be filled does not start.
            named.filter_map(|text| filler.fill(&text).ok()).map(PathBuf::from).collect()
        }
        ServerTransport::Command { environment_file, .. } => {
            let path = environment_file.as_deref().and_then(|text| filler.fill_path(text).ok());
            // The variables of a project are for its commands too.
            let path = path.map(|path| app.workspace.join(path));
            path.filter(|path| !path.starts_with(&app.workspace)).into_iter().collect()
        }
        ServerTransport::Sse(_) => Vec::new(),
    }
}
