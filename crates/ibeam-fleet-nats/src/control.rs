//! The state of a fleet as a whole: whether it is cancelled. Its submitter writes it to one key, and workers watch the key.
//!
//! A watch gets each new value from a subscription to the subject of the key, and reads the key now and then, in case a
//! value was lost with its connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use ibeam_fleet::{QueueError, StopFlag};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::error::service;
use crate::store::{Store, parse};

/// The time between two readings of the key.
const READ_INTERVAL: Duration = Duration::from_secs(2);

/// The state of a fleet as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetControl {
    /// Whether no task may run until the fleet is started again.
    pub is_cancelled: bool,
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
