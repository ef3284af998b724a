//! The model in place of a default model that the service does not know: the rule of the default, applied to the list of the
//! service.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_core::{DefaultModels, FallbackModel, ReplaceableDefault};
use ibeam_protocol::SessionId;
use ibeam_providers::TrafficMode;

use super::resources;
use crate::app::AppContext;
use crate::model::{ConfiguredProvider, DefaultOrigin, ModelChoice};

/// Returns the search for another model in place of one that a rule chose; `None` for a model that the user named, and where
/// the traffic is recorded or replayed, because a list is not part of a recording.
pub(super) fn replaceable_default(
    app: &Arc<AppContext>,
    choice: &ModelChoice,
    session: SessionId,
) -> Option<ReplaceableDefault> {
    let (provider, origin) = choice.default_origin().filter(|_| matches!(app.traffic, TrafficMode::Live))?;
    let (app, provider, origin) = (Arc::clone(app), provider.clone(), origin.clone());
    Some(ReplaceableDefault::new(Arc::new(DefaultReplacement { app, provider, origin, session })))
}

/// The search for the model of a session in place of its default one.
struct DefaultReplacement {
    app: Arc<AppContext>,
    provider: ConfiguredProvider,
    origin: DefaultOrigin,
    session: SessionId,
}

impl DefaultModels for DefaultReplacement {
    fn find_current(&self) -> BoxFuture<'_, Option<FallbackModel>> {
        Box::pin(async move {
            // Without the list, the failure of the request says what is wrong.
            let choice = self.origin.choose_listed(&self.app, &self.provider).await?;
            resources::connect_fallback(&self.app, choice, self.session).ok()
        })
    }
}
