//! The model that receives the requests: the first one of a run, or a later one while those before it are unavailable.
//!
//! A run never returns to an earlier model; the next run begins with the first one again.

use std::sync::Arc;

use ibeam_protocol::{ClassCosts, EventKind, ModelInfo, Notice, Reason, Usage};

use super::Run;
use crate::journal::{Journal, JournalClosed};
use crate::ports::Provider;
use crate::tally::Prices;

/// The model that receives the requests.
pub(super) struct ActiveModel<'a> {
    pub(super) info: &'a ModelInfo,
    pub(super) provider: &'a Arc<dyn Provider>,
    pub(super) context_window: Option<u64>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) binds_thinking: bool,
    prices: Option<Prices>,
}

impl ActiveModel<'_> {
    /// Returns the cost of tokens, if the price of the model is known.
    pub(super) fn costs(&self, usage: Usage) -> Option<ClassCosts> {
        self.prices.map(|prices| prices.costs(usage))
    }
}

impl Run {
    /// Returns the model that receives the requests.
    pub(super) fn active_model(&self, journal: &Journal) -> ActiveModel<'_> {
        let last = journal.tally().totals.fallbacks.len().checked_sub(1);
        match last.and_then(|last| self.fallbacks.get(last)) {
            Some(fallback) => ActiveModel {
                info: &fallback.model,
                provider: &fallback.provider,
                context_window: fallback.context_window,
                max_output_tokens: fallback.max_output_tokens,
                binds_thinking: fallback.binds_thinking,
                prices: fallback.prices,
            },
            None => ActiveModel {
                info: &self.head.model,
                provider: &self.provider,
                context_window: self.context_window,
                max_output_tokens: self.max_output_tokens,
                binds_thinking: self.binds_thinking,
                prices: self.prices,
            },
        }
    }

    /// Lets the next model receive the requests. Returns false if there is none.
    pub(super) async fn fall_back(
        &self,
        journal: &mut Journal,
        reason: &Reason,
    ) -> Result<bool, JournalClosed> {
        let Some(next) = self.fallbacks.get(journal.tally().totals.fallbacks.len()) else { return Ok(false) };
        let from = self.active_model(journal).info.qualified_name();
        let (to, reason) = (next.model.qualified_name(), Box::new(reason.clone()));
        journal.record(EventKind::Notice(Notice::ModelFallback { from, to, reason })).await?;
        Ok(true)
    }
}
