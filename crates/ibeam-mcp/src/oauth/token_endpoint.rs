//! Requests for tokens: every grant, with the authentication of the client that the authorization server accepts.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ibeam_http::{Secret, sanitize_message};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Response, Url};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AuthError;
use super::discovery::REQUEST_TIMEOUT;
use super::jwt::{DpopKey, SigningKey};
use crate::http_client::{innermost, read_body};
use crate::routed_clients::RoutedClients;

/// Maximum size of the answer of a token endpoint.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Maximum number of times that a nonce is accepted for one request.
const MAX_NONCES: usize = 2;
/// The time before its end at which a token is refreshed, at most.
const REFRESH_LEAD_SECONDS: u64 = 60;
const JWT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The authentication of a client at a token endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientAuthMethod {
    /// No authentication: a public client.
    #[default]
    None,
    /// A secret in the `Authorization` header.
    ClientSecretBasic,
    /// A secret in the body.
    ClientSecretPost,
    /// A signed token.
    PrivateKeyJwt,
}

impl ClientAuthMethod {
    /// Returns the method of a client with a secret, among those that the server supports. A server that lists none
    /// supports the header.
    pub(super) fn for_secret(supported: Option<&[String]>) -> Self {
        let supports = |name: &str| supported.is_some_and(|names| names.iter().any(|other| other == name));
        if supported.is_none() || supports("client_secret_basic") {
            Self::ClientSecretBasic
        } else if supports("client_secret_post") {
            Self::ClientSecretPost
        } else if supports("none") {
            Self::None
        } else {
            Self::ClientSecretBasic
        }
    }

    /// Returns the method with the name that a registration uses.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "client_secret_basic" => Some(Self::ClientSecretBasic),
            "client_secret_post" => Some(Self::ClientSecretPost),
            "private_key_jwt" => Some(Self::PrivateKeyJwt),
            _ => None,
        }
    }
}

/// A client that an authorization server knows.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientIdentity {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) method: ClientAuthMethod,
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The tokens that an authorization server has issued.
#[derive(Deserialize)]
pub(super) struct IssuedToken {
    pub(super) access_token: String,
    #[serde(default)]
    pub(super) token_type: String,
    pub(super) refresh_token: Option<String>,
    pub(super) scope: Option<String>,
    /// The lifetime in seconds. Some servers write it as text.
    #[serde(default)]
    pub(super) expires_in: Value,
}

impl IssuedToken {
    /// Returns the time from which the token should be refreshed, in seconds since 1970: a minute before it expires, or a
    /// tenth of a short lifetime.
    pub(super) fn refresh_at(&self, now: u64) -> Option<u64> {
        let lifetime = self.expires_in.as_u64().or_else(|| self.expires_in.as_str()?.parse().ok())?;
        Some(now.saturating_add(lifetime - (lifetime / 10).min(REFRESH_LEAD_SECONDS)))
    }
}

/// The error of an authorization server (RFC 6749, 5.2).
#[derive(Deserialize)]
struct TokenError {
    error: String,
    error_description: Option<String>,
}

pub(super) struct TokenEndpoint<'a> {
    pub(super) clients: &'a RoutedClients,
    pub(super) url: Url,
    /// The identifier of the authorization server, for which a client signs its assertion.
    pub(super) issuer: &'a str,
    pub(super) client: &'a ClientIdentity,
    pub(super) private_key: Option<&'a Secret>,
    pub(super) dpop: Option<&'a DpopKey>,
}

impl TokenEndpoint<'_> {
    /// Requests a token with the parameters of a grant.
    ///
    /// # Errors
    /// `Refused` with the error of the server.
    pub(super) async fn request(&self, grant: &[(&str, &str)]) -> Result<IssuedToken, AuthError> {
        let mut nonce: Option<String> = None;
        for _ in 0..=MAX_NONCES {
            let response = self.send(grant, nonce.as_deref()).await?;
            let (status, new_nonce) = (response.status(), dpop_nonce(response.headers()));
            let body = read_body(response, MAX_ANSWER_BYTES)
                .await
                .map_err(|error| AuthError::Unreachable(error.to_string()))?;
            if status.is_success() {
                return serde_json::from_slice(&body).map_err(|error| {
                    AuthError::Metadata(format!("the answer of `{}` is not valid: {error}", self.url))
                });
            }
            let Ok(TokenError { error, error_description }) = serde_json::from_slice(&body) else {
                let message = format!("`{}` answered with HTTP status {}", self.url, status.as_u16());
                return Err(AuthError::Unreachable(message));
            };
            if error == "use_dpop_nonce" && new_nonce.is_some() && new_nonce != nonce {
                nonce = new_nonce;
                continue;
            }
            let description = error_description.unwrap_or_default();
            return Err(AuthError::Refused {
                error: sanitize_message(&error),
                description: sanitize_message(&description),
            });
        }
        Err(AuthError::Unreachable(format!("`{}` asks for one nonce after another", self.url)))
    }

    async fn send(&self, grant: &[(&str, &str)], nonce: Option<&str>) -> Result<Response, AuthError> {
        let mut fields: Vec<(&str, String)> =
            grant.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let client = self.clients.for_url(&self.url).map_err(AuthError::Unreachable)?;
        let mut request = client.post(self.url.clone()).timeout(REQUEST_TIMEOUT);
        let ClientIdentity { id, secret, method } = self.client;
        match (method, secret) {
            (ClientAuthMethod::ClientSecretBasic, Some(secret)) => {
                let credentials = format!("{}:{}", encode_form_value(id), encode_form_value(secret));
                request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(credentials)));
            }
            (ClientAuthMethod::ClientSecretPost, Some(secret)) => {
                fields.push(("client_id", id.clone()));
                fields.push(("client_secret", secret.clone()));
            }
            (ClientAuthMethod::PrivateKeyJwt, _) => {
                fields.push(("client_id", id.clone()));
                fields.push(("client_assertion_type", JWT_ASSERTION.to_owned()));
                fields.push(("client_assertion", self.assertion(id)?));
            }
            (
                ClientAuthMethod::None
                | ClientAuthMethod::ClientSecretBasic
                | ClientAuthMethod::ClientSecretPost,
                _,
            ) => fields.push(("client_id", id.clone())),
        }
        if let Some(key) = self.dpop {
            request = request.header("DPoP", key.proof("POST", &self.url, None, nonce)?);
        }
        request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(encode_form(fields.iter().map(|(name, value)| (*name, value.as_str()))))
            .send()
            .await
            .map_err(|error| AuthError::Unreachable(format!("`{}`: {}", self.url, innermost(&error))))
    }

    fn assertion(&self, client_id: &str) -> Result<String, AuthError> {
        let pem = self.private_key.ok_or_else(|| {
            AuthError::Configuration(
                "the authorization server demands a signed token; set `private_key_file`".to_owned(),
            )
        })?;
        let der = ibeam_http::tls::private_key_der(pem.expose().as_bytes())
            .map_err(|error| AuthError::Configuration(format!("the private key: {error}")))?;
        SigningKey::from_pkcs8(&der)?.client_assertion(client_id, self.issuer)
    }
}

/// Returns the nonce that a server asks for in proofs.
pub(crate) fn dpop_nonce(headers: &HeaderMap) -> Option<String> {
    headers.get("dpop-nonce").and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Returns the fields as `application/x-www-form-urlencoded`.
pub(super) fn encode_form<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    // The URL only provides the encoder of the HTTP library.
    let Ok(mut url) = Url::parse("http://localhost/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

fn encode_form_value(value: &str) -> String {
    encode_form([("", value)]).trim_start_matches('=').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_of_a_secret_is_one_that_the_server_supports() {
        use ClientAuthMethod as M;
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(M::for_secret(None), M::ClientSecretBasic);
        assert_eq!(M::for_secret(Some(&names(&["client_secret_post", "none"]))), M::ClientSecretPost);
        assert_eq!(M::for_secret(Some(&names(&["none"]))), M::None);
        assert_eq!(M::for_secret(Some(&names(&["private_key_jwt"]))), M::ClientSecretBasic);
    }

    #[test]
    fn a_token_is_refreshed_before_it_expires() {
        let refresh_at = |expires_in: &str| {
            let answer = format!(r#"{{"access_token":"a"{expires_in}}}"#);
            serde_json::from_str::<IssuedToken>(&answer).unwrap().refresh_at(1000)
        };
        assert_eq!(refresh_at(""), None);
        assert_eq!(refresh_at(r#","expires_in":3600"#), Some(4540));
        assert_eq!(refresh_at(r#","expires_in":"100""#), Some(1090));
        assert_eq!(refresh_at(r#","expires_in":0"#), Some(1000));
        assert_eq!(refresh_at(r#","expires_in":-1"#), None);
    }

    #[test]
    fn forms_and_credentials_are_encoded() {
        assert_eq!(encode_form([("a b", "c&d"), ("e", "ü=")]), "a+b=c%26d&e=%C3%BC%3D");
        assert_eq!(encode_form_value("a:b c"), "a%3Ab+c");
    }
}
