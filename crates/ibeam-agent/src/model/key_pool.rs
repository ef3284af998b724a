//! The keys of a provider, and the permission for each request with one of them.
//!
//! In a fleet, the governor chooses the key and permits the request; the run stores the answer and reports how it ended. An
//! answer that an earlier process of the task has stored is not requested. Without a governor, because the driver of the fleet
//! has died, a request of a fleet with a budget or rates waits for the next driver, and then parks the run. Without such
//! limits it is sent at once. A run outside of a fleet uses the first key that was not refused.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use ibeam_core::{
    JsonSchema, ModelEvent, ModelRequest, ModelStream, Prices, Provider, ProviderError, Redactor, Retry,
    estimated_tokens,
};
use ibeam_governor::{
    Ask, GOVERNOR_VARIABLE, LimitLeft, Permission, QuotaLeft, RequestOutcome, RequestReport, TASK_VARIABLE,
    answers_file, is_limited,
};
use ibeam_protocol::{Failure, ModelInfo, Reason, Usage};
use ibeam_providers::{Observer, Remaining, RemainingQuota};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

use super::answer_store::{AnswerStore, events_of, request_key};
use super::model_info;
use crate::app::AppContext;
use crate::environment::variable;

/// The status of a request that the governor refuses: that of an account without credit.
const REFUSED_STATUS: u16 = 402;

/// The time for which a run waits for the next driver of its fleet.
const DRIVER_WAIT: Duration = Duration::from_secs(60);
/// The time between two attempts to reach the driver.
const DRIVER_INTERVAL: Duration = Duration::from_millis(250);
/// The time for which a run uses another key after an overload that asks for no time.
const OVERLOAD_PAUSE: Duration = Duration::from_secs(10);
/// The longest time for which a run uses another key, and the time after a refusal.
const REFUSED_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The answers of the task of this process: all its models and sub-agents share them.
static ANSWERS: LazyLock<Option<AnswerStore>> = LazyLock::new(|| {
    let (socket, task) = (PathBuf::from(variable(GOVERNOR_VARIABLE)?), variable(TASK_VARIABLE)?);
    Some(AnswerStore::open(&answers_file(socket.parent()?, &task)))
});

/// A key of a provider, and the requests with it.
pub(super) struct PooledKey {
    pub(super) provider: Arc<dyn Provider>,
    /// The account, for the governor.
    pub(super) account: String,
    pub(super) quota: QuotaCell,
}

impl PooledKey {
    /// Returns a provider without a key of its own.
    pub(super) fn new(provider: Arc<dyn Provider>, account: &str) -> Self {
        Self { provider, account: account.to_owned(), quota: QuotaCell::default() }
    }
}

/// The limits of a key, as the last response reports them.
#[derive(Clone, Default)]
pub(super) struct QuotaCell(Arc<Mutex<Option<(Instant, RemainingQuota)>>>);

impl QuotaCell {
    /// Returns the observer of responses.
    pub(super) fn observer(&self) -> Observer<RemainingQuota> {
        let cell = self.clone();
        Observer::new(move |quota| *cell.lock() = Some((Instant::now(), quota)))
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Instant, RemainingQuota)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and returns the limits that the last response reported.
    fn take(&self) -> Option<QuotaLeft> {
        let (at, quota) = self.lock().take()?;
        let left = |remaining: Remaining| LimitLeft {
            count: remaining.count,
            reset_ms: millis(remaining.reset.saturating_sub(at.elapsed())),
        };
        Some(QuotaLeft { requests: quota.requests.map(left), tokens: quota.tokens.map(left) })
    }
}

struct KeyPool {
    keys: Vec<PooledKey>,
    provider: String,
    model: String,
    prices: Option<Prices>,
    redactor: Redactor,
    chooser: Chooser,
}

enum Chooser {
    /// The governor of the fleet.
    Governor { socket: PathBuf, ask: Ask },
    /// This run alone: the times until which keys are not used.
    Run(Mutex<Vec<Option<Instant>>>),
}

/// The provider of a run with some keys.
struct PooledProvider(Arc<KeyPool>);

/// Whether this run belongs to a fleet.
pub(super) fn is_governed() -> bool {
    variable(GOVERNOR_VARIABLE).is_some() && variable(TASK_VARIABLE).is_some()
}

/// Returns a provider that uses these keys, the first one by preference, and asks the governor if this run belongs to a
/// fleet.
///
/// # Errors
/// `BadConfig` for an invalid price.
pub(super) fn pooled(
    app: &AppContext,
    mut keys: Vec<PooledKey>,
    model: &ModelInfo,
) -> Result<Arc<dyn Provider>, Reason> {
    let chooser = match (variable(GOVERNOR_VARIABLE), variable(TASK_VARIABLE)) {
        (Some(socket), Some(task)) => {
            let mut accounts = keys.iter().map(|key| key.account.clone());
            let account = accounts.next().unwrap_or_default();
            let ask =
                Ask { task, account, others: accounts.collect(), model: model.id.clone(), ..Ask::default() };
            Chooser::Governor { socket: socket.into(), ask }
        }
        _ => match (keys.pop(), keys.is_empty()) {
            (Some(only), true) => return Ok(only.provider),
            (last, _) => {
                keys.extend(last);
                Chooser::Run(Mutex::new(vec![None; keys.len()]))
            }
        },
    };
    let (prices, provider) = (model_info::prices(app, model)?, model.provider.clone());
    let (model, redactor) = (model.id.clone(), app.redactor().clone());
    Ok(Arc::new(PooledProvider(Arc::new(KeyPool { keys, provider, model, prices, redactor, chooser }))))
}

impl PooledProvider {
    /// Returns the first key, which is of the same kind as the others.
    fn first(&self) -> Option<&dyn Provider> {
        self.0.keys.first().map(|key| key.provider.as_ref())
    }
}

impl Provider for PooledProvider {
    fn enforces_schema(&self, schema: &JsonSchema) -> bool {
        self.first().is_some_and(|first| first.enforces_schema(schema))
    }

    fn appends_tools(&self) -> bool {
        self.first().is_some_and(|first| first.appends_tools())
    }

    fn appended_effort(&self) -> Option<&'static str> {
        self.first().and_then(|first| first.appended_effort())
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let pool = Arc::clone(&self.0);
        let key = ANSWERS.as_ref().map(|answers| (request_key(&pool.model, &request), answers));
        if let Some(answer) = key.as_ref().and_then(|(key, answers)| answers.take(key, &request)) {
            return stream::iter(events_of(answer).into_iter().map(Ok)).boxed();
        }
        let key = key.map(|(key, _)| key);
        stream::once(async move {
            pool.open(request, key).await.unwrap_or_else(|error| stream::iter([Err(error)]).boxed())
        })
        .flatten()
        .boxed()
    }
}

impl KeyPool {
    /// Sends a request with a key, and with another one if the service refuses the first.
    async fn open(
        self: Arc<Self>,
        request: Arc<ModelRequest>,
        answer_key: Option<String>,
    ) -> Result<ModelStream, ProviderError> {
        let mut attempts = 0;
        loop {
            let (number, permit) = self.choose(&request).await?;
            let Some(key) = self.keys.get(number).or(self.keys.first()) else {
                return Err(refused(self.provider.clone(), "there is no key".to_owned()));
            };
            let mut events = key.provider.stream(Arc::clone(&request));
            if self.keys.len() == 1 {
                return Ok(self.reporting(0, self.storing(events, answer_key), permit));
            }
            let mut first = Vec::new();
            loop {
                let event = events.next().await;
                let is_notice = matches!(event, Some(Ok(ModelEvent::Notice(_))));
                first.extend(event);
                if !is_notice {
                    break;
                }
            }
            attempts += 1;
            match first.last() {
                Some(Err(error)) if attempts < self.max_attempts() && is_of_key(error) => {
                    let report = self.report(number, error.usage.as_deref().copied(), outcome_of_key(error));
                    self.close(number, &report.outcome);
                    if let Some(permit) = permit {
                        permit.report(report).await;
                    }
                }
                Some(_) | None => {
                    let events = self.storing(stream::iter(first).chain(events).boxed(), answer_key);
                    return Ok(self.reporting(number, events, permit));
                }
            }
        }
    }

    /// Returns the number of times that one request is sent. The governor knows which keys are left, and waits for them.
    fn max_attempts(&self) -> usize {
        match &self.chooser {
            Chooser::Run(_) => self.keys.len(),
            Chooser::Governor { .. } => self.keys.len() * 2,
        }
    }

    /// Chooses a key, and waits until a request with it may be sent.
    async fn choose(&self, request: &ModelRequest) -> Result<(usize, Option<Permit>), ProviderError> {
        match &self.chooser {
            Chooser::Run(closed) => {
                let (closed, now) = (closed.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
                let is_open = |until: &Option<Instant>| until.is_none_or(|until| until <= now);
                // The key that was closed first may be open again.
                let next =
                    || closed.iter().enumerate().min_by_key(|(_, until)| **until).map(|(number, _)| number);
                Ok((closed.iter().position(is_open).or_else(next).unwrap_or_default(), None))
            }
            Chooser::Governor { socket, ask } => {
                let input = estimated_tokens(request.size_bytes());
                let expected = Usage { input, ..Usage::default() };
                let ask = ask.next(input, self.prices.map_or(0, |prices| prices.costs(expected).micros()));
                match wait_for_governor(socket, &ask, DRIVER_WAIT).await {
                    Answer::Decided(Permission::Send { key }, connection) => {
                        Ok((key, Some(Permit { connection, socket: socket.clone(), request: ask.request })))
                    }
                    Answer::Decided(Permission::Refuse { reason }, _) => {
                        Err(refused(self.provider.clone(), reason))
                    }
                    Answer::NotNeeded => Ok((0, None)),
                    Answer::DriverGone => Err(ProviderError::new(Reason::FleetDriverGone, Retry::Never)),
                }
            }
        }
    }

    /// Uses the other keys for some time, in a run outside of a fleet.
    fn close(&self, number: usize, outcome: &RequestOutcome) {
        let Chooser::Run(closed) = &self.chooser else { return };
        let pause = match outcome {
            RequestOutcome::Overloaded { retry_after_ms } => {
                retry_after_ms.map_or(OVERLOAD_PAUSE, Duration::from_millis)
            }
            RequestOutcome::Complete | RequestOutcome::Exhausted { .. } | RequestOutcome::Failed => {
                REFUSED_PAUSE
            }
        };
        if let Some(until) = closed.lock().unwrap_or_else(PoisonError::into_inner).get_mut(number) {
            *until = Some(Instant::now() + pause.min(REFUSED_PAUSE));
        }
    }

    /// Returns the events, and stores the answer under `key` before it is returned.
    fn storing(&self, events: ModelStream, key: Option<String>) -> ModelStream {
        let redactor = self.redactor.clone();
        let store = move |event: &Result<ModelEvent, ProviderError>| {
            if let (Ok(ModelEvent::Finished(answer)), Some(key), Some(answers)) =
                (event, &key, ANSWERS.as_ref())
            {
                // The run continues without it: only a kill before the record in the journal would cost a request.
                drop(answers.store(key.clone(), answer, &redactor));
            }
        };
        events.inspect(store).boxed()
    }

    /// Returns the events, and reports the last one to the governor. A stream that is dropped closes the connection.
    fn reporting(
        self: &Arc<Self>,
        number: usize,
        events: ModelStream,
        permit: Option<Permit>,
    ) -> ModelStream {
        let pool = Arc::clone(self);
        stream::unfold((events, permit), move |(mut events, mut permit)| {
            let pool = Arc::clone(&pool);
            async move {
                let event = events.next().await?;
                let report = match &event {
                    Ok(ModelEvent::Finished(answer)) => {
                        Some(pool.report(number, answer.usage, RequestOutcome::Complete))
                    }
                    Err(error) => {
                        Some(pool.report(number, error.usage.as_deref().copied(), outcome_of(error)))
                    }
                    Ok(
                        ModelEvent::TextDelta(_)
                        | ModelEvent::ThinkingDelta(_)
                        | ModelEvent::ToolCallAnnounced
                        | ModelEvent::Notice(_),
                    ) => None,
                };
                if let Some(report) = report
                    && let Some(permit) = permit.take()
                {
                    permit.report(report).await;
                }
                Some((event, (events, permit)))
            }
        })
        .boxed()
    }

    fn report(&self, number: usize, usage: Option<Usage>, outcome: RequestOutcome) -> RequestReport {
        let usage = usage.unwrap_or_default();
        let cost_micros = self.prices.map_or(0, |prices| prices.costs(usage).micros());
        let quota = self.keys.get(number).and_then(|key| key.quota.take());
        RequestReport { tokens: usage.total(), cost_micros, outcome, quota }
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

/// Whether a request may succeed with another key.
fn is_of_key(error: &ProviderError) -> bool {
    match outcome_of_key(error) {
        RequestOutcome::Overloaded { .. } | RequestOutcome::Exhausted { .. } => true,
        RequestOutcome::Complete | RequestOutcome::Failed => false,
    }
}

/// Returns what an error says about the next requests with one of several keys. A refused key is not tried again.
fn outcome_of_key(error: &ProviderError) -> RequestOutcome {
    let reason = &error.failure.reason;
    let is_refused =
        matches!(reason, Reason::KeyRefused { .. } | Reason::NoKey { .. } | Reason::KeyUnavailable { .. });
    match is_refused {
        true => RequestOutcome::Exhausted { reason: reason.detail() },
        false => outcome_of(error),
    }
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

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
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
            send(&mut connection, &Permission::Send { key: 0 }).await.unwrap();
            (first, second)
        };
        let (answer, asks) = tokio::join!(wait_for_governor(&socket, &ask, DRIVER_WAIT), drivers);
        assert!(matches!(answer, Answer::Decided(Permission::Send { key: 0 }, _)));
        assert_eq!(asks, (ask.clone(), ask));
    }
}
