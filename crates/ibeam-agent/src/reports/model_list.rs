//! `models`: the available models, one `<id> - <Label>` per line.
//!
//! Requests the list of every provider with a key or a configured URL, at most once an hour. If a request fails, a
//! warning is written to stderr, and the last list of that provider is used, however old it is.

use std::time::Duration;

use futures_util::future::join_all;
use ibeam_output::Catalogue;
use ibeam_protocol::{Failure, ModelInfo, Reason, Sentence, sentence};
use ibeam_providers::{ListedFacts, ListedModel, find_model};
use serde_json::{Value, json};

use super::explain_in_line;
use super::model_details::ModelDetails;
use crate::app::AppContext;
use crate::model::{self, ConfiguredFacts, ConfiguredProvider, EMBEDDED_PROVIDER, LIST_MAX_AGE, ListCache};

/// The models of all providers.
#[derive(Default)]
pub struct ModelList {
    models: Vec<AvailableModel>,
    /// The age of the oldest list; `None` without any list.
    age: Option<Duration>,
    /// The model that runs use.
    current: Option<String>,
    /// The reason why runs have no model.
    no_model: Option<Reason>,
    /// The warnings about providers, without the word `warning`.
    pub warnings: Vec<String>,
}

/// The form of the list for people.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelListForm {
    pub with_details: bool,
    /// Translate the heading and the mark too, which clients of the Cursor CLI parse.
    pub is_translated: bool,
}

/// A model, and the name under which a run uses it.
struct AvailableModel {
    name: String,
    info: ModelInfo,
    /// The facts that the service states about it.
    facts: ListedFacts,
    /// A note on what must be done before a run can use it.
    note: Option<Sentence>,
}

impl ModelList {
    /// Returns the names under which runs use the models.
    pub fn names(&self) -> Vec<String> {
        self.models.iter().map(|model| model.name.clone()).collect()
    }

    /// Requests the lists that are too old, or all with `refresh`. Returns the models of all usable providers, then the
    /// embedded one.
    ///
    /// # Errors
    /// Errors of the configuration. Failures of providers are warnings, except with an endpoint.
    pub async fn load(app: &AppContext, refresh: bool) -> Result<Self, Failure> {
        let mut list = Self::default();
        match model::choose_model(app) {
            Ok(choice) => list.current = Some(format!("{}/{}", choice.info().provider, choice.info().id)),
            Err(reason) => list.no_model = Some(reason),
        }
        let mut cache = ListCache::load(&app.dirs.cache);
        // A key, an address or a header of the command line is for this call only, so the lists are not cached.
        let options = &app.base.options;
        let is_cacheable =
            options.endpoint.is_none() && options.api_key.is_none() && options.header.is_empty();
        let mut providers = Vec::new();
        for provider in ConfiguredProvider::usable(app)? {
            let name = provider.name.clone();
            match provider.with_connection(app) {
                Ok(provider) => providers.push(provider),
                Err(reason) if options.endpoint.is_some() => return Err(reason.into()),
                Err(reason) => list.warn(&name, &explain_in_line(app, &reason)),
            }
        }
        let is_fresh = |provider: &ConfiguredProvider| {
            let cached = cache.get(provider.list_source()).filter(|_| is_cacheable && !refresh);
            cached.is_some_and(|cached| cached.age() < LIST_MAX_AGE)
        };
        let asked: Vec<&ConfiguredProvider> =
            providers.iter().filter(|provider| !is_fresh(provider)).collect();
        let answers = match asked.as_slice() {
            [] => Vec::new(),
            asked => join_all(asked.iter().map(|provider| model::list_models(app, provider))).await,
        };
        let mut answers = asked.iter().map(|provider| provider.name.clone()).zip(answers).peekable();
        for provider in &providers {
            let answer = answers.next_if(|(name, _)| *name == provider.name);
            let models = match answer {
                Some((_, Ok(models))) => {
                    if is_cacheable {
                        cache.insert(provider.list_source(), &models);
                    }
                    list.add_age(Duration::ZERO);
                    models
                }
                // No other provider was asked, so there is nothing to list.
                Some((_, Err(failure))) if options.endpoint.is_some() => return Err(failure),
                Some((_, Err(failure))) => {
                    list.warn(&provider.name, &app.base.catalogue.failure(&failure).message);
                    list.cached(&cache, provider, is_cacheable)
                }
                None => list.cached(&cache, provider, is_cacheable),
            };
            // Some services list the models that they do not serve any more, too.
            for found in models.into_iter().filter(|model| !model.facts.is_retired()) {
                // The server of `--endpoint` is not a provider of the table.
                let name = match options.endpoint {
                    Some(_) => found.id.clone(),
                    None => format!("{}/{}", provider.name, found.id),
                };
                let facts = found.facts.clone();
                let info = model_info(app, &provider.name, found);
                list.models.push(AvailableModel { name, info, facts, note: None });
            }
        }
        if is_cacheable && !asked.is_empty() {
            cache.store(&app.dirs.cache);
        }
        if cfg!(feature = "embedded") {
            let note = (!model::is_installed(app)).then(|| sentence!("not set up: `ibeam setup`"));
            let info = ModelInfo {
                provider: EMBEDDED_PROVIDER.to_owned(),
                id: "qwen2.5-coder-1.5b".to_owned(),
                display: model::EMBEDDED_DISPLAY.to_owned(),
            };
            list.models.push(AvailableModel {
                name: format!("{EMBEDDED_PROVIDER}/{}", info.id),
                info,
                facts: ListedFacts::default(),
                note,
            });
        }
        Ok(list)
    }

    /// Returns the value for programs.
    ///
    /// # Errors
    /// `BadConfig` for an invalid fact about a model.
    pub fn to_json(&self, app: &AppContext) -> Result<Value, Reason> {
        let mut models = Vec::new();
        for model in &self.models {
            let details = ModelDetails::new(app, &model.info, &model.facts)?;
            let mut object = details.to_json(&model.name, &model.info, self.is_current(&model.name));
            if let (Some(note), Some(object)) = (&model.note, object.as_object_mut()) {
                object.insert("display_name".to_owned(), format!("{} ({note})", model.info.display).into());
            }
            models.push(object);
        }
        let aliases: Vec<_> =
            model::aliases(app).iter().map(|(name, meant)| json!({ "name": name, "model": meant })).collect();
        let age = self.age.map(|age| age.as_secs());
        Ok(json!({ "models": models, "aliases": aliases, "age_seconds": age }))
    }

    /// Returns the lines for people.
    ///
    /// # Errors
    /// `BadConfig` for an invalid fact about a model.
    pub fn to_text(&self, app: &AppContext, form: ModelListForm) -> Result<String, Reason> {
        let catalogue: &Catalogue = &app.base.catalogue;
        let marking = |english: Sentence| match form.is_translated {
            true => catalogue.sentence(&english),
            false => english.to_string(),
        };
        let current_mark = marking(sentence!("current"));
        let mut text = format!("{}\n\n", marking(sentence!("Available models")));
        let mut add = |name: &str, label: &str, details: Option<ModelDetails>| {
            let mark = if self.is_current(name) { format!(" ({current_mark})") } else { String::new() };
            text.push_str(&format!("{name} - {label}{mark}\n"));
            details
                .iter()
                .for_each(|details| text.push_str(&format!("    {}\n", details.to_text(catalogue))));
        };
        for model in &self.models {
            let details =
                form.with_details.then(|| ModelDetails::new(app, &model.info, &model.facts)).transpose()?;
            let label = match &model.note {
                None => model.info.display.clone(),
                Some(note) => format!("{} ({})", model.info.display, catalogue.sentence(note)),
            };
            add(&model.name, &label, details);
        }
        // Clients of the Cursor CLI use these ids, and some refuse an id that is not listed.
        for (name, meant) in &model::aliases(app) {
            add(name, meant, None);
        }
        let mut tips = vec![sentence!(
            "choose one with `--model ID`, `$IBEAM_MODEL` or `model` in the configuration; `ibeam models --providers` lists the \
             providers."
        )];
        // Clients read every line that does not begin with `Tip:` as a model.
        if !form.with_details {
            tips.push(sentence!(
                "`ibeam models --details` shows context size, prices and abilities; `--json` is for programs."
            ));
        }
        if let Some(age) = self.age {
            let age = catalogue.sentence(&age_sentence(age));
            tips.push(sentence!("this list is {age} old; `ibeam models --refresh` requests it again.", age));
        }
        text.push('\n');
        tips.iter().for_each(|tip| text.push_str(&format!("Tip: {}\n", catalogue.sentence(tip))));
        Ok(text)
    }

    /// Returns the warning for people that there is no model to list, and why.
    pub fn no_model_warning(&self, app: &AppContext) -> Option<String> {
        let reason = self.no_model.as_ref().filter(|_| self.models.is_empty())?;
        matches!(reason, Reason::NoModel { .. }).then(|| explain_in_line(app, reason))
    }

    fn is_current(&self, name: &str) -> bool {
        self.current.as_deref() == Some(name)
    }

    fn warn(&mut self, provider: &str, message: &str) {
        self.warnings.push(format!("{provider}: {message}"));
    }

    /// Returns the cached models of a provider, and records the age of their list.
    fn cached(
        &mut self,
        cache: &ListCache,
        provider: &ConfiguredProvider,
        is_cacheable: bool,
    ) -> Vec<ListedModel> {
        let Some(list) = cache.get(provider.list_source()).filter(|_| is_cacheable) else {
            return Vec::new();
        };
        self.add_age(list.age());
        list.models()
    }

    /// Records the age of a list, if it is the oldest so far.
    fn add_age(&mut self, age: Duration) {
        self.age = self.age.max(Some(age));
    }
}

/// Returns a listed model with its display name: of the configuration, else of the service, else of the model table.
fn model_info(app: &AppContext, provider: &str, listed: ListedModel) -> ModelInfo {
    let configured = app.base.settings.models.display.get(&listed.id).map(|name| name.value.clone());
    let facts = ConfiguredFacts::new(&app.base.config, provider, &listed.id);
    let configured = configured.or_else(|| facts.text("label").map(str::to_owned));
    let known = || find_model(provider, &listed.id)?.label.map(str::to_owned);
    let display = configured.or(listed.label).or_else(known).unwrap_or_else(|| listed.id.clone());
    ModelInfo { provider: provider.to_owned(), id: listed.id, display }
}

/// Returns an age in words.
fn age_sentence(age: Duration) -> Sentence {
    match age.as_secs() / 60 {
        0 => sentence!("less than a minute"),
        1 => sentence!("1 minute"),
        count @ 2..60 => sentence!("{count} minutes", count),
        60..120 => sentence!("1 hour"),
        minutes @ 120..2880 => sentence!("{count} hours", count = minutes / 60),
        minutes => sentence!("{count} days", count = minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_of_one_unit() {
        for (seconds, expect) in [
            (0, "less than a minute"),
            (60, "1 minute"),
            (3599, "59 minutes"),
            (7200, "2 hours"),
            (86_400 * 3, "3 days"),
        ] {
            assert_eq!(age_sentence(Duration::from_secs(seconds)).as_str(), expect);
        }
    }
}
