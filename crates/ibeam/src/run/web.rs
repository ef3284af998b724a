//! The way of a run to the web: what it may reach, the tool that fetches pages, the proxy of its confined commands.

use std::ffi::OsString;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_config::Origin;
use ibeam_core::{Tool, ToolSet};
use ibeam_policy::{Access, Policy, Rule, Verdict};
use ibeam_protocol::{PermissionMode, Reason};
use ibeam_tools::BackgroundProcesses;
use ibeam_web::{
    BadGrant, Bounds, Dialer, EgressProxy, Grant, Grants, Judge, Pins, SystemResolver, Tls, Upstream,
    WebFetch,
};
use tokio::task::JoinSet;

use crate::app::AppContext;
use crate::environment::variable;

/// The longest that a connection may take, unless `timeouts.connect` says otherwise.
const CONNECT: Duration = Duration::from_secs(10);

/// What a run may reach, and how.
pub(crate) struct Web {
    dialer: Arc<Dialer>,
    grants: Grants,
    /// Some page could be fetched: by a rule, or by a person's leave.
    offered: bool,
}

impl Web {
    /// Reads pins, grants and rules. Where a run is `printing`, nobody can be asked.
    ///
    /// # Errors
    /// `Usage` or `BadConfig` for a pin or grant that is none.
    pub(crate) fn new(app: &AppContext, policy: &Policy, printing: bool) -> Result<Self, Reason> {
        let grants = grants(app, policy)?;
        let dialer = Dialer::new(
            Arc::new(SystemResolver),
            pins(app)?,
            grants.addresses(),
            Upstream::new(variable),
            app.base.config.time(&["timeouts", "connect"]).unwrap_or(CONNECT),
        );
        let of_pages = |rules: &[Rule]| rules.iter().any(|rule| matches!(rule, Rule::WebFetch(_)));
        let offered = !printing
            || policy.mode == PermissionMode::Force
            || of_pages(&policy.allow)
            || of_pages(&policy.ask);
        Ok(Self { dialer: Arc::new(dialer), grants, offered })
    }

    /// `web_fetch`, where some page could be fetched.
    pub(crate) fn tools(&self, policy: &Policy) -> ToolSet {
        if !self.offered {
            return ToolSet::new();
        }
        let policy = policy.clone();
        let judge: Judge = Arc::new(move |url| {
            let access = Access::Fetch { url: url.to_owned() };
            matches!(policy.decide(&access), Verdict::Allow { .. })
        });
        let tls: Tls = Arc::new(|| ibeam_providers::tls_config().map_err(|error| error.to_string()));
        let tool = WebFetch::new(Arc::clone(&self.dialer), judge, tls, Bounds::default());
        ToolSet::from([(ibeam_web::NAME.to_owned(), Arc::new(tool) as Arc<dyn Tool>)])
    }

    /// True when commands may reach something, and so need a proxy.
    pub(crate) fn is_granted(&self) -> bool {
        !self.grants.is_empty()
    }

    /// Serves confined commands at `listener`, which stands in their network, and at the one that takes its place when
    /// the sandbox had to be made anew; who began with the old one keeps it. Dropping the future ends it all.
    pub(crate) fn serve(
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

    /// The variables by which commands find the proxy at `port` of their loopback.
    pub(crate) fn environment(&self, port: u16) -> Vec<(OsString, OsString)> {
        ibeam_web::proxy_environment(port, &self.grants)
    }
}

/// What commands may reach: `--allow-net`, and the pages that a rule allows without asking.
fn grants(app: &AppContext, policy: &Policy) -> Result<Grants, Reason> {
    let mut grants = Grants::default();
    for (given, origin) in app.base.config.list(&["network", "allow"]) {
        grants.allow.push(given.parse().map_err(|error: BadGrant| origin.invalid(error.to_string()))?);
    }
    let bad = |error: BadGrant| Reason::Usage { detail: error.to_string() };
    for rule in &policy.allow {
        if let Rule::WebFetch(domain) = rule {
            grants.allow.extend(Grant::of_pages(domain).map_err(bad)?);
        }
    }
    // Nobody can be asked about a single connection of a command.
    let asked = if policy.mode == PermissionMode::Force { &[] } else { policy.ask.as_slice() };
    for rule in policy.deny.iter().chain(asked) {
        if let Rule::WebFetch(domain) = rule {
            grants.deny.push(Grant::of_every_port(domain).map_err(bad)?);
        }
    }
    Ok(grants)
}

/// The names that people have pinned.
fn pins(app: &AppContext) -> Result<Pins, Reason> {
    let mut pins = Pins::default();
    for name in app.base.config.children(&["network", "resolve"]) {
        let key = ["network", "resolve", name];
        let (Some(value), Some(setting)) = (app.base.config.text(&key), app.base.config.get(&key)) else {
            continue;
        };
        let bad = |said: String| Origin::invalid(&setting.origin, format!("`network.resolve`: {said}"));
        pins.insert(name, value).map_err(|error| bad(error.to_string()))?;
    }
    Ok(pins)
}
