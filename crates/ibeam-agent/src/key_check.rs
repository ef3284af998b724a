//! The check of a key with its service, and the storage of keys.

use std::time::Duration;

use ibeam_config::{ConfigError, Credentials};
use ibeam_output::SubcommandLine;
use ibeam_protocol::{Failure, FailureCode, KeySource, Reason};
use ibeam_providers::Secret;

use crate::app::AppContext;
use crate::model::{self, ConfiguredProvider};

/// Stores a key, and returns the sentences about it and its check.
///
/// # Errors
/// The errors of the file of stored keys.
pub fn store_key(
    app: &AppContext,
    provider: &str,
    key: &str,
    check: Option<&KeyCheck>,
) -> Result<String, ConfigError> {
    let mut credentials = Credentials::load(&app.dirs.credentials)?;
    credentials.store(provider, key)?;
    let path = app.dirs.credentials.display().to_string();
    let mut text = app.base.catalogue.line(&SubcommandLine::LoggedIn { provider, path: &path });
    let line = match check {
        None => None,
        Some(KeyCheck::Accepted) => Some(SubcommandLine::KeyAccepted { provider }),
        Some(KeyCheck::ListIsPublic) => Some(SubcommandLine::KeyUnverifiable { provider }),
        Some(KeyCheck::Failed { message }) => Some(SubcommandLine::KeyUnchecked { message }),
    };
    if let Some(line) = line {
        text = format!("{text}\n{}", app.base.catalogue.line(&line));
    }
    Ok(text)
}

/// The longest wait for the answers of the service.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of the check of a key that was not rejected.
pub enum KeyCheck {
    Accepted,
    /// The service answers without a key too.
    ListIsPublic,
    /// The service could not be asked.
    Failed {
        message: String,
    },
}

/// Requests the list of models with the key, and again without any key: a service that answers both did not check the key.
///
/// # Errors
/// The failure with which the service rejects the key; `BadConfig` for an invalid address or connection.
pub async fn check_key(app: &AppContext, provider: &str, key: &str) -> Result<KeyCheck, Failure> {
    let Some(mut with_key) = ConfiguredProvider::find(app, provider)? else {
        return Err(Reason::UnknownProvider { provider: provider.to_owned(), near: None }.into());
    };
    with_key.key = Some(Secret::new(key));
    with_key.deferred_key = None;
    // A key of the source `Login` would be replaced by the stored one.
    with_key.key_source = KeySource::Flag;
    with_key.key_origin = None;
    let with_key = with_key.with_connection(app)?;
    let mut without_key = with_key.clone();
    without_key.key = None;
    let list = |provider| async move {
        let listed = tokio::time::timeout(CHECK_TIMEOUT, model::list_models(app, provider)).await;
        let waited_ms = u64::try_from(CHECK_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        let stalled = Reason::Stalled { provider: provider.name.clone(), waited_ms };
        listed.unwrap_or_else(|_| Err(stalled.into()))
    };
    let checked = list(&with_key).await;
    let is_public = checked.is_ok() && list(&without_key).await.is_ok();
    match checked {
        Ok(_) if is_public => Ok(KeyCheck::ListIsPublic),
        Ok(_) => Ok(KeyCheck::Accepted),
        Err(failure) if failure.reason.code() == FailureCode::Auth => Err(failure),
        Err(failure) => Ok(KeyCheck::Failed { message: app.base.catalogue.failure(&failure).message }),
    }
}
