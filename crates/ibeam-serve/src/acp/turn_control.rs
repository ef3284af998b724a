//! The turn of a session, as the connection and the thread of the session share it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibeam_core::Stop;
use ibeam_protocol::{Reason, Signal};

/// A prompt that is waiting or running.
#[derive(Clone, Default)]
pub(super) struct Turn {
    pub(super) stop: Stop,
    /// Whether `$/cancel_request` ended it, so that the response is an error.
    is_request_cancelled: Arc<AtomicBool>,
    has_ended: Arc<AtomicBool>,
}

impl Turn {
    /// Ends the turn as the user's cancellation does.
    pub(super) fn cancel(&self) {
        self.stop.request(Reason::Signalled(Signal::Int));
    }

    /// Whether the response was sent.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Marks the turn as ended. Returns whether `$/cancel_request` ended it.
    pub(super) fn end(&self) -> bool {
        self.has_ended.store(true, Ordering::Relaxed);
        self.is_request_cancelled.load(Ordering::Relaxed)
    }

    /// Ends the turn because its request is cancelled.
    pub(super) fn cancel_request(&self) {
        self.is_request_cancelled.store(true, Ordering::Relaxed);
        self.cancel();
    }
}

/// The parts of a session that its thread shares with the connection.
#[derive(Clone, Default)]
pub(super) struct SessionControl {
    /// Ends the session.
    pub(super) stop: Stop,
    turn: Arc<Mutex<Option<Turn>>>,
}

impl SessionControl {
    /// Returns a new turn; `None` while another one waits or runs.
    pub(super) fn begin_turn(&self) -> Option<Turn> {
        let mut current = lock(&self.turn);
        if current.is_some() {
            return None;
        }
        let turn = Turn::default();
        *current = Some(turn.clone());
        Some(turn)
    }

    /// Ends the turn that waits or runs, if there is one.
    pub(super) fn cancel_turn(&self) {
        lock(&self.turn).iter().for_each(Turn::cancel);
    }

    /// Returns the turn that waits or runs, if there is one.
    pub(super) fn current_turn(&self) -> Option<Turn> {
        lock(&self.turn).clone()
    }

    /// Lets another turn begin.
    pub(super) fn end_turn(&self) {
        *lock(&self.turn) = None;
    }
}

/// Locks a mutex, also after a panic of another thread.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
