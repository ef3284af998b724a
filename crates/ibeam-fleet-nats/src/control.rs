//! The state of a fleet as a whole: whether it is cancelled, and its limits. Its submitter writes it to one key, and workers watch the key.
//!
//! A watch gets each new value from a subscription to the subject of the key, and reads the key now and then, in case a
//! value was lost with its connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use ibeam_fleet::{FleetLimits, QueueError, SharedLimits, SharedState, Spend, StopFlag, TaskQueue as _};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::error::service;
use crate::limits::{FleetLimitsClient, raise_spent};
use crate::nats_queue::NatsQueue;
use crate::store::{Store, parse};

/// The time between two readings of the key.
const READ_INTERVAL: Duration = Duration::from_secs(2);

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
    control: FleetControl,
    /// The request that a cancellation makes.
    stop: Option<StopFlag>,
}

impl WatchState {
    fn set(&mut self, control: FleetControl) {
        self.control = control;
        if let Some(stop) = self.stop.as_ref().filter(|_| control.is_cancelled) {
            stop.request();
        }
    }
}

impl ControlWatch {
    /// Reads the key, and watches it as long as the connection lasts.
    ///
    /// # Errors
    /// `Service`.
    pub(crate) fn start(connection: &Arc<Connection>, store: &Store) -> Result<Self, QueueError> {
        let subject = store.names.control();
        let state = Arc::new(Mutex::new(WatchState::default()));
        let (values, first) = connection.block_on(async {
            let values = store.context.client().subscribe(subject.clone()).await;
            let values = values.map_err(|error| service(&subject, &error))?;
            Ok::<_, QueueError>((values, store.read_as::<FleetControl>(&subject).await?))
        })?;
        lock(&state).set(first.unwrap_or_default());
        connection.handle().spawn(follow(store.clone(), values, Arc::clone(&state)));
        Ok(Self { state, _connection: Arc::clone(connection) })
    }

    /// Returns the current value.
    pub fn current(&self) -> FleetControl {
        lock(&self.state).control
    }

    /// Makes this request when the fleet is cancelled, instead of an earlier one.
    pub fn stop_when_cancelled(&self, stop: &StopFlag) {
        let mut state = lock(&self.state);
        state.stop = Some(stop.clone());
        let control = state.control;
        state.set(control);
    }
}

/// Follows the values of the key.
async fn follow(store: Store, mut values: Subscriber, state: Arc<Mutex<WatchState>>) {
    let subject = store.names.control();
    loop {
        match tokio::time::timeout(READ_INTERVAL, values.next()).await {
            Ok(Some(message)) => {
                if let Ok(control) = parse(&subject, &message.payload) {
                    lock(&state).set(control);
                }
            }
            // The connection was closed.
            Ok(None) => return,
            Err(_) => {
                if let Ok(control) = store.read_as::<FleetControl>(&subject).await {
                    lock(&state).set(control.unwrap_or_default());
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
    ///
    /// # Errors
    /// `Service`.
    pub(crate) fn set_control(&self, control: &FleetControl) -> Result<(), QueueError> {
        self.connection.block_on(self.store.put(&self.store.names.control(), control))
    }

    /// Starts the fleet with these limits, also after a cancellation. What its tasks have consumed still counts; pauses and
    /// exhausted quotas of accounts do not.
    ///
    /// # Errors
    /// `Service`.
    pub fn start(&mut self, limits: FleetLimits) -> Result<(), QueueError> {
        let recorded = self.spend()?;
        let names = &self.store.names;
        let random = ibeam_fleet::random_id().map_err(|error| service("limits", &error))?;
        let salt = u64::from_str_radix(&random, 16).unwrap_or_default();
        self.connection.block_on(async {
            let control = self.store.read_as::<FleetControl>(&names.control()).await?;
            let salt = control.map(|control| control.salt).filter(|salt| *salt != 0).unwrap_or(salt);
            for entry in self.store.scan(&names.accounts(), 1).await? {
                self.store.delete(&names.account(&entry.task)).await?;
            }
            raise_spent(&self.store, recorded).await?;
            let control = FleetControl { is_cancelled: false, limits, salt };
            self.store.put(&names.control(), &control).await
        })
    }

    /// Stops all workers until the fleet is started again.
    ///
    /// # Errors
    /// `Service`.
    pub fn cancel(&self) -> Result<(), QueueError> {
        let subject = self.store.names.control();
        let control = self.connection.block_on(self.store.read_as::<FleetControl>(&subject))?;
        self.set_control(&FleetControl { is_cancelled: true, ..control.unwrap_or_default() })
    }

    /// Returns what all workers have consumed of the budget.
    ///
    /// # Errors
    /// `Service`.
    pub fn shared_spend(&self) -> Result<Spend, QueueError> {
        let state =
            self.connection.block_on(self.store.read_as::<SharedState>(&self.store.names.limits()))?;
        Ok(state.unwrap_or_default().spent())
    }

    /// Returns the limits that all workers share.
    ///
    /// # Errors
    /// `Service`.
    pub fn shared_limits(&self, control: &ControlWatch) -> Result<Arc<dyn SharedLimits>, QueueError> {
        let limits = FleetLimitsClient::start(&self.connection, &self.store, control.clone())?;
        Ok(Arc::new(limits))
    }

    /// Watches the state of the whole fleet.
    ///
    /// # Errors
    /// `Service`.
    pub fn watch_control(&self) -> Result<ControlWatch, QueueError> {
        ControlWatch::start(&self.connection, &self.store)
    }
}
