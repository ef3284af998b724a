//! The model that receives the requests: the first one of a run, or a later one while those before it are unavailable.
//!
//! A run never returns to an earlier model; the next run begins with the first one again.

use std::sync::{Arc, OnceLock};

use ibeam_protocol::{ClassCosts, EventKind, ModelInfo, Notice, Reason, RunStarted, Usage};

use super::{FallbackModel, Run};
use crate::journal::{Journal, JournalClosed};
use crate::ports::{DefaultModels, Provider, RequestLimits};
use crate::prices::Prices;

/// The model that receives the requests.
pub(super) struct ActiveModel<'a> {
    pub(super) info: &'a ModelInfo,
    pub(super) provider: &'a Arc<dyn Provider>,
    pub(super) context_window: Option<u64>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) binds_thinking: bool,
    pub(super) request_limits: RequestLimits,
    prices: Option<Prices>,
}

/// A default model that is replaced if the service does not know it.
#[derive(Clone)]
pub struct ReplaceableDefault {
    finder: Arc<dyn DefaultModels>,
    /// The model in its place, also for the runs of sub-agents.
    found: Arc<OnceLock<FallbackModel>>,
}

impl ReplaceableDefault {
    /// Returns a default model that was not refused so far.
    pub fn new(finder: Arc<dyn DefaultModels>) -> Self {
        Self { finder, found: Arc::default() }
    }
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
        match last.and_then(|last| self.fallbacks.get(last)).or_else(|| self.replaced_default()) {
            Some(fallback) => ActiveModel {
                info: &fallback.model,
                provider: &fallback.provider,
                context_window: fallback.context_window,
                max_output_tokens: fallback.max_output_tokens,
                binds_thinking: fallback.binds_thinking,
                request_limits: fallback.request_limits,
                prices: fallback.prices,
            },
            None => ActiveModel {
                info: &self.head.model,
                provider: &self.provider,
                context_window: self.context_window,
                max_output_tokens: self.max_output_tokens,
                binds_thinking: self.binds_thinking,
                request_limits: self.request_limits,
                prices: self.prices,
            },
        }
    }

    /// Returns the model in place of the default one, if the service did not know that.
    fn replaced_default(&self) -> Option<&FallbackModel> {
        self.default_model.as_ref()?.found.get()
    }

    /// Returns the beginning of a run, with the model that receives its first request.
    pub(super) fn current_head(&self) -> RunStarted {
        let mut head = self.head.clone();
        if let Some(replaced) = self.replaced_default() {
            head.model = replaced.model.clone();
        }
        head
    }

    /// Replaces a default model that the service does not know, once. Returns false if there is no other model.
    pub(super) async fn replace_default(&self, journal: &mut Journal) -> Result<bool, JournalClosed> {
        let Some(default) = &self.default_model else { return Ok(false) };
        let has_changed = default.found.get().is_some() || !journal.tally().totals.fallbacks.is_empty();
        let found = if has_changed { None } else { default.finder.find_current().await };
        let Some(model) = found else { return Ok(false) };
        let (from, to) = (self.head.model.qualified_name(), model.model.qualified_name());
        if from == to || default.found.set(model).is_err() {
            return Ok(false);
        }
        journal.record(EventKind::Notice(Notice::DefaultModelReplaced { from, to })).await?;
        Ok(true)
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
