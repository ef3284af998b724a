//! The state of a fleet as a whole: whether it is cancelled, and its limits. Its submitter writes it to one key, and workers watch the key.
//!
//! A watch gets each new value from a subscription to the subject of the key, and reads the key now and then, in case a
//! value was lost with its connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::{HeaderMap, Subscriber};
use futures_util::StreamExt as _;
use ibeam_fleet::{FleetLimits, QueueError, SharedLimits, SharedState, Spend, StopFlag, TaskQueue as _};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::error::service;
use crate::limits::{FleetLimitsClient, raise_spent};
use crate::nats_queue::{NatsQueue, now_ms};
use crate::signing::{SignedKind, Signer, SubmitterKeys};
use crate::store::{Store, parse, to_bytes};

/// The time between two readings of the key.
const READ_INTERVAL: Duration = Duration::from_secs(2);
/// The time for which a worker waits for the first accepted value.
const FIRST_VALUE_TIMEOUT: Duration = Duration::from_secs(5);
/// The time between two readings of the key until then.
const FIRST_READ_INTERVAL: Duration = Duration::from_millis(200);

/// The state of a fleet as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetControl {
    /// Whether no task may run until the fleet is started again.
    pub is_cancelled: bool,
    /// The limits of all workers together.
    pub limits: FleetLimits,
    /// A random number with which the names of accounts are hashed.
    pub salt: u64,
    /// The number of this value. Later ones have higher numbers.
    pub revision: u64,
}

impl FleetControl {
    /// The reason for which the tasks of a cancelled fleet do not run.
    pub const CANCELLED: &'static str = "the fleet was cancelled";
}

/// The current value of the key of a fleet.
#[derive(Clone, Debug)]
pub struct ControlWatch {
    state: Arc<Mutex<WatchState>>,
    /// The connection that serves the watch.
    _connection: Arc<Connection>,
}

#[derive(Debug, Default)]
struct WatchState {
    /// The last value that was accepted.
    control: Option<FleetControl>,
    /// The request that a cancellation makes.
    stop: Option<StopFlag>,
}

impl WatchState {
    /// Returns the value. Until one was accepted, no task may run.
    fn current(&self) -> FleetControl {
        self.control.unwrap_or(FleetControl { is_cancelled: true, ..FleetControl::default() })
    }

    /// Replaces the value, unless the new one is older: somebody may have kept it to place it again.
    fn set(&mut self, control: Option<FleetControl>) {
        let revision = self.control.map(|control| control.revision).unwrap_or_default();
        // Earlier versions of the program do not number their values, and do not sign them.
        let is_later = |control: &FleetControl| control.revision == 0 || control.revision >= revision;
        if let Some(control) = control.filter(is_later) {
            self.control = Some(control);
        }
        self.request_stop();
    }

    fn request_stop(&self) {
        let is_cancelled = self.current().is_cancelled;
        if let Some(stop) = self.stop.as_ref().filter(|_| is_cancelled) {
            stop.request();
        }
    }
}

impl ControlWatch {
    /// The reason for which no task runs although the fleet is not cancelled.
    pub const UNSIGNED: &'static str = "the limits of the fleet are not signed by an accepted key: start `fleet run` with the file of this key, or the worker with `--submitter-key` and the public key of its submitter";

    /// Reads the key, and watches it as long as the connection lasts. Only values with the signature of one of `keys` count.
    pub(crate) fn start(
        connection: &Arc<Connection>,
        store: &Store,
        keys: &SubmitterKeys,
    ) -> Result<Self, QueueError> {
        let subject = store.names.control();
        let state = Arc::new(Mutex::new(WatchState::default()));
        let (values, first) = connection.block_on(async {
            let values = store.context.client().subscribe(subject.clone()).await;
            let values = values.map_err(|error| service(&subject, &error))?;
            let start = Instant::now();
            loop {
                let first = read(store, keys).await?;
                // The submitter may be about to write it.
                if first.is_some() || start.elapsed() > FIRST_VALUE_TIMEOUT {
                    return Ok::<_, QueueError>((values, first));
                }
                tokio::time::sleep(FIRST_READ_INTERVAL).await;
            }
        })?;
        lock(&state).set(first);
        connection.handle().spawn(follow(store.clone(), keys.clone(), values, Arc::clone(&state)));
        Ok(Self { state, _connection: Arc::clone(connection) })
    }

    /// Returns the current value.
    pub fn current(&self) -> FleetControl {
        lock(&self.state).current()
    }

    /// Returns the reason for which no task may run; `None` if tasks may.
    pub fn halt_reason(&self) -> Option<&'static str> {
        match lock(&self.state).control {
            None => Some(Self::UNSIGNED),
            Some(control) => control.is_cancelled.then_some(FleetControl::CANCELLED),
        }
    }

    /// Makes this request when the fleet is cancelled, instead of an earlier one.
    pub fn stop_when_cancelled(&self, stop: &StopFlag) {
        let mut state = lock(&self.state);
        state.stop = Some(stop.clone());
        state.request_stop();
    }
}

/// Reads the key; `None` if its value is not accepted. Without accepted keys, a missing value means the default.
async fn read(store: &Store, keys: &SubmitterKeys) -> Result<Option<FleetControl>, QueueError> {
    let subject = store.names.control();
    match store.read(&subject).await? {
        Some(entry) => match accepts(store, keys, &entry.value, &entry.headers) {
            true => parse(&subject, &entry.value).map(Some),
            false => Ok(None),
        },
        None => Ok(keys.is_empty().then(FleetControl::default)),
    }
}

fn accepts(store: &Store, keys: &SubmitterKeys, value: &[u8], headers: &HeaderMap) -> bool {
    keys.accept(&store.names, SignedKind::Control, "", value, headers)
}

async fn follow(store: Store, keys: SubmitterKeys, mut values: Subscriber, state: Arc<Mutex<WatchState>>) {
    let subject = store.names.control();
    loop {
        match tokio::time::timeout(READ_INTERVAL, values.next()).await {
            Ok(Some(message)) => {
                let headers = message.headers.unwrap_or_default();
                if accepts(&store, &keys, &message.payload, &headers)
                    && let Ok(control) = parse(&subject, &message.payload)
                {
                    lock(&state).set(Some(control));
                }
            }
            // The connection was closed.
            Ok(None) => return,
            Err(_) => {
                if let Ok(control) = read(&store, &keys).await {
                    lock(&state).set(control);
                }
            }
        }
    }
}

fn lock(state: &Mutex<WatchState>) -> std::sync::MutexGuard<'_, WatchState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NatsQueue {
    /// Changes the state of the whole fleet. Workers notice it within moments.
    pub(crate) fn set_control(&self, control: &FleetControl) -> Result<(), QueueError> {
        self.connection.block_on(self.put_control(*control))
    }

    async fn put_control(&self, control: FleetControl) -> Result<(), QueueError> {
        let names = &self.store.names;
        let revision = control.revision.saturating_add(1).max(now_ms());
        let value = to_bytes(&FleetControl { revision, ..control })?;
        let headers = match &self.signer {
            Some(signer) => signer.sign(names, SignedKind::Control, "", &value)?,
            None => HeaderMap::new(),
        };
        self.store.put_with(&names.control(), &value, &headers).await
    }

    /// Reads the state of the whole fleet. What a submitter with a key has not signed may come from anybody.
    async fn control(&self) -> Result<FleetControl, QueueError> {
        let keys = self.signer.as_ref().map(Signer::as_accepted).unwrap_or_default();
        Ok(read(&self.store, &keys).await?.unwrap_or_default())
    }

    /// Starts the fleet with these limits, also after a cancellation. What its tasks have consumed still counts; pauses and
    /// exhausted quotas of accounts do not.
    pub fn start(&mut self, limits: FleetLimits) -> Result<(), QueueError> {
        let recorded = self.spend()?;
        let names = &self.store.names;
        let random = ibeam_fleet::random_id().map_err(|error| service("limits", &error))?;
        let salt = u64::from_str_radix(&random, 16).unwrap_or_default();
        self.connection.block_on(async {
            let before = self.control().await?;
            let salt = if before.salt == 0 { salt } else { before.salt };
            for entry in self.store.scan(&names.accounts(), 1).await? {
                self.store.delete(&names.account(&entry.task)).await?;
            }
            raise_spent(&self.store, recorded).await?;
            self.put_control(FleetControl { is_cancelled: false, limits, salt, ..before }).await
        })
    }

    /// Stops all workers until the fleet is started again.
    pub fn cancel(&self) -> Result<(), QueueError> {
        let control = self.connection.block_on(self.control())?;
        self.set_control(&FleetControl { is_cancelled: true, ..control })
    }

    /// Returns what all workers have consumed of the budget.
    pub fn shared_spend(&self) -> Result<Spend, QueueError> {
        let state =
            self.connection.block_on(self.store.read_as::<SharedState>(&self.store.names.limits()))?;
        Ok(state.unwrap_or_default().spent())
    }

    /// Returns the limits that all workers share.
    pub fn shared_limits(&self, control: &ControlWatch) -> Result<Arc<dyn SharedLimits>, QueueError> {
        let limits = FleetLimitsClient::start(&self.connection, &self.store, control.clone())?;
        Ok(Arc::new(limits))
    }

    /// Watches the state of the whole fleet.
    pub fn watch_control(&self) -> Result<ControlWatch, QueueError> {
        ControlWatch::start(&self.connection, &self.store, &self.accepted)
    }
}
