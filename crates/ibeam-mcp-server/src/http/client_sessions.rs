//! The sessions of clients that begin with `initialize`. They hold the calls that a later message can cancel.

use std::collections::HashMap;
use std::time::Instant;

use hyper::header::HeaderName;
use ibeam_json_rpc::RequestId;
use tokio::task::AbortHandle;
use uuid::Uuid;

pub(super) const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// Maximum number of sessions. A new one replaces the one that was not used for the longest time.
const MAX_SESSIONS: usize = 64;

/// The sessions by their ids.
#[derive(Default)]
pub(super) struct ClientSessions(HashMap<String, ClientSession>);

struct ClientSession {
    used_at: Instant,
    calls: HashMap<RequestId, AbortHandle>,
}

impl ClientSession {
    fn is_idle(&self) -> bool {
        self.calls.values().all(AbortHandle::is_finished)
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.calls.values().for_each(AbortHandle::abort);
    }
}

impl ClientSessions {
    /// Begins a session and returns its id.
    pub(super) fn begin(&mut self) -> String {
        if self.0.len() >= MAX_SESSIONS {
            let oldest = self.0.iter().min_by_key(|(_, session)| (!session.is_idle(), session.used_at));
            let oldest = oldest.map(|(id, _)| id.clone());
            if let Some(id) = oldest {
                self.0.remove(&id);
            }
        }
        let id = Uuid::new_v4().simple().to_string();
        self.0.insert(id.clone(), ClientSession { used_at: Instant::now(), calls: HashMap::new() });
        id
    }

    /// Marks a session as used. Returns false if it does not exist.
    pub(super) fn touch(&mut self, id: &str) -> bool {
        let session = self.0.get_mut(id);
        session.map(|session| session.used_at = Instant::now()).is_some()
    }

    /// Ends a session and cancels its calls. Returns false if it does not exist.
    pub(super) fn end(&mut self, id: &str) -> bool {
        self.0.remove(id).is_some()
    }

    /// Adds a call that the client can cancel. If the session has ended, the call is cancelled.
    pub(super) fn add_call(&mut self, id: &str, request: RequestId, call: AbortHandle) {
        match self.0.get_mut(id) {
            Some(session) => {
                session.calls.retain(|_, call| !call.is_finished());
                session.calls.insert(request, call);
            }
            None => call.abort(),
        }
    }

    /// Cancels a call, if it is still running.
    pub(super) fn cancel_call(&mut self, id: &str, request: &RequestId) {
        let call = self.0.get_mut(id).and_then(|session| session.calls.remove(request));
        call.iter().for_each(AbortHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_session_makes_room_for_a_new_one() {
        let mut sessions = ClientSessions::default();
        let first = sessions.begin();
        let second = sessions.begin();
        assert!(sessions.touch(&first));
        for _ in 0..MAX_SESSIONS - 1 {
            sessions.begin();
        }
        assert!(sessions.touch(&first));
        assert!(!sessions.touch(&second));
        assert!(sessions.end(&first));
        assert!(!sessions.end(&first));
    }

    #[test]
    fn the_end_of_a_session_cancels_its_calls() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut sessions = ClientSessions::default();
            let id = sessions.begin();
            let call = tokio::spawn(std::future::pending::<()>());
            sessions.add_call(&id, RequestId::Text("a".to_owned()), call.abort_handle());
            sessions.end(&id);
            assert!(call.await.unwrap_err().is_cancelled());
            let late = tokio::spawn(std::future::pending::<()>());
            sessions.add_call(&id, RequestId::Text("b".to_owned()), late.abort_handle());
            assert!(late.await.unwrap_err().is_cancelled());
        });
    }
}
