//! The models that take over while the models before them are unavailable: `model = ["a", "b"]`, `--fallback-model`.

use ibeam_config::Setting;
use ibeam_protocol::{Notice, Reason, sentence};
use ibeam_providers::is_secret_header;

use super::{ModelChoice, choose_model_named};
use crate::app::AppContext;
use crate::run_options::RunOptions;

/// The models after the first one, in the order in which they take over.
#[derive(Default)]
pub struct FallbackChain {
    pub choices: Vec<ModelChoice>,
    /// Notices about models that cannot be used.
    pub(crate) notices: Vec<Notice>,
}

impl FallbackChain {
    /// Chooses the models after `first`. A model without a key, or one that is not installed, is left out with a notice. A
    /// model that occurs again is ignored.
    ///
    /// # Errors
    /// `UnknownModel`, `UnknownProvider`, `Untrusted`, `BadConfig`; `Usage` if a flag for one provider would apply to
    /// several.
    pub fn choose(app: &AppContext, first: &ModelChoice) -> Result<Self, Reason> {
        let Setting { value, origin } = &app.base.settings.model;
        let origin = origin.to_string();
        let configured = value.iter().skip(1).map(|name| (name.as_str(), origin.as_str()));
        let added = app.base.options.fallback_model.iter().map(|name| (name.trim(), "--fallback-model"));
        let mut chain = Self::default();
        for (name, origin) in configured.chain(added) {
            match choose_model_named(app, name, origin) {
                Ok(choice) => {
                    reject_flags_of_one_provider(&app.base.options, first, &choice)?;
                    let mut earlier = std::iter::once(first).chain(&chain.choices);
                    if !earlier.any(|earlier| earlier.info() == choice.info()) {
                        chain.choices.push(choice);
                    }
                }
                Err(
                    reason @ (Reason::NoKey { .. }
                    | Reason::NoModel { .. }
                    | Reason::ModelNotInstalled { .. }
                    | Reason::NoLocalEngine),
                ) => {
                    let (model, reason) = (name.to_owned(), Box::new(reason));
                    chain.notices.push(Notice::FallbackUnusable { model, reason });
                }
                Err(reason) => return Err(reason),
            }
        }
        Ok(chain)
    }
}

/// Rejects flags with a key or an address that would apply to several providers: the key of one provider must not be sent
/// to another.
fn reject_flags_of_one_provider(
    options: &RunOptions,
    first: &ModelChoice,
    next: &ModelChoice,
) -> Result<(), Reason> {
    let (one, other) = (&first.info().provider, &next.info().provider);
    if one == other || next.provider.is_none() {
        return Ok(());
    }
    let is_secret =
        |header: &String| header.split_once(':').is_some_and(|(name, _)| is_secret_header(name.trim()));
    let flag = if options.api_key.is_some() {
        "--api-key"
    } else if options.endpoint.is_some() {
        "--endpoint"
    } else if options.header.iter().any(is_secret) {
        "--header"
    } else {
        return Ok(());
    };
    let detail = sentence!(
        "`{flag}` is for one provider, and the models are of `{one}` and `{other}`; set keys and addresses as variables \
         or in the configuration",
        flag,
        one,
        other,
    );
    Err(Reason::Usage { detail })
}
