//! The device grant (RFC 8628): the person consents in a browser on any machine.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;

use super::discovery::{REQUEST_TIMEOUT, check_url};
use super::token_endpoint::{ClientIdentity, IssuedToken, encode_form};
use super::{AuthError, Login, State};
use crate::http_client::{innermost, read_body};

const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Maximum size of the answer with the code.
const MAX_ANSWER_BYTES: usize = 64 << 10;
/// The time between two questions, if the server states none.
const DEFAULT_INTERVAL: u64 = 5;
/// The time that is added when the server asks for slower questions.
const SLOW_DOWN: u64 = 5;
/// The maximum time that a person has to consent, whatever the server states.
const MAX_SECONDS: u64 = 900;

#[derive(Deserialize)]
struct DeviceCode {
    device_code: String,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Option<u64>,
    interval: Option<u64>,
}

impl Login<'_> {
    /// Gets a token with the consent of a person on any machine.
    pub(super) async fn with_device(
        &self,
        state: &mut State,
    ) -> Result<(ClientIdentity, IssuedToken), AuthError> {
        let config = &self.authorization.config;
        let user = config.user.as_ref().ok_or_else(|| AuthError::LoginRequired(config.server.clone()))?;
        let issuer = &self.discovered.server.issuer;
        let client = match self.configured_client() {
            Some(client) => client,
            None => {
                let known = state.record.as_ref().and_then(|record| record.clients.get(issuer));
                match known {
                    Some(known) => known.identity.clone(),
                    None => self.register(None).await?,
                }
            }
        };
        let code = self.request_device_code(&client).await?;
        let page = code.verification_uri_complete.as_deref().unwrap_or(&code.verification_uri);
        user.show_code(page, &code.user_code);
        let limit = Duration::from_secs(code.expires_in.unwrap_or(MAX_SECONDS).min(MAX_SECONDS));
        let issued = tokio::time::timeout(limit, self.poll(&client, &code)).await.map_err(|_| {
            AuthError::Configuration(format!("nobody consented within {} s", limit.as_secs()))
        })??;
        Ok((client, issued))
    }

    async fn request_device_code(&self, client: &ClientIdentity) -> Result<DeviceCode, AuthError> {
        let server = &self.discovered.server;
        let endpoint = server.device_authorization_endpoint.as_deref().ok_or_else(|| {
            AuthError::Metadata(format!("`{}` does not offer the device grant", server.issuer))
        })?;
        let url = check_url(endpoint, &self.authorization.server_url)?;
        let scope = self.scopes.join(" ");
        let mut fields = vec![("client_id", client.id.as_str()), ("resource", &self.discovered.resource)];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let unreachable = |detail: String| AuthError::Unreachable(format!("`{url}`: {detail}"));
        let response = self
            .authorization
            .http
            .post(url.clone())
            .timeout(REQUEST_TIMEOUT)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(encode_form(fields))
            .send()
            .await
            .map_err(|error| unreachable(innermost(&error)))?;
        let status = response.status();
        let answer =
            read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| unreachable(error.to_string()))?;
        if !status.is_success() {
            return Err(unreachable(format!("it answered with HTTP status {}", status.as_u16())));
        }
        serde_json::from_slice(&answer).map_err(|error| unreachable(error.to_string()))
    }

    /// Asks for the token until the person has consented or refused.
    async fn poll(&self, client: &ClientIdentity, code: &DeviceCode) -> Result<IssuedToken, AuthError> {
        let mut interval = code.interval.unwrap_or(DEFAULT_INTERVAL);
        let endpoint = self.authorization.token_endpoint(self.discovered, client, self.dpop)?;
        let grant = [
            ("grant_type", DEVICE_CODE),
            ("device_code", code.device_code.as_str()),
            ("resource", self.discovered.resource.as_str()),
        ];
        loop {
            tokio::time::sleep(Duration::from_secs(interval)).await;
            match endpoint.request(&grant).await {
                Err(AuthError::Refused { error, .. }) if error == "authorization_pending" => {}
                Err(AuthError::Refused { error, .. }) if error == "slow_down" => interval += SLOW_DOWN,
                result => return result,
            }
        }
    }
}
