//! The model of a hosted session: the list that the host may choose from, and the host's requests for another model.
//!
//! A request is answered at once, also during a run. It applies to the prompts that arrive after it.

use std::convert::Infallible;
use std::sync::Arc;

use ibeam_protocol::Reason;
use serde_json::{Value, json};

use crate::dialect::{Host, SetModelReceiver, SetModelRequest, resolve_claude_model};
use ibeam_agent::app::AppContext;
use ibeam_agent::model::{self, ModelChoice, model_info};

pub(super) struct HostModel<'a> {
    app: &'a AppContext,
    host: Arc<Host>,
    requests: SetModelReceiver,
    /// Granted models, each with the number of prompts that arrived before it.
    granted: Vec<(u64, ModelChoice)>,
    /// The number of prompts whose runs have started.
    started: u64,
}

impl<'a> HostModel<'a> {
    /// Returns the state before the first run.
    pub(super) fn new(app: &'a AppContext, host: Arc<Host>, requests: SetModelReceiver) -> Self {
        Self { app, host, requests, granted: Vec::new(), started: 0 }
    }

    /// Returns the models that a host may choose from, as `initialize` lists them: the default and the aliases.
    pub(super) fn model_list(app: &AppContext) -> Vec<Value> {
        let default = model::choose_model(app).ok();
        let named = default.as_ref().map(ModelChoice::info);
        let name = named.map_or("no model can be used yet", |info| info.display.as_str());
        let entry = |value: &str, name: &str, description: &str, id: Option<&str>| {
            let mut entry = json!({ "value": value, "displayName": name, "description": description });
            if let (Some(entry), Some(id)) = (entry.as_object_mut(), id) {
                entry.insert("resolvedModel".to_owned(), id.into());
            }
            entry
        };
        let id = named.map(|info| info.id.as_str());
        let mut models = vec![entry("default", "Default", name, id)];
        models.extend(named.map(|info| entry(&info.id, &info.display, &info.provider, Some(&info.id))));
        let aliases = model::aliases(app);
        models.extend(aliases.iter().map(|(alias, meant)| entry(alias, alias, meant, None)));
        models
    }

    /// Answers requests while it is polled.
    pub(super) async fn answer_requests(&mut self) -> Infallible {
        loop {
            match self.requests.recv().await {
                Some(request) => self.answer(&request),
                None => return std::future::pending().await,
            }
        }
    }

    fn answer(&mut self, request: &SetModelRequest) {
        let answer = match self.choose(request.model.as_deref()) {
            Ok(choice) => {
                let response = json!({ "model": choice.info().id });
                self.granted.push((request.prompts_before, choice));
                Ok(response)
            }
            Err(reason) => Err(self.app.base.catalogue.reason(&reason).message),
        };
        self.host.respond(&request.id, answer);
    }

    fn choose(&self, name: Option<&str>) -> Result<ModelChoice, Reason> {
        let choice = match name.and_then(resolve_claude_model) {
            Some(name) => model::choose_model_named(self.app, &name, "set_model")?,
            None => model::choose_model(self.app)?,
        };
        model_info::check_price(self.app, choice.info())?;
        Ok(choice)
    }

    /// Returns the model of the first run.
    ///
    /// # Errors
    /// The errors of [`model::choose_model`].
    pub(super) fn choose_for_first_prompt(&mut self) -> Result<ModelChoice, Reason> {
        match self.take_for_next_prompt() {
            Some(choice) => Ok(choice),
            None => model::choose_model(self.app),
        }
    }

    /// Counts the next prompt, and returns the last model that was granted before it.
    pub(super) fn take_for_next_prompt(&mut self) -> Option<ModelChoice> {
        let started = self.started;
        self.started += 1;
        let count = self.granted.iter().take_while(|(after, _)| *after <= started).count();
        self.granted.drain(..count).next_back().map(|(_, choice)| choice)
    }
}
