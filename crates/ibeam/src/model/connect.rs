//! From a choice to a port that answers.

use std::sync::Arc;

use ibeam_config::Credentials;
use ibeam_core::Provider as Port;
use ibeam_protocol::{Failure, KeySource, ModelInfo};
use ibeam_providers::{Endpoint, HttpProvider, KeyReader, ListedModel, Secret, known_model};

use super::{ConfiguredProvider, ModelChoice, embedded};
use crate::app::AppContext;

impl ModelChoice {
    /// Makes the port; nothing is sent yet.
    ///
    /// # Errors
    /// None of the network's: those come with the first answer.
    pub(crate) fn connect(self, app: &AppContext) -> Result<(Arc<dyn Port>, ModelInfo, KeySource), Failure> {
        let source = self.key_source();
        let port: Arc<dyn Port> = match &self.provider {
            Some(provider) => {
                let key_reader = key_reader(app, provider);
                Arc::new(HttpProvider::new(Endpoint { key_reader, ..endpoint(provider, &self.info.id) }))
            }
            None => embedded::provider(app)?,
        };
        Ok((port, self.info, source))
    }
}

/// The models that a provider says it has.
///
/// # Errors
/// The provider's failure.
pub(crate) async fn list_models(provider: &ConfiguredProvider) -> Result<Vec<ListedModel>, Failure> {
    let listed = HttpProvider::new(endpoint(provider, "")).list_models().await;
    listed.map_err(|error| error.failure)
}

fn endpoint(provider: &ConfiguredProvider, model: &str) -> Endpoint {
    Endpoint {
        provider: provider.name.clone(),
        wire: provider.wire,
        base_url: provider.base_url.clone(),
        key: provider.key.clone(),
        key_reader: None,
        headers: provider.headers.clone(),
        model: model.to_owned(),
        quirks: provider.quirks,
        timeouts: provider.timeouts,
        max_output_tokens: known_model(model).map(|known| known.max_output_tokens),
    }
}

/// Where the key is kept, if another `login` may replace it there; flags and variables stay as they are.
fn key_reader(app: &AppContext, provider: &ConfiguredProvider) -> Option<KeyReader> {
    let (path, name) = (app.dirs.credentials.clone(), provider.name.clone());
    let read = move || Credentials::load(&path).ok()?.get(&name).map(Secret::new);
    (provider.key_source == KeySource::Login).then(|| KeyReader::new(read))
}
