//! The provider of a run of a fleet: asks the governor of the fleet before each request, and reports how it ended.
//!
//! Without a governor, because the driver of the fleet has died, requests are sent at once.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use ibeam_core::{JsonSchema, ModelEvent, ModelRequest, ModelStream, Prices, Provider, ProviderError, Retry};
use ibeam_fleet::{Ask, GOVERNOR_VARIABLE, Permission, RequestOutcome, RequestReport, TASK_VARIABLE};
use ibeam_protocol::{Failure, ModelInfo, Reason, Usage};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::app::AppContext;
use crate::environment::variable;
use crate::run::model_info;

/// The status of a request that the governor refuses: that of an account without credit.
const REFUSED_STATUS: u16 = 402;

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
    let ask = Ask { task, account: account(), model: model.id.clone() };
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
        let (inner, socket, ask) = (Arc::clone(&self.inner), self.socket.clone(), self.ask.clone());
        let (prices, provider) = (self.prices, self.provider.clone());
        let permission = async move {
            match ask_governor(&socket, &ask).await {
                Ok((Permission::Send, connection)) => Ok(Some(connection)),
                Ok((Permission::Refuse { reason }, _)) => Err(refused(provider, reason)),
                // The driver has died.
                Err(_) => Ok(None),
            }
        };
        stream::once(permission)
            .flat_map(move |permitted| match permitted {
                Ok(connection) => reporting(inner.stream(Arc::clone(&request)), connection, prices),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .boxed()
    }
}

/// Asks for the permission to send a request. It takes until the governor permits or refuses it.
async fn ask_governor(socket: &Path, ask: &Ask) -> io::Result<(Permission, BufReader<UnixStream>)> {
    // The path of a socket has at most 107 bytes; this one is always short.
    let directory = File::open(socket.parent().unwrap_or(Path::new("/")))?;
    let name = Path::new(socket.file_name().unwrap_or_default());
    let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    let mut connection = BufReader::new(UnixStream::connect(path).await?);
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
fn reporting(
    events: ModelStream,
    connection: Option<BufReader<UnixStream>>,
    prices: Option<Prices>,
) -> ModelStream {
    stream::unfold((events, connection), move |(mut events, mut connection)| async move {
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
            && let Some(mut connection) = connection.take()
        {
            // Without a governor, nobody needs the report.
            let _ = send(&mut connection, &report).await;
        }
        Some((event, (events, connection)))
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
