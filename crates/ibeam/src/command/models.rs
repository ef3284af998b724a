//! `models`: the available models, one `<id> - <Label>` per line.
//!
//! Requests the list of every provider with a key or a configured URL, at most once an hour. If a request fails, a
//! warning is written to stderr, and the last list of that provider is used, however old it is.

pub(super) mod details;

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use futures_util::future::join_all;
use ibeam_protocol::{Failure, ModelInfo, Reason, Sentence, sentence};
use ibeam_providers::{ListedFacts, ListedModel, find_model};
use serde_json::json;

use self::details::ModelDetails;
use super::{LISTING_INDENT, explain_in_line, print_listing, report};
use crate::cli::ReportFormat;
use crate::cli_error::CliError;
use ibeam_agent::app::AppContext;
use ibeam_agent::model::{
    self, ConfiguredFacts, ConfiguredProvider, EMBEDDED_PROVIDER, LIST_MAX_AGE, ListCache,
};

/// The options of `models`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelListOptions {
    pub(crate) details: bool,
    pub(crate) json: bool,
    pub(crate) refresh: bool,
}

/// The models of all providers.
#[derive(Default)]
struct AvailableModels {
    models: Vec<AvailableModel>,
    /// The age of the oldest list; `None` without any list.
    age: Option<Duration>,
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

/// Prints the available models.
pub(crate) fn list(app: &AppContext, options: ModelListOptions, stdout: &mut File) -> Result<(), CliError> {
    let (current, no_model) = match model::choose_model(app) {
        Ok(choice) => (Some(format!("{}/{}", choice.info().provider, choice.info().id)), None),
        Err(reason) => (None, Some(reason)),
    };
    let available = available(app, options.refresh)?;
    let aliases = model::aliases(app);
    let is_current = |name: &str| current.as_deref() == Some(name);
    if options.json {
        let mut models = Vec::new();
        for model in &available.models {
            let details = ModelDetails::new(app, &model.info, &model.facts)?;
            let mut object = details.to_json(&model.name, &model.info, is_current(&model.name));
            if let (Some(note), Some(object)) = (&model.note, object.as_object_mut()) {
                object.insert("display_name".to_owned(), format!("{} ({note})", model.info.display).into());
            }
            models.push(object);
        }
        let aliases: Vec<_> =
            aliases.iter().map(|(name, meant)| json!({ "name": name, "model": meant })).collect();
        let age = available.age.map(|age| age.as_secs());
        return report(
            stdout,
            ReportFormat::Json,
            "",
            &json!({ "models": models, "aliases": aliases, "age_seconds": age }),
        );
    }
    let with_details = options.details || stdout.is_terminal();
    let catalogue = &app.base.catalogue;
    // Clients of the Cursor CLI parse the heading, the mark and the word `Tip`; a person reads the first two.
    let marking = |english: Sentence| match stdout.is_terminal() {
        true => catalogue.sentence(&english),
        false => english.to_string(),
    };
    let current_mark = marking(sentence!("current"));
    let mut text = format!("{}\n\n", marking(sentence!("Available models")));
    let mut add = |name: &str, label: &str, details: Option<ModelDetails>| {
        let mark = if is_current(name) { format!(" ({current_mark})") } else { String::new() };
        text.push_str(&format!("{name} - {label}{mark}\n"));
        details.iter().for_each(|details| text.push_str(&format!("    {}\n", details.to_text(catalogue))));
    };
    for model in &available.models {
        let details = with_details.then(|| ModelDetails::new(app, &model.info, &model.facts)).transpose()?;
        let label = match &model.note {
            None => model.info.display.clone(),
            Some(note) => format!("{} ({})", model.info.display, catalogue.sentence(note)),
        };
        add(&model.name, &label, details);
    }
    // Clients of the Cursor CLI use these ids, and some refuse an id that is not listed.
    for (name, meant) in &aliases {
        add(name, meant, None);
    }
    if let Some(reason @ Reason::NoModel { .. }) = no_model
        && available.models.is_empty()
    {
        drop(writeln!(io::stderr(), "warning: {}", explain_in_line(app, &reason)));
    }
    let mut tips = vec![sentence!(
        "choose one with `--model ID`, `$IBEAM_MODEL` or `model` in the configuration; `ibeam models --providers` lists the \
         providers."
    )];
    // Clients read every line that does not begin with `Tip:` as a model.
    if !with_details {
        tips.push(sentence!(
            "`ibeam models --details` shows context size, prices and abilities; `--json` is for programs."
        ));
    }
    if let Some(age) = available.age {
        let age = catalogue.sentence(&age_sentence(age));
        tips.push(sentence!("this list is {age} old; `ibeam models --refresh` requests it again.", age));
    }
    text.push('\n');
    tips.iter().for_each(|tip| text.push_str(&format!("Tip: {}\n", catalogue.sentence(tip))));
    print_listing(stdout, &text, LISTING_INDENT)
}

/// Returns the models of all usable providers, then the embedded one.
///
/// # Errors
/// Errors of the configuration. Failures of providers are warnings.
fn available(app: &AppContext, refresh: bool) -> Result<AvailableModels, CliError> {
    let mut available = AvailableModels::default();
    let mut cache = ListCache::load(&app.dirs.cache);
    // A key, an address or a header of the command line is for this call only, so the lists are not cached.
    let options = &app.base.options;
    let is_cacheable = options.endpoint.is_none() && options.api_key.is_none() && options.header.is_empty();
    let mut providers = Vec::new();
    for provider in ConfiguredProvider::usable(app)? {
        let name = provider.name.clone();
        match provider.with_connection(app) {
            Ok(provider) => providers.push(provider),
            Err(reason) if options.endpoint.is_some() => return Err(reason.into()),
            Err(reason) => warn(&name, &explain_in_line(app, &reason)),
        }
    }
    let is_fresh = |provider: &ConfiguredProvider| {
        let list = cache.get(provider).filter(|_| is_cacheable && !refresh);
        list.is_some_and(|list| list.age() < LIST_MAX_AGE)
    };
    let asked: Vec<&ConfiguredProvider> = providers.iter().filter(|provider| !is_fresh(provider)).collect();
    let answers = match asked.as_slice() {
        [] => Vec::new(),
        asked => {
            let lists = join_all(asked.iter().map(|provider| model::list_models(app, provider)));
            let listed = ibeam_agent::run::run_command(None, async { Ok::<_, Failure>(lists.await) });
            listed.map_err(|failure| CliError::from(failure.reason))?
        }
    };
    let mut answers = asked.iter().map(|provider| provider.name.clone()).zip(answers).peekable();
    for provider in &providers {
        let answer = answers.next_if(|(name, _)| *name == provider.name);
        let models = match answer {
            Some((_, Ok(models))) => {
                if is_cacheable {
                    cache.insert(provider, &models);
                }
                available.add_age(Duration::ZERO);
                models
            }
            // No other provider was asked, so there is nothing to list.
            Some((_, Err(failure))) if options.endpoint.is_some() => return Err(failure.into()),
            Some((_, Err(failure))) => {
                warn(&provider.name, &app.base.catalogue.failure(&failure).message);
                available.cached(&cache, provider, is_cacheable)
            }
            None => available.cached(&cache, provider, is_cacheable),
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
            available.models.push(AvailableModel { name, info, facts, note: None });
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
        available.models.push(AvailableModel {
            name: format!("{EMBEDDED_PROVIDER}/{}", info.id),
            info,
            facts: ListedFacts::default(),
            note,
        });
    }
    Ok(available)
}

impl AvailableModels {
    /// Returns the cached models of a provider, and records the age of their list.
    fn cached(
        &mut self,
        cache: &ListCache,
        provider: &ConfiguredProvider,
        is_cacheable: bool,
    ) -> Vec<ListedModel> {
        let Some(list) = cache.get(provider).filter(|_| is_cacheable) else { return Vec::new() };
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

fn warn(provider: &str, message: &str) {
    drop(writeln!(io::stderr(), "warning: {provider}: {message}"));
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
