//! The model that answers hooks of type `prompt`.
//!
//! Each prompt is one request without tools and without retries. Its tokens are part of the totals of the run, unless
//! the hook does not wait for the answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use ibeam_core::{ModelEvent, ModelRequest, Prices, Provider};
use ibeam_hooks::{ModelPrompt, PromptAnswer, PromptModel};
use ibeam_protocol::event::HookRequest;
use ibeam_protocol::{Answer, Block, Message, ModelInfo, SessionId, Usage};

use crate::app::AppContext;
use crate::model::{self, ModelChoice, model_info};

/// Answers the prompts of hooks with the model of the run, or with the one that a hook names.
pub struct HookModel {
    app: Arc<AppContext>,
    /// The model of the run; `None` outside a run.
    run_model: Option<(Arc<dyn Provider>, ModelInfo)>,
    session: SessionId,
    /// The connected model of the last hook that named one.
    named: Mutex<Option<(String, PricedModel)>>,
}

/// A connected model with the prices of its tokens.
#[derive(Clone)]
struct PricedModel {
    provider: Arc<dyn Provider>,
    /// `PROVIDER/ID`.
    name: String,
    prices: Option<Prices>,
}

impl PricedModel {
    /// Returns the record of a request to the model.
    fn request(&self, usage: Option<Usage>, started: Instant, is_failed: bool) -> HookRequest {
        let costs = usage.zip(self.prices).map(|(usage, prices)| prices.costs(usage));
        let api_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        HookRequest { model: self.name.clone(), usage, costs, api_ms, is_failed }
    }
}

impl HookModel {
    /// Returns the model for hooks of the session, where `run_model` answers the run. Connects to no model.
    pub fn new(
        app: &Arc<AppContext>,
        run_model: Option<(Arc<dyn Provider>, ModelInfo)>,
        session: SessionId,
    ) -> Self {
        Self { app: Arc::clone(app), run_model, session, named: Mutex::default() }
    }

    /// Returns the model that a hook names; the model of the run if the name is unknown here, because a hook may have been
    /// written for another program.
    fn model(&self, name: Option<&str>) -> Result<PricedModel, String> {
        if let Some(name) = name {
            let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
            match &*named {
                Some((known, model)) if known == name => return Ok(model.clone()),
                Some(_) | None => {}
            }
            if let Ok(choice) = model::choose_model_named(&self.app, name, "a hook") {
                let model = self.connect(choice)?;
                *named = Some((name.to_owned(), model.clone()));
                return Ok(model);
            }
        }
        match &self.run_model {
            Some((provider, info)) => {
                let prices = model_info::prices(&self.app, info).map_err(|reason| reason.detail())?;
                Ok(PricedModel { provider: Arc::clone(provider), name: info.qualified_name(), prices })
            }
            None => self.connect(model::choose_model(&self.app).map_err(|reason| reason.detail())?),
        }
    }

    /// Connects to a model whose price is known if the cost is limited.
    fn connect(&self, choice: ModelChoice) -> Result<PricedModel, String> {
        let prices = model_info::check_price(&self.app, choice.info()).map_err(|reason| reason.detail())?;
        let connected = choice.connect(&self.app, self.session);
        let (provider, info, _) = connected.map_err(|failure| failure.reason.detail())?;
        Ok(PricedModel { provider, name: info.qualified_name(), prices })
    }
}

impl PromptModel for HookModel {
    fn answer(&self, prompt: ModelPrompt) -> BoxFuture<'_, PromptAnswer> {
        Box::pin(async move {
            let ModelPrompt { model, system, text, max_output_tokens } = prompt;
            let model = match self.model(model.as_deref()) {
                Ok(model) => model,
                Err(error) => return PromptAnswer { text: Err(error), request: None },
            };
            let request = ModelRequest {
                system: system.into(),
                tools: Arc::new([]),
                messages: vec![Arc::new(Message::User(vec![text.into()]))],
                max_output_tokens: Some(max_output_tokens),
                answer_schema: None,
                effort: None,
            };
            let started = Instant::now();
            let mut events = model.provider.stream(Arc::new(request));
            while let Some(event) = events.next().await {
                match event {
                    Ok(ModelEvent::Finished(answer)) => {
                        let request = Some(model.request(answer.usage, started, false));
                        return PromptAnswer { text: Ok(text_of(&answer)), request };
                    }
                    Ok(
                        ModelEvent::TextDelta(_)
                        | ModelEvent::ThinkingDelta(_)
                        | ModelEvent::ToolCallAnnounced
                        | ModelEvent::Notice(_),
                    ) => {}
                    Err(error) => {
                        let detail = error.failure.reason.detail();
                        let request = Some(model.request(error.usage.as_deref().copied(), started, true));
                        return PromptAnswer {
                            text: Err(format!("the request to the model failed: {detail}")),
                            request,
                        };
                    }
                }
            }
            let request = Some(model.request(None, started, true));
            PromptAnswer { text: Err("the answer of the model has no end".to_owned()), request }
        })
    }
}

/// Returns the visible text of an answer.
fn text_of(answer: &Answer) -> String {
    let texts = answer.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
    });
    texts.collect()
}
