//! The configured web search: `[web_search]`.

use std::sync::Arc;

use ibeam_config::WebSearchSettings;
use ibeam_protocol::Reason;
use ibeam_web::{SearchConfig, SearchKeyReader, SearchService};
use tokio::sync::OnceCell;

use crate::app::AppContext;
use crate::environment::variable;
use crate::model::deferred_key::{DeferredKey, KeyCommandRunner};

/// The value of `web_search.service` for a tool of an MCP server.
const MCP: &str = "mcp";

#[derive(Clone)]
pub(crate) enum SearchSource {
    Service(SearchConfig),
    /// A tool of an MCP server.
    Mcp {
        server: String,
        /// The name of the tool on the server.
        tool: String,
    },
}

/// Returns the configured source; `None` without one.
///
/// # Errors
/// `BadConfig` for values that are missing or that contradict each other.
pub(crate) fn load(app: &AppContext) -> Result<Option<SearchSource>, Reason> {
    let table = &app.base.settings.web_search;
    let Some(name) = table.service.value.as_deref() else { return Ok(None) };
    let Some(service) = SearchService::from_name(name) else {
        let given = table.tool.value.as_deref().and_then(|tool| tool.split_once(':'));
        let Some((server, tool)) = given.filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
        else {
            return Err(invalid(table, "`web_search.tool` should be `SERVER:TOOL`, a tool of an MCP server"));
        };
        return Ok(Some(SearchSource::Mcp { server: server.to_owned(), tool: tool.to_owned() }));
    };
    let Some(url) = table.url.value.as_deref().or_else(|| service.default_url()) else {
        return Err(invalid(
            table,
            &format!("`{name}` needs `web_search.url`, the address of your instance"),
        ));
    };
    let key = match (key_reader(app)?, service.key_variable()) {
        (None, Some(usual)) => Some(missing_key(&key_variable(table).unwrap_or_else(|| usual.to_owned()))),
        (key, _) => key,
    };
    Ok(Some(SearchSource::Service(SearchConfig { service, url: url.to_owned(), key })))
}

/// Returns the name of the variable with the key of the service; `None` without a service, or if it needs no key.
pub(crate) fn key_variable(table: &WebSearchSettings) -> Option<String> {
    let service = table.service.value.as_deref().filter(|service| *service != MCP)?;
    let given = table.key_variable.value.as_deref();
    given.or_else(|| SearchService::from_name(service)?.key_variable()).map(str::to_owned)
}

/// Returns the error about a value of the table.
pub(crate) fn invalid(table: &WebSearchSettings, detail: &str) -> Reason {
    table.service.origin.invalid(detail.to_owned()).into()
}

/// Returns a reader that reports the missing key to the first call: a replay and `ibeam context` need none.
fn missing_key(variable: &str) -> SearchKeyReader {
    let message = format!(
        "set `${variable}`, `web_search.api_key_file` or `web_search.api_key_command` to the key of the service"
    );
    Arc::new(move || {
        let message = message.clone();
        Box::pin(async move { Err(message) })
    })
}

/// Returns the reader of the key: from the variable, the file or the command; `None` without any.
fn key_reader(app: &AppContext) -> Result<Option<SearchKeyReader>, Reason> {
    let table = &app.base.settings.web_search;
    let of_variable = key_variable(table).and_then(|name| variable(&name)).map(|key| key.trim().to_owned());
    if let Some(key) = of_variable.filter(|key| !key.is_empty()) {
        return Ok(Some(Arc::new(move || {
            let key = key.clone();
            Box::pin(async move { Ok(key) })
        })));
    }
    let (home, files) = (&app.dirs.home, table.api_key_file.value.as_slice());
    let Some(source) = DeferredKey::choose(home, files, &table.api_key_command)? else { return Ok(None) };
    let (runner, redactor) = (KeyCommandRunner::new(app), app.redactor().clone());
    let known = Arc::new(OnceCell::new());
    Ok(Some(Arc::new(move || {
        let (source, runner, redactor) = (source.clone(), runner.clone(), redactor.clone());
        let known = Arc::clone(&known);
        Box::pin(async move { known.get_or_try_init(|| source.read(&runner, &redactor)).await.cloned() })
    })))
}
