//! The front end of a session of an editor: its approver, and the writer of its events.

use std::io;
use std::sync::{Arc, Mutex};

use ibeam_acp::SessionUpdates;
use ibeam_acp::schema::{SessionNotification, SessionUpdate};
use ibeam_core::Approver;
use ibeam_json_rpc::Peer;
use ibeam_mcp::Questioner;
use ibeam_output::EventWriter;
use ibeam_protocol::{Event, SessionId};
use ibeam_tools::EditorFiles;

use super::editor_approver::EditorApprover;
use super::editor_file_system::EditorFileSystem;
use super::editor_questioner::EditorQuestioner;
use super::turn_control::lock;
use ibeam_agent::run::front_end::FrontEnd;
use ibeam_agent::run::subagents::SubagentObserver;

/// The method of all updates.
pub(super) const UPDATE: &str = "session/update";

/// The front end of a session of an editor.
pub(super) struct EditorFrontEnd {
    pub(super) approver: Arc<EditorApprover>,
    /// `None` if the editor reads and writes no files.
    pub(super) files: Option<Arc<EditorFileSystem>>,
    /// `None` if the editor shows no forms.
    pub(super) questioner: Option<Arc<EditorQuestioner>>,
    /// Sends the progress of sub-agents.
    pub(super) writer: Arc<EditorWriter>,
}

impl FrontEnd for EditorFrontEnd {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.approver) as _
    }

    fn questioner(&self) -> Option<Arc<dyn Questioner>> {
        self.questioner.clone().map(|questioner| questioner as _)
    }

    fn subagent_observer(&self) -> Option<Arc<dyn SubagentObserver>> {
        Some(Arc::clone(&self.writer) as _)
    }

    fn editor_files(&self) -> Option<Arc<dyn EditorFiles>> {
        self.files.clone().map(|files| files as _)
    }
}

/// Sends the events of a session to the editor.
#[derive(Clone)]
pub(super) struct EditorWriter {
    pub(super) peer: Arc<Peer>,
    pub(super) session_id: String,
    pub(super) updates: Arc<Mutex<SessionUpdates>>,
}

impl EditorWriter {
    fn send(&self, update: SessionUpdate) -> io::Result<()> {
        let notification = SessionNotification::new(self.session_id.clone(), update);
        self.peer.notify_blocking(UPDATE, notification)
    }
}

impl SubagentObserver for EditorWriter {
    fn on_event(&self, session: SessionId, event: &Event) {
        let update = lock(&self.updates).convert_subagent(&session.to_string(), event);
        // A closed connection ends the session elsewhere.
        drop(update.map(|update| self.send(update)));
    }
}

impl EventWriter for EditorWriter {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        let updates = lock(&self.updates).convert(event);
        updates.into_iter().try_for_each(|update| self.send(update))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
