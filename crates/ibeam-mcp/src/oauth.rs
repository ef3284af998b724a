//! OAuth 2.1 for servers over HTTP, for people and for machines.
//!
//! A run uses stored tokens, refreshes them, and gets new ones where no person is needed. Where one is needed, the request
//! fails with the way out (`ibeam mcp login`), and the demand of the server is stored for that login.
//! Source: modelcontextprotocol.io, revision 2026-07-28, "Authorization", and its extensions.

mod browser_login;
mod challenge;
mod device_login;
mod discovery;
mod jwt;
mod login_record;
mod machine_grants;
mod registration;
mod token_endpoint;

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ibeam_http::Secret;
use reqwest::Url;
use tokio::sync::{Mutex, MutexGuard};

pub(crate) use challenge::Challenge;
use discovery::{Discovered, check_url, discover};
use jwt::{DpopKey, unix_time};
pub use login_record::LoginStore;
use login_record::{LoginRecord, StoredToken};
pub(crate) use token_endpoint::dpop_nonce;
use token_endpoint::{ClientIdentity, IssuedToken, TokenEndpoint};

use crate::routed_clients::RoutedClients;

/// The settings of the authorization of one server.
#[derive(Clone, Debug, Default)]
pub struct OAuthSettings {
    /// The way in which tokens are obtained.
    pub grant: Grant,
    /// The identifier of the authorization server that knows the client; `None` for the one that the server names.
    pub issuer: Option<String>,
    /// The identifier of a registered client.
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// The private key of that client as PEM, which signs its assertions.
    pub private_key: Option<Secret>,
    /// The URL of a document that describes this client, for authorization servers that accept one as an identifier.
    pub client_metadata_url: Option<String>,
    /// The scopes of the first request; empty for those that the server names.
    pub scopes: Vec<String>,
    /// The port of this machine to which the browser is redirected; `None` for any.
    pub redirect_port: Option<u16>,
    /// The token of a workload or of a person that is exchanged for one of the server.
    pub assertion: Option<Secret>,
    /// The token endpoint of the identity provider that issued `assertion`.
    pub idp_token_endpoint: Option<String>,
    /// The identifier of the client there.
    pub idp_client_id: Option<String>,
}

/// The way in which tokens are obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// A person consents in a browser on this machine.
    #[default]
    AuthorizationCode,
    /// A person consents in a browser anywhere.
    DeviceCode,
    /// The client itself is authorized, with a secret or a signed token.
    ClientCredentials,
    /// The token of a workload is exchanged.
    JwtBearer,
    /// The ID token of a person is exchanged at the identity provider, and the result at the authorization server.
    IdJag,
}

/// Shows a person where to consent.
pub trait UserAgent: fmt::Debug + Send + Sync {
    /// Shows a URL, and opens it in a browser if there is one.
    fn open(&self, url: &str);

    /// Shows a URL and the code that the person enters there.
    fn show_code(&self, url: &str, code: &str);
}

/// The authorization of a server: its settings, its storage, and the person who can log in.
#[derive(Clone, Debug)]
pub struct OAuthConfig {
    /// The configured name of the server, for messages.
    pub server: String,
    pub settings: OAuthSettings,
    /// The storage of the login.
    pub store: Arc<dyn LoginStore>,
    /// The person who logs in; `None` in a run.
    pub user: Option<Arc<dyn UserAgent>>,
}

/// The reason why there is no token.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum AuthError {
    /// A person must log in.
    #[error("it requires a login: run `ibeam mcp login {0}`")]
    LoginRequired(String),
    /// A setting is missing or wrong.
    #[error("{0}")]
    Configuration(String),
    /// The metadata or an answer cannot be trusted or used.
    #[error("{0}")]
    Metadata(String),
    /// A server cannot be reached.
    #[error("the authorization server cannot be used: {0}")]
    Unreachable(String),
    #[error("the authorization server refuses with `{error}` {description}")]
    Refused {
        /// The code of the error.
        error: String,
        description: String,
    },
    /// The server demands scopes that were already requested.
    #[error("it demands the scopes `{0}`, which its authorization server did not grant")]
    ScopesNotGranted(String),
}

/// The authorization of requests to one server.
pub(crate) struct Authorization {
    config: OAuthConfig,
    server_url: Url,
    clients: RoutedClients,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` until the first request.
    record: Option<LoginRecord>,
    /// The nonce for proofs to the server.
    nonce: Option<String>,
    /// The scopes that this process has requested.
    requested: Vec<String>,
    /// The token that was refreshed without success.
    not_refreshed: Option<String>,
    /// The token that was refreshed before it expired, with or without success.
    refreshed_early: Option<String>,
    /// The error of a grant for machines, which is not repeated.
    failure: Option<AuthError>,
}

/// The headers with which a request is authorized, and the token in them.
#[derive(Default)]
pub(crate) struct AuthorizedHeaders {
    pub(crate) headers: Vec<(&'static str, Secret)>,
    pub(crate) token: Option<String>,
}

impl Authorization {
    pub(crate) fn new(config: OAuthConfig, server_url: Url, clients: RoutedClients) -> Self {
        Self { config, server_url, clients, state: Mutex::default() }
    }

    /// Whether a person is there to log in.
    pub(crate) fn has_user(&self) -> bool {
        self.config.user.is_some()
    }

    /// Returns the headers for a request, none without a token.
    pub(crate) async fn headers(&self, method: &str) -> Result<AuthorizedHeaders, AuthError> {
        let mut state = self.loaded().await?;
        self.refresh_early(&mut state).await;
        let State { record: Some(record), nonce, .. } = &mut *state else { return Ok(Default::default()) };
        let Some(StoredToken { access, is_dpop, .. }) = &record.token else { return Ok(Default::default()) };
        let scheme = if *is_dpop { "DPoP" } else { "Bearer" };
        let mut headers = vec![("authorization", Secret::new(&format!("{scheme} {access}")))];
        if *is_dpop && let Some(key) = dpop_key(record)? {
            let proof = key.proof(method, &self.server_url, Some(access), nonce.as_deref())?;
            headers.push(("dpop", Secret::new(&proof)));
        }
        Ok(AuthorizedHeaders { headers, token: Some(access.clone()) })
    }

    /// Answers a refusal with status 401 or 403 of a request that carried `token`. Returns whether to repeat the request.
    pub(crate) async fn answer(
        &self,
        status: u16,
        challenge: Challenge,
        token: Option<&str>,
        nonce: Option<String>,
    ) -> Result<bool, AuthError> {
        let mut state = self.loaded().await?;
        if challenge.error.as_deref() == Some("use_dpop_nonce") {
            let is_new = nonce.is_some() && nonce != state.nonce;
            state.nonce = nonce;
            return Ok(is_new);
        }
        let lacks_scope = challenge.error.as_deref() == Some("insufficient_scope");
        if status == 403 && !lacks_scope {
            return Ok(false);
        }
        let current = state.token().cloned();
        if current.as_ref().map(|current| current.access.as_str()) != token {
            // Another request has got a new token.
            return Ok(true);
        }
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        if let (401, Some(current)) = (status, &current)
            && self.refresh(&mut state, current, &challenge).await
        {
            return Ok(true);
        }
        self.authorize(&mut state, challenge, lacks_scope).await?;
        Ok(true)
    }

    /// Satisfies the demand that a run has stored, if there is one.
    pub(crate) async fn satisfy_pending(&self) -> Result<(), AuthError> {
        let mut state = self.loaded().await?;
        let pending = state.record.as_mut().and_then(|record| record.pending.take());
        match pending {
            Some(challenge) => {
                let lacks_scope = challenge.error.as_deref() == Some("insufficient_scope");
                self.authorize(&mut state, challenge, lacks_scope).await
            }
            None => Ok(()),
        }
    }

    /// Gets a token that satisfies the challenge.
    async fn authorize(
        &self,
        state: &mut State,
        challenge: Challenge,
        lacks_scope: bool,
    ) -> Result<(), AuthError> {
        let is_person = matches!(self.config.settings.grant, Grant::AuthorizationCode | Grant::DeviceCode);
        if is_person && self.config.user.is_none() {
            if let Some(record) = &mut state.record {
                record.pending = Some(challenge);
                record.save(&self.config.store).map_err(AuthError::Configuration)?;
            }
            return Err(AuthError::LoginRequired(self.config.server.clone()));
        }
        let result = self.request_token(state, &challenge, lacks_scope).await;
        if let (Err(error), false) = (&result, is_person) {
            state.failure = Some(error.clone());
        }
        result
    }

    async fn request_token(
        &self,
        state: &mut State,
        challenge: &Challenge,
        lacks_scope: bool,
    ) -> Result<(), AuthError> {
        let discovered = self.discover(challenge).await?;
        let scopes = self.scopes(state, challenge, &discovered, lacks_scope)?;
        let key = match discovered.requires_dpop {
            true => Some(self.new_or_stored_key(state)?),
            false => None,
        };
        let login =
            Login { authorization: self, discovered: &discovered, scopes: &scopes, dpop: key.as_ref() };
        let (client, issued) = match self.config.settings.grant {
            Grant::AuthorizationCode => login.with_browser(state).await?,
            Grant::DeviceCode => login.with_device(state).await?,
            Grant::ClientCredentials => login.with_client_credentials().await?,
            Grant::JwtBearer => login.with_assertion().await?,
            Grant::IdJag => login.with_id_token().await?,
        };
        state.requested = scopes.clone();
        self.store_token(state, issued, client, &discovered, scopes)
    }

    /// Returns the scopes to request: those of the challenge, else of the settings, else all that the server names. After
    /// a lack of scopes, those of the current token are added, so that it loses nothing.
    fn scopes(
        &self,
        state: &State,
        challenge: &Challenge,
        discovered: &Discovered,
        lacks_scope: bool,
    ) -> Result<Vec<String>, AuthError> {
        let settings = &self.config.settings;
        if lacks_scope && challenge.scopes.iter().all(|scope| state.requested.contains(scope)) {
            return Err(AuthError::ScopesNotGranted(challenge.scopes.join(" ")));
        }
        let mut scopes = if !challenge.scopes.is_empty() {
            challenge.scopes.clone()
        } else if !settings.scopes.is_empty() {
            settings.scopes.clone()
        } else {
            discovered.scopes_supported.clone()
        };
        if lacks_scope {
            scopes.extend(state.token().map(|token| token.scopes.clone()).unwrap_or_default());
        }
        let is_person = matches!(settings.grant, Grant::AuthorizationCode | Grant::DeviceCode);
        let offline = "offline_access".to_owned();
        if is_person && discovered.server.scopes_supported.contains(&offline) {
            scopes.push(offline);
        }
        let mut seen = std::collections::BTreeSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        Ok(scopes)
    }

    /// Refreshes a token that expires soon, so that no request is refused and repeated. Without success, the token is
    /// used until the server refuses it.
    async fn refresh_early(&self, state: &mut State) {
        let is_due = |token: &&StoredToken| token.refresh_at.is_some_and(|time| time <= unix_time());
        let Some(token) = state.token().filter(is_due).cloned() else { return };
        if state.refreshed_early.as_ref() == Some(&token.access) {
            return;
        }
        state.refreshed_early = Some(token.access.clone());
        if !self.refresh(state, &token, &Challenge::default()).await {
            state.not_refreshed = None;
        }
    }

    async fn discover(&self, challenge: &Challenge) -> Result<Discovered, AuthError> {
        discover(&self.clients, &self.server_url, challenge, self.config.settings.issuer.as_deref()).await
    }

    /// Replaces the token by a refreshed one. Returns whether that succeeded.
    async fn refresh(&self, state: &mut State, token: &StoredToken, challenge: &Challenge) -> bool {
        let Some(refresh) = &token.refresh else { return false };
        if state.not_refreshed.as_ref() == Some(&token.access) {
            return false;
        }
        state.not_refreshed = Some(token.access.clone());
        let Ok(discovered) = self.discover(challenge).await else { return false };
        // A token of one authorization server must not reach another.
        if discovered.server.issuer != token.issuer {
            return false;
        }
        let Ok(key) = state.record.as_ref().map_or(Ok(None), dpop_key) else { return false };
        let key = key.filter(|_| token.is_dpop);
        let Ok(endpoint) = self.token_endpoint(&discovered, &token.client, key.as_ref()) else {
            return false;
        };
        let grant = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            ("resource", discovered.resource.as_str()),
        ];
        let Ok(mut issued) = endpoint.request(&grant).await else { return false };
        issued.refresh_token.get_or_insert_with(|| refresh.clone());
        self.store_token(state, issued, token.client.clone(), &discovered, token.scopes.clone()).is_ok()
    }

    fn store_token(
        &self,
        state: &mut State,
        issued: IssuedToken,
        client: ClientIdentity,
        discovered: &Discovered,
        requested: Vec<String>,
    ) -> Result<(), AuthError> {
        let refresh_at = issued.refresh_at(unix_time());
        let is_dpop = issued.token_type.eq_ignore_ascii_case("dpop");
        if discovered.requires_dpop && !is_dpop {
            let message =
                "the authorization server issued a token that is not bound to a key, as the server demands";
            return Err(AuthError::Metadata(message.to_owned()));
        }
        let granted = issued.scope.as_deref().unwrap_or_default().split_whitespace().map(str::to_owned);
        let mut scopes = requested;
        scopes.extend(granted);
        let record = state.record.get_or_insert_default();
        record.pending = None;
        record.token = Some(StoredToken {
            access: issued.access_token,
            refresh: issued.refresh_token,
            issuer: discovered.server.issuer.clone(),
            client,
            is_dpop,
            scopes,
            refresh_at,
        });
        record.save(&self.config.store).map_err(AuthError::Configuration)
    }

    fn token_endpoint<'a>(
        &'a self,
        discovered: &'a Discovered,
        client: &'a ClientIdentity,
        dpop: Option<&'a DpopKey>,
    ) -> Result<TokenEndpoint<'a>, AuthError> {
        Ok(TokenEndpoint {
            clients: &self.clients,
            url: check_url(&discovered.server.token_endpoint, &self.server_url)?,
            issuer: &discovered.server.issuer,
            client,
            private_key: self.config.settings.private_key.as_ref(),
            dpop,
        })
    }

    fn new_or_stored_key(&self, state: &mut State) -> Result<DpopKey, AuthError> {
        let record = state.record.get_or_insert_default();
        if let Some(key) = dpop_key(record)? {
            return Ok(key);
        }
        let der = DpopKey::generate()?;
        record.dpop_key = Some(STANDARD.encode(&der));
        DpopKey::parse(&der)
    }

    async fn loaded(&self) -> Result<MutexGuard<'_, State>, AuthError> {
        let mut state = self.state.lock().await;
        if state.record.is_none() {
            state.record = Some(LoginRecord::load(&self.config.store).map_err(AuthError::Configuration)?);
        }
        Ok(state)
    }
}

impl State {
    fn token(&self) -> Option<&StoredToken> {
        self.record.as_ref()?.token.as_ref()
    }
}

/// Returns the stored key to which tokens are bound.
fn dpop_key(record: &LoginRecord) -> Result<Option<DpopKey>, AuthError> {
    let der = record.dpop_key.as_ref().and_then(|key| STANDARD.decode(key).ok());
    der.map(|der| DpopKey::parse(&der)).transpose()
}

/// One request for a token, after the authorization server was found.
struct Login<'a> {
    authorization: &'a Authorization,
    discovered: &'a Discovered,
    scopes: &'a [String],
    dpop: Option<&'a DpopKey>,
}

impl Login<'_> {
    /// Requests a token with the fields of a grant, the resource and the scopes.
    async fn request(
        &self,
        client: &ClientIdentity,
        grant: &[(&str, &str)],
    ) -> Result<IssuedToken, AuthError> {
        let scope = self.scopes.join(" ");
        let mut fields = grant.to_vec();
        fields.push(("resource", &self.discovered.resource));
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        self.authorization.token_endpoint(self.discovered, client, self.dpop)?.request(&fields).await
    }
}
