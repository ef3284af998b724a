//! The model that answers hooks of type `prompt`.
//!
//! Each prompt is one request without tools and without retries. Its tokens are not part of the totals of the run.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use ibeam_core::{ModelEvent, ModelRequest, Provider};
use ibeam_hooks::{ModelPrompt, PromptModel};
use ibeam_protocol::{Answer, Block, Message, SessionId};

use crate::app::AppContext;
use crate::model;

/// Answers the prompts of hooks with the model of the run, or with the one that a hook names.
pub(crate) struct HookModel {
    app: Arc<AppContext>,
    /// The model of the run; `None` outside a run.
    provider: Option<Arc<dyn Provider>>,
    session: SessionId,
    /// The connected model of the last hook that named one.
    named: Mutex<Option<(String, Arc<dyn Provider>)>>,
}

impl HookModel {
    /// Returns the model for hooks of the session. Connects to no model.
    pub(crate) fn new(
        app: &Arc<AppContext>,
        provider: Option<Arc<dyn Provider>>,
        session: SessionId,
    ) -> Self {
        Self { app: Arc::clone(app), provider, session, named: Mutex::default() }
    }

    /// Returns the model that a hook names; the model of the run if the name is unknown here, because a hook may have been
    /// written for another program.
    fn provider(&self, name: Option<&str>) -> Result<Arc<dyn Provider>, String> {
        if let Some(name) = name {
            let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
            match &*named {
                Some((known, provider)) if known == name => return Ok(Arc::clone(provider)),
                Some(_) | None => {}
            }
            if let Ok(choice) = model::choose_model_named(&self.app, name, "a hook") {
                let connected = choice.connect(&self.app, self.session);
                let (provider, _, _) = connected.map_err(|failure| failure.reason.detail())?;
                *named = Some((name.to_owned(), Arc::clone(&provider)));
                return Ok(provider);
            }
        }
        match &self.provider {
            Some(provider) => Ok(Arc::clone(provider)),
            None => {
                let choice = model::choose_model(&self.app).map_err(|reason| reason.detail())?;
                let connected = choice.connect(&self.app, self.session);
                connected.map(|(provider, _, _)| provider).map_err(|failure| failure.reason.detail())
            }
        }
    }
}

impl PromptModel for HookModel {
    fn answer(&self, prompt: ModelPrompt) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let ModelPrompt { model, system, text, max_output_tokens } = prompt;
            let provider = self.provider(model.as_deref())?;
            let request = ModelRequest {
                system: system.into(),
                tools: Arc::new([]),
                messages: vec![Arc::new(Message::User(vec![text.into()]))],
                max_output_tokens: Some(max_output_tokens),
                answer_schema: None,
            };
            let mut events = provider.stream(Arc::new(request));
            while let Some(event) = events.next().await {
                match event {
                    Ok(ModelEvent::Finished(answer)) => return Ok(text_of(&answer)),
                    Ok(
                        ModelEvent::TextDelta(_)
                        | ModelEvent::ThinkingDelta(_)
                        | ModelEvent::ToolCallStarted
                        | ModelEvent::Notice(_),
                    ) => {}
                    Err(error) => {
                        return Err(format!(
                            "the request to the model failed: {}",
                            error.failure.reason.detail()
                        ));
                    }
                }
            }
            Err("the answer of the model has no end".to_owned())
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
