//! Leaves thinking out of requests whose service would refuse it, or has refused it.
//!
//! Each omission is recorded before the request that follows from it, and is final.

use std::sync::Arc;

use ibeam_protocol::{Answer, EventKind, Notice};

use super::{Run, TurnError};
use crate::journal::{Journal, JournalClosed};
use crate::ports::ModelRequest;
use crate::prefix::PrefixChain;
use crate::thinking::{has_signed_thinking, has_thinking, is_sent_back, refused_messages};

impl Run {
    /// Leaves out the thinking that does not come after its own prefix in `request`, if the model binds its thinking.
    /// `request` is the one for the conversation so far; afterwards too.
    pub(super) async fn omit_changed_thinking(
        &self,
        journal: &mut Journal,
        prefixes: &mut PrefixChain,
        request: &mut Arc<ModelRequest>,
    ) -> Result<(), TurnError> {
        // An answer of thinking alone disappears without it, which changes the prefix of all later answers.
        while self.active_model(journal).binds_thinking && contains_thinking(request) {
            let provider = &self.active_model(journal).info.provider;
            let messages = refused_messages(journal.history(), prefixes.fingerprints(provider, request));
            if messages == 0 {
                break;
            }
            journal.record(EventKind::ThinkingOmitted { messages }).await?;
            *request = Arc::new(self.build_request(journal));
        }
        Ok(())
    }

    /// Leaves out all thinking after the service has refused that in `request`. Returns false if the request has none.
    pub(super) async fn omit_refused_thinking(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
    ) -> Result<bool, JournalClosed> {
        if !request.messages.iter().any(|message| has_signed_thinking(message)) {
            return Ok(false);
        }
        let messages = journal.history().messages().len();
        journal.record(EventKind::ThinkingOmitted { messages }).await?;
        let provider = self.active_model(journal).info.provider.clone();
        journal.record(EventKind::Notice(Notice::ThinkingRefused { provider })).await?;
        Ok(true)
    }

    /// Returns the fingerprint of a request, if the model binds thinking in its answer to it.
    pub(super) fn bound_prefix(
        &self,
        journal: &Journal,
        prefixes: &mut PrefixChain,
        request: &ModelRequest,
        answer: &Answer,
    ) -> Option<u64> {
        let model = self.active_model(journal);
        if !model.binds_thinking || !answer.blocks.iter().any(is_sent_back) {
            return None;
        }
        prefixes.fingerprints(&model.info.provider, request).last().copied()
    }
}

fn contains_thinking(request: &ModelRequest) -> bool {
    request.messages.iter().any(|message| has_thinking(message))
}
