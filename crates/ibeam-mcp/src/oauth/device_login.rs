//! The device grant (RFC 8628): the person consents in a browser on any machine.

use std::time::Duration;

use reqwest::Url;
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

impl DeviceCode {
    /// Returns the page that the person opens.
    ///
    /// # Errors
    /// It is not encrypted, or leads into a private network: it may open a file or a program of this machine.
    fn page(&self, server_url: &Url) -> Result<Url, AuthError> {
        let complete = self.verification_uri_complete.as_deref();
        check_url(complete.unwrap_or(&self.verification_uri), server_url)
    }
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
        let page = code.page(&self.authorization.server_url)?;
        user.show_code(page.as_str(), &code.user_code);
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
        let http = self.authorization.clients.for_url(&url).map_err(unreachable)?;
        let response = http
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_sent_to_encrypted_pages_only() {
        let server = Url::parse("https://mcp.example.com/x").unwrap();
        let page = |plain: &str, complete: Option<&str>| {
            let code = DeviceCode {
                device_code: "d".into(),
                user_code: "u".into(),
                verification_uri: plain.into(),
                verification_uri_complete: complete.map(str::to_owned),
                expires_in: None,
                interval: None,
            };
            code.page(&server).ok().map(|page| page.to_string())
        };
        assert_eq!(page("https://as.example/d", None).as_deref(), Some("https://as.example/d"));
        let complete = page("https://as.example/d", Some("https://as.example/d?c=u"));
        assert_eq!(complete.as_deref(), Some("https://as.example/d?c=u"));
        for wrong in [
            "http://as.example/d",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "vscode://x",
            "https://10.0.0.1/d",
            "",
        ] {
            assert_eq!(page(wrong, None), None, "{wrong}");
            assert_eq!(page("https://as.example/d", Some(wrong)), None, "{wrong}");
        }
    }
}
