//! Network access of a run: the granted hosts, the tools that fetch pages and search, the proxy of confined commands.

use std::ffi::OsString;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_config::{NetworkSettings, Setting, WebSearchSettings};
use ibeam_core::{Tool, ToolSet};
use ibeam_policy::{Access, Policy, Rule, Verdict};
use ibeam_protocol::{PermissionMode, Reason};
use ibeam_providers::TlsSettings;
use ibeam_tools::BackgroundProcesses;
use ibeam_web::{
    Dialer, EgressProxy, FetchLimits, Grants, HostPortPattern, InvalidHostPortPattern, PinnedHosts,
    SystemResolver, TlsConfigFactory, UpstreamProxies, UrlPolicy, WebFetch,
};
use tokio::task::JoinSet;

use super::web_search::Search;
use crate::app::AppContext;
use crate::environment::variable;
use crate::mcp::McpServers;

/// The default of `timeouts.connect`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The network access of a run.
pub struct Web {
    dialer: Arc<Dialer>,
    grants: Grants,
    /// Whether a rule or a person could allow the fetch of some page.
    has_fetch_tool: bool,
    /// The configured search.
    search: Option<Search>,
}

impl Web {
    /// Reads pins, grants and rules. In print mode no person can allow a page.
    ///
    /// # Errors
    /// `Usage` or `BadConfig` for an invalid pin or grant.
    pub(crate) fn new(app: &AppContext, policy: &Policy, is_print: bool) -> Result<Self, Reason> {
        let grants = grants(&app.base.settings.network, policy)?;
        let dialer = Dialer::new(
            Arc::new(SystemResolver),
            pins(&app.base.settings.network)?,
            grants.addresses(),
            UpstreamProxies::new(variable),
            app.base.settings.timeouts.connect.value.unwrap_or(CONNECT_TIMEOUT),
        );
        let has_page_rule = |rules: &[Rule]| rules.iter().any(|rule| matches!(rule, Rule::WebFetch(_)));
        let has_fetch_tool = !is_print
            || policy.mode == PermissionMode::Force
            || has_page_rule(&policy.allow)
            || has_page_rule(&policy.ask);
        let dialer = Arc::new(dialer);
        let search = Search::load(app, policy, is_print, &dialer, || tls_factory(app))?;
        Ok(Self { dialer, grants, has_fetch_tool, search })
    }

    /// Returns `web_fetch`, where some page could be allowed.
    pub(crate) fn tools(&self, app: &AppContext, policy: &Policy) -> ToolSet {
        if !self.has_fetch_tool {
            return ToolSet::new();
        }
        let policy = policy.clone();
        let url_policy: UrlPolicy = Arc::new(move |url| {
            let access = Access::Fetch { url: url.to_owned() };
            matches!(policy.decide(&access), Verdict::Allow { .. })
        });
        let tool =
            WebFetch::new(Arc::clone(&self.dialer), url_policy, tls_factory(app), FetchLimits::default());
        ToolSet::from([(ibeam_web::WEB_FETCH_NAME.to_owned(), Arc::new(tool) as Arc<dyn Tool>)])
    }

    /// Returns `web_search`, if a search is configured and can be allowed.
    ///
    /// # Errors
    /// `BadConfig` for a tool that the configured MCP server does not have.
    pub(crate) fn search_tool(
        &self,
        settings: &WebSearchSettings,
        servers: &McpServers,
        mode: PermissionMode,
    ) -> Result<ToolSet, Reason> {
        let tool =
            self.search.as_ref().map(|search| search.tool(settings, servers, mode)).transpose()?.flatten();
        Ok(tool.map(|tool| (ibeam_web::WEB_SEARCH_NAME.to_owned(), tool)).into_iter().collect())
    }

    /// Whether commands may reach some host and need the proxy.
    pub(crate) fn is_granted(&self) -> bool {
        !self.grants.is_empty()
    }

    /// Serves confined commands at `listener`, which is in their network namespace. When the sandbox is set up again,
    /// serves its new listener too; commands that started before keep the old one. Dropping the future ends the
    /// service.
    pub fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        commands: BackgroundProcesses,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut serving = JoinSet::new();
            let mut next = Some(listener);
            loop {
                if let Some(listener) = next.take() {
                    let proxy = EgressProxy::new(Arc::clone(&self.dialer), self.grants.clone());
                    serving.spawn(proxy.serve(listener));
                }
                commands.started().await;
                next = commands.launcher().take_proxy_listener().map(|(listener, _)| listener);
            }
        })
    }

    /// Returns the environment variables that make commands use the proxy at `port` of their loopback interface.
    pub fn environment(&self, port: u16) -> Vec<(OsString, OsString)> {
        ibeam_web::proxy_environment(port, &self.grants)
    }
}

/// Returns the TLS configuration for pages and search services, which must not learn who the user is.
fn tls_factory(app: &AppContext) -> TlsConfigFactory {
    let settings = crate::model::tls_settings(app)
        .map(TlsSettings::without_client_certificate)
        .map_err(|reason| app.base.catalogue.reason(&reason).message);
    Arc::new(move || {
        let settings = settings.as_ref().map_err(Clone::clone)?;
        ibeam_providers::tls_config(settings).map_err(|error| error.to_string())
    })
}

/// Returns the hosts that commands may reach: those of `network.allow` and `--allow-net`, and the hosts of pages that a
/// rule allows without asking.
fn grants(settings: &NetworkSettings, policy: &Policy) -> Result<Grants, Reason> {
    let mut grants = Grants::default();
    for Setting { value, origin } in &settings.allow {
        grants
            .allow
            .push(value.parse().map_err(|error: InvalidHostPortPattern| origin.invalid(error.sentence()))?);
    }
    let bad = |error: InvalidHostPortPattern| Reason::Usage { detail: error.sentence() };
    for rule in &policy.allow {
        if let Rule::WebFetch(domain) = rule {
            grants.allow.extend(HostPortPattern::for_allowed_domain(domain).map_err(bad)?);
        }
    }
    // A person cannot be asked about a single connection of a command, so a rule that asks denies it.
    let ask_rules = if policy.mode == PermissionMode::Force { &[] } else { policy.ask.as_slice() };
    for rule in policy.deny.iter().chain(ask_rules) {
        if let Rule::WebFetch(domain) = rule {
            grants.deny.push(HostPortPattern::for_denied_domain(domain).map_err(bad)?);
        }
    }
    Ok(grants)
}

/// Returns the host names with pinned addresses.
fn pins(settings: &NetworkSettings) -> Result<PinnedHosts, Reason> {
    let mut pins = PinnedHosts::default();
    for (name, Setting { value, origin }) in &settings.resolve {
        let bad = |detail: String| origin.invalid(format!("`network.resolve`: {detail}"));
        pins.insert(name, value).map_err(|error| bad(error.to_string()))?;
    }
    Ok(pins)
}
