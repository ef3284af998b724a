//! From a choice to a port that answers.

use std::sync::Arc;

use ibeam_core::Provider as Port;
use ibeam_protocol::{Failure, KeySource, ModelInfo};
use ibeam_providers::{Endpoint, HttpProvider, ListedModel, known_model};

use super::{Choice, Provider, embedded};
use crate::app::App;

impl Choice {
    /// Makes the port; nothing is sent yet.
    ///
    /// # Errors
    /// None of the network's: those come with the first answer.
    pub(crate) fn connect(self, app: &App) -> Result<(Arc<dyn Port>, ModelInfo, KeySource), Failure> {
        let source = self.key_source();
        let port: Arc<dyn Port> = match &self.provider {
            Some(provider) => Arc::new(HttpProvider::new(endpoint(provider, &self.info.id))),
            None => embedded::provider(app)?,
        };
        Ok((port, self.info, source))
    }
}

/// The models that a provider says it has.
///
/// # Errors
/// The provider's failure.
pub(crate) async fn list_of(provider: &Provider) -> Result<Vec<ListedModel>, Failure> {
    let listed = HttpProvider::new(endpoint(provider, "")).list_models().await;
    listed.map_err(|error| error.failure)
}

fn endpoint(provider: &Provider, model: &str) -> Endpoint {
    Endpoint {
        service: provider.name.clone(),
        wire: provider.wire,
        base_url: provider.base_url.clone(),
        key: provider.key.clone(),
        headers: provider.headers.clone(),
        model: model.to_owned(),
        quirks: provider.quirks,
        timeouts: provider.timeouts,
        max_output_tokens: known_model(model).map(|known| known.max_output_tokens),
    }
}
