//! The provider of a run of a fleet: asks the governor of the fleet before each request, and reports how it ended.
//!
//! Without a governor, because the driver of the fleet has died, a request of a fleet with a budget or rates waits for the next
//! driver, and then parks the run. Without such limits it is sent at once.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use ibeam_core::{
    JsonSchema, ModelEvent, ModelRequest, ModelStream, Prices, Provider, ProviderError, Retry,
    estimated_tokens,
};
use ibeam_fleet::{
    Ask, GOVERNOR_VARIABLE, Permission, RequestOutcome, RequestReport, TASK_VARIABLE, is_limited,
};
use ibeam_protocol::{Failure, ModelInfo, Reason, Usage};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

use crate::app::AppContext;
use crate::environment::variable;
use crate::run::model_info;

/// The status of a request that the governor refuses: that of an account without credit.
const REFUSED_STATUS: u16 = 402;

/// The time for which a run waits for the next driver of its fleet.
const DRIVER_WAIT: Duration = Duration::from_secs(60);
/// The time between two attempts to reach it.
const DRIVER_INTERVAL: Duration = Duration::from_millis(250);

/// A provider whose requests a governor permits.
struct GovernedProvider {
    inner: Arc<dyn Provider>,
    socket: PathBuf,
    provider: String,
    ask: Ask,
    prices: Option<Prices>,
}

/// Returns a provider that asks the governor, if this run belongs to a fleet. `account` identifies the address and the key
/// of the provider.
///
/// # Errors
/// `BadConfig` for an invalid price.
pub(super) fn governed(
    app: &AppContext,
    inner: Arc<dyn Provider>,
    model: &ModelInfo,
    account: impl FnOnce() -> String,
) -> Result<Arc<dyn Provider>, Reason> {
    let (Some(socket), Some(task)) = (variable(GOVERNOR_VARIABLE), variable(TASK_VARIABLE)) else {
        return Ok(inner);
    };
    let ask = Ask { task, account: account(), model: model.id.clone(), ..Ask::default() };
    let prices = model_info::prices(app, model)?;
    let provider = model.provider.clone();
    Ok(Arc::new(GovernedProvider { inner, socket: socket.into(), provider, ask, prices }))
}

impl Provider for GovernedProvider {
    fn enforces_schema(&self, schema: &JsonSchema) -> bool {
        self.inner.enforces_schema(schema)
    }

    fn appends_tools(&self) -> bool {
        self.inner.appends_tools()
    }

    fn appended_effort(&self) -> Option<&'static str> {
        self.inner.appended_effort()
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let (inner, socket) = (Arc::clone(&self.inner), self.socket.clone());
        let (prices, provider) = (self.prices, self.provider.clone());
        let input = estimated_tokens(request.size_bytes());
        let expected = Usage { input, ..Usage::default() };
        let ask = self.ask.next(input, prices.map_or(0, |prices| prices.costs(expected).micros()));
        let permission = async move {
            match wait_for_governor(&socket, &ask, DRIVER_WAIT).await {
                Answer::Decided(Permission::Send, connection) => {
                    Ok(Some(Permit { connection, socket, request: ask.request }))
                }
                Answer::Decided(Permission::Refuse { reason }, _) => Err(refused(provider, reason)),
                Answer::NotNeeded => Ok(None),
                Answer::DriverGone => Err(ProviderError::new(Reason::FleetDriverGone, Retry::Never)),
            }
        };
        stream::once(permission)
            .flat_map(move |permitted| match permitted {
                Ok(permit) => reporting(inner.stream(Arc::clone(&request)), permit, prices),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .boxed()
    }
}

/// The permission for a request.
struct Permit {
    connection: BufReader<UnixStream>,
    socket: PathBuf,
    request: String,
}

impl Permit {
    /// Reports the end of the request.
    async fn report(mut self, report: RequestReport) {
        // Recorded first: the driver may be gone. Without the line, the request counts as one whose run was killed.
        let _ = report.record(&self.socket, &self.request);
        let _ = send(&mut self.connection, &report).await;
    }
}

/// The answer to a question for a permission.
enum Answer {
    Decided(Permission, BufReader<UnixStream>),
    /// No driver runs, and the fleet has no limits.
    NotNeeded,
    /// No driver came within the longest time.
    DriverGone,
}

/// Asks for a permission, if necessary the next driver.
async fn wait_for_governor(socket: &Path, ask: &Ask, longest: Duration) -> Answer {
    let mut gone_since = Instant::now();
    loop {
        match connect(socket).await {
            Ok(connection) => match ask_governor(connection, ask).await {
                Ok((permission, connection)) => return Answer::Decided(permission, connection),
                // The driver has died meanwhile.
                Err(_) => gone_since = Instant::now(),
            },
            Err(_) if !is_limited(socket) => return Answer::NotNeeded,
            Err(_) if gone_since.elapsed() >= longest => return Answer::DriverGone,
            Err(_) => {}
        }
        sleep(DRIVER_INTERVAL.min(longest)).await;
    }
}

async fn connect(socket: &Path) -> io::Result<BufReader<UnixStream>> {
    // The path of a socket has at most 107 bytes; this one is always short.
    let directory = File::open(socket.parent().unwrap_or(Path::new("/")))?;
    let name = Path::new(socket.file_name().unwrap_or_default());
    let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok(BufReader::new(UnixStream::connect(path).await?))
}

/// Asks for the permission to send a request. It takes until the governor permits or refuses it.
async fn ask_governor(
    mut connection: BufReader<UnixStream>,
    ask: &Ask,
) -> io::Result<(Permission, BufReader<UnixStream>)> {
    send(&mut connection, ask).await?;
    let mut line = String::new();
    connection.read_line(&mut line).await?;
    Ok((serde_json::from_str(&line)?, connection))
}

async fn send(connection: &mut BufReader<UnixStream>, object: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(object)?;
    line.push('\n');
    connection.write_all(line.as_bytes()).await?;
    connection.flush().await
}

/// Returns the events, and reports the last one to the governor. A stream that is dropped closes the connection.
fn reporting(events: ModelStream, permit: Option<Permit>, prices: Option<Prices>) -> ModelStream {
    stream::unfold((events, permit), move |(mut events, mut permit)| async move {
        let event = events.next().await?;
        let report = match &event {
            Ok(ModelEvent::Finished(answer)) => Some(report(answer.usage, prices, RequestOutcome::Complete)),
            Err(error) => Some(report(error.usage.as_deref().copied(), prices, outcome_of(error))),
            Ok(
                ModelEvent::TextDelta(_)
                | ModelEvent::ThinkingDelta(_)
                | ModelEvent::ToolCallStarted
                | ModelEvent::Notice(_),
            ) => None,
        };
        if let Some(report) = report
            && let Some(permit) = permit.take()
        {
            permit.report(report).await;
        }
        Some((event, (events, permit)))
    })
    .boxed()
}

fn report(usage: Option<Usage>, prices: Option<Prices>, outcome: RequestOutcome) -> RequestReport {
    let usage = usage.unwrap_or_default();
    let cost_micros = prices.map_or(0, |prices| prices.costs(usage).micros());
    RequestReport { tokens: usage.total(), cost_micros, outcome }
}

/// Returns what an error says about the next requests of all runs.
fn outcome_of(error: &ProviderError) -> RequestOutcome {
    let is_limit = matches!(error.failure.reason, Reason::RateLimited { .. } | Reason::QuotaExhausted { .. })
        || error.is_unavailable;
    let is_refused = matches!(error.failure.reason, Reason::KeyRefused { .. } | Reason::NoKey { .. });
    match &error.retry {
        Retry::Backoff | Retry::Fast | Retry::Once if is_limit => {
            RequestOutcome::Overloaded { retry_after_ms: error.failure.retry_after_ms }
        }
        Retry::Never if is_limit || is_refused => {
            RequestOutcome::Exhausted { reason: error.failure.reason.detail() }
        }
        Retry::Backoff | Retry::Fast | Retry::Once | Retry::WithoutPart(_) | Retry::Never => {
            RequestOutcome::Failed
        }
    }
}

/// Returns the error of a request that the governor refuses. The model of another provider may be permitted.
fn refused(provider: String, reason: String) -> ProviderError {
    let failure = Failure {
        http_status: Some(REFUSED_STATUS),
        ..Failure::from(Reason::RateLimited { provider, detail: reason })
    };
    ProviderError { is_unavailable: true, ..ProviderError::new(failure, Retry::Never) }
}
#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        Ask { task: "t".to_owned(), account: "a".to_owned(), ..Ask::default() }.next(0, 0)
    }

    #[tokio::test]
    async fn without_a_driver_only_a_fleet_without_limits_sends_requests() {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("governor.sock");
        let longest = Duration::from_millis(20);
        assert!(matches!(wait_for_governor(&socket, &ask(), longest).await, Answer::NotNeeded));
        std::fs::write(home.path().join("limited"), "").unwrap();
        assert!(matches!(wait_for_governor(&socket, &ask(), longest).await, Answer::DriverGone));
    }

    #[tokio::test]
    async fn a_run_asks_the_next_driver_about_the_same_request() {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("governor.sock");
        std::fs::write(home.path().join("limited"), "").unwrap();
        let ask = ask();
        let asked = |listener: tokio::net::UnixListener| async move {
            let mut connection = BufReader::new(listener.accept().await.unwrap().0);
            let mut line = String::new();
            connection.read_line(&mut line).await.unwrap();
            (serde_json::from_str::<Ask>(&line).unwrap(), connection)
        };
        let drivers = async {
            let first = asked(tokio::net::UnixListener::bind(&socket).unwrap()).await.0;
            std::fs::remove_file(&socket).unwrap();
            let (second, mut connection) = asked(tokio::net::UnixListener::bind(&socket).unwrap()).await;
            send(&mut connection, &Permission::Send).await.unwrap();
            (first, second)
        };
        let (answer, asks) = tokio::join!(wait_for_governor(&socket, &ask, DRIVER_WAIT), drivers);
        assert!(matches!(answer, Answer::Decided(Permission::Send, _)));
        assert_eq!(asks, (ask.clone(), ask));
    }
}
