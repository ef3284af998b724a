//! The identity of this client at an authorization server: registered by hand, described by a document, or registered
//! dynamically (RFC 7591). And the login in a browser, which needs one.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::json;

use super::browser_login::Callback;
use super::discovery::{REQUEST_TIMEOUT, check_url};
use super::login_record::RegisteredClient;
use super::token_endpoint::{ClientAuthMethod, ClientIdentity, IssuedToken};
use super::{AuthError, Grant, Login, State};
use crate::http_client::{innermost, read_body};

/// Maximum size of the answer of a registration.
const MAX_ANSWER_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct Registration {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl Login<'_> {
    /// Gets a token with the consent of a person in a browser.
    pub(super) async fn with_browser(
        &self,
        state: &mut State,
    ) -> Result<(ClientIdentity, IssuedToken), AuthError> {
        let config = &self.authorization.config;
        let user = config.user.as_ref().ok_or_else(|| AuthError::LoginRequired(config.server.clone()))?;
        let server = &self.discovered.server;
        let known = state.record.as_ref().and_then(|record| record.clients.get(&server.issuer)).cloned();
        let known = known.filter(|_| config.settings.client_id.is_none());
        // A registration names the port. If another program uses it now, a new registration is needed.
        let mut callback = None;
        if let Some(known) = &known {
            callback = Callback::listen(Some(known.port)).await.ok();
        }
        let known = known.filter(|_| callback.is_some());
        let callback = match callback {
            Some(callback) => callback,
            None => Callback::listen(config.settings.redirect_port).await?,
        };
        let client = match (self.configured_client(), known) {
            (Some(client), _) => client,
            (None, Some(known)) => known.identity,
            (None, None) => {
                let identity = self.register(Some(&callback.redirect_uri())).await?;
                let registered = RegisteredClient { identity: identity.clone(), port: callback.port };
                let record = state.record.get_or_insert_default();
                record.clients.insert(server.issuer.clone(), registered);
                identity
            }
        };
        let open = |url: &str| user.open(url);
        let code =
            callback.request_code(server, &client.id, &self.discovered.resource, self.scopes, &open).await?;
        let redirect_uri = callback.redirect_uri();
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code.code.as_str()),
            ("redirect_uri", redirect_uri.as_str()),
            ("code_verifier", code.verifier.as_str()),
            ("resource", self.discovered.resource.as_str()),
        ];
        // The scopes belong to the request for the code.
        let endpoint = self.authorization.token_endpoint(self.discovered, &client, self.dpop)?;
        let issued = endpoint.request(&grant).await?;
        Ok((client, issued))
    }

    /// Returns the client of the settings: registered by hand, or described by a document if the server accepts one.
    pub(super) fn configured_client(&self) -> Option<ClientIdentity> {
        let settings = &self.authorization.config.settings;
        let server = &self.discovered.server;
        if let Some(id) = &settings.client_id {
            let supported = server.token_endpoint_auth_methods_supported.as_deref();
            let method = if settings.private_key.is_some() {
                ClientAuthMethod::PrivateKeyJwt
            } else if settings.client_secret.is_some() {
                ClientAuthMethod::for_secret(supported)
            } else {
                ClientAuthMethod::None
            };
            let secret = settings.client_secret.as_ref().map(|secret| secret.expose().to_owned());
            return Some(ClientIdentity { id: id.clone(), secret, method });
        }
        let url = settings.client_metadata_url.as_ref();
        url.filter(|_| server.client_id_metadata_document_supported).map(|url| ClientIdentity {
            id: url.clone(),
            secret: None,
            method: ClientAuthMethod::None,
        })
    }

    pub(super) async fn register(&self, redirect_uri: Option<&str>) -> Result<ClientIdentity, AuthError> {
        let (authorization, server) = (self.authorization, &self.discovered.server);
        let endpoint = server.registration_endpoint.as_deref().ok_or_else(|| {
            AuthError::Configuration(format!(
                "`{}` registers no clients by itself: register one there, and set `auth.client_id`",
                server.issuer
            ))
        })?;
        let url = check_url(endpoint, &authorization.server_url)?;
        let supported = server.token_endpoint_auth_methods_supported.as_deref();
        let wanted = match supported {
            Some(names) if names.iter().any(|name| name == "none") => "none",
            Some(names) if names.iter().any(|name| name == "client_secret_basic") => "client_secret_basic",
            Some(names) if names.iter().any(|name| name == "client_secret_post") => "client_secret_post",
            Some(_) | None => "client_secret_basic",
        };
        let grant = match authorization.config.settings.grant {
            Grant::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
            Grant::AuthorizationCode | Grant::ClientCredentials | Grant::JwtBearer | Grant::IdJag => {
                "authorization_code"
            }
        };
        let mut body = json!({
            "client_name": "ibeam",
            "application_type": "native",
            "grant_types": [grant, "refresh_token"],
            "token_endpoint_auth_method": wanted,
        });
        if let (Some(body), Some(redirect_uri)) = (body.as_object_mut(), redirect_uri) {
            body.insert("redirect_uris".to_owned(), json!([redirect_uri]));
            body.insert("response_types".to_owned(), json!(["code"]));
        }
        let unreachable = |detail: String| AuthError::Unreachable(format!("`{url}`: {detail}"));
        let http = authorization.clients.for_url(&url).map_err(unreachable)?;
        let response = http
            .post(url.clone())
            .timeout(REQUEST_TIMEOUT)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body.to_string())
            .send()
            .await
            .map_err(|error| unreachable(innermost(&error)))?;
        let status = response.status();
        let answer =
            read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| unreachable(error.to_string()))?;
        if !status.is_success() {
            let text = ibeam_http::sanitize_message(&String::from_utf8_lossy(&answer));
            let message =
                format!("it refuses to register this client with HTTP status {}: {text}", status.as_u16());
            return Err(AuthError::Unreachable(message));
        }
        let Registration { client_id, client_secret, token_endpoint_auth_method } =
            serde_json::from_slice(&answer).map_err(|error| unreachable(error.to_string()))?;
        let method = token_endpoint_auth_method.as_deref().and_then(ClientAuthMethod::parse);
        let method = match (&client_secret, method) {
            (None, _) => ClientAuthMethod::None,
            (Some(_), Some(method)) => method,
            (Some(_), None) => ClientAuthMethod::for_secret(supported),
        };
        Ok(ClientIdentity { id: client_id, secret: client_secret, method })
    }
}
