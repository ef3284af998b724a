//! The authorization code grant: the user consents in a browser, which is redirected to a port of this machine.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::AuthError;
use super::discovery::AuthorizationServer;
use super::jwt::{hash, random_text};

/// The time that a person has to consent.
const CONSENT_TIMEOUT: Duration = Duration::from_secs(300);
/// The limit of one request of the browser.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a request of the browser.
const MAX_REQUEST_BYTES: usize = 16 << 10;
const CALLBACK_PATH: &str = "/callback";

/// The port of this machine to which the browser is redirected.
pub(super) struct Callback {
    listener: TcpListener,
    pub(super) port: u16,
}

/// An authorization code, with what its exchange needs.
pub(super) struct AuthorizationCode {
    pub(super) code: String,
    pub(super) verifier: String,
}

impl Callback {
    /// Listens on the loopback address, on `port` or on any.
    pub(super) async fn listen(port: Option<u16>) -> Result<Self, AuthError> {
        let failed = |error: std::io::Error| {
            AuthError::Configuration(format!("cannot listen for the browser: {error}"))
        };
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    /// Returns the URL to which the browser is redirected.
    pub(super) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{CALLBACK_PATH}", self.port)
    }

    /// Opens the page of the authorization server, and waits for the redirection with the code.
    ///
    /// # Errors
    /// The server has no such page or does not support PKCE; the user refuses; the answer is that of another server.
    pub(super) async fn request_code(
        &self,
        server: &AuthorizationServer,
        client_id: &str,
        resource: &str,
        scopes: &[String],
        open: &(dyn Fn(&str) + Sync),
    ) -> Result<AuthorizationCode, AuthError> {
        let endpoint = server.authorization_endpoint.as_deref().ok_or_else(|| {
            AuthError::Metadata("the authorization server has no page to log in".to_owned())
        })?;
        if !server.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            let message = "the authorization server does not support PKCE with S256, without which a code can be stolen";
            return Err(AuthError::Metadata(message.to_owned()));
        }
        let (verifier, state, redirect_uri) = (random_text()?, random_text()?, self.redirect_uri());
        let mut url = Url::parse(endpoint)
            .map_err(|error| AuthError::Metadata(format!("`{endpoint}` is not a URL: {error}")))?;
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", &redirect_uri),
            ("state", &state),
            ("code_challenge", &hash(&verifier)),
            ("code_challenge_method", "S256"),
            ("resource", resource),
        ]);
        if !scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        open(url.as_str());
        let answer = tokio::time::timeout(CONSENT_TIMEOUT, self.receive(&state)).await.map_err(|_| {
            AuthError::Configuration(format!("nobody consented within {} s", CONSENT_TIMEOUT.as_secs()))
        })??;
        let code = check_answer(&answer, server)?;
        Ok(AuthorizationCode { code, verifier })
    }

    /// Waits for the redirection with this `state`. Other requests, such as that of an icon, get an error.
    async fn receive(&self, state: &str) -> Result<Url, AuthError> {
        loop {
            let (mut stream, _) = self.listener.accept().await.map_err(|error| {
                AuthError::Configuration(format!("cannot listen for the browser: {error}"))
            })?;
            let read = tokio::time::timeout(REQUEST_TIMEOUT, read_target(&mut stream)).await;
            let url = read.ok().flatten().filter(|url| {
                url.path() == CALLBACK_PATH && parameter(url, "state").as_deref() == Some(state)
            });
            let (status, text) = match url {
                Some(_) => ("200 OK", "ibeam has received the answer. You can close this page."),
                None => ("404 Not Found", "This is not the page that ibeam waits for."),
            };
            let head = "Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
            let answer = format!("HTTP/1.1 {status}\r\n{head}Content-Length: {}\r\n\r\n{text}", text.len());
            // The browser may have gone.
            let _ = tokio::time::timeout(REQUEST_TIMEOUT, stream.write_all(answer.as_bytes())).await;
            if let Some(url) = url {
                return Ok(url);
            }
        }
    }
}

/// Returns the URL of a request.
async fn read_target(stream: &mut TcpStream) -> Option<Url> {
    let mut request = Vec::new();
    let mut chunk = [0; 1024];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        let length = stream.read(&mut chunk).await.ok()?;
        request.extend_from_slice(chunk.get(..length)?);
        if length == 0 || request.len() > MAX_REQUEST_BYTES {
            return None;
        }
    }
    let line = std::str::from_utf8(request.split(|byte| *byte == b'\r').next()?).ok()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    Url::parse("http://127.0.0.1").ok()?.join(target).ok()
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Returns the code of an answer that comes from `server` (RFC 9207). The issuer is compared as text: another spelling of
/// the same URL is another issuer.
fn check_answer(answer: &Url, server: &AuthorizationServer) -> Result<String, AuthError> {
    match parameter(answer, "iss") {
        Some(issuer) if issuer != server.issuer => {
            let message = format!("the answer comes from `{issuer}`, not from `{}`", server.issuer);
            return Err(AuthError::Metadata(message));
        }
        None if server.authorization_response_iss_parameter_supported => {
            let message = format!("the answer does not name its issuer, which `{}` promises", server.issuer);
            return Err(AuthError::Metadata(message));
        }
        Some(_) | None => {}
    }
    if let Some(error) = parameter(answer, "error") {
        let description = parameter(answer, "error_description").unwrap_or_default();
        return Err(AuthError::Refused {
            error: ibeam_http::sanitize_message(&error),
            description: ibeam_http::sanitize_message(&description),
        });
    }
    parameter(answer, "code").ok_or_else(|| AuthError::Metadata("the answer has no code".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, promises_issuer: bool, expect: Option<&str>) {
        let server: AuthorizationServer = serde_json::from_value(serde_json::json!({
            "issuer": "https://as.example",
            "token_endpoint": "https://as.example/token",
            "authorization_response_iss_parameter_supported": promises_issuer,
        }))
        .unwrap();
        let url = Url::parse(&format!("http://127.0.0.1/callback?{query}")).unwrap();
        assert_eq!(check_answer(&url, &server).ok().as_deref(), expect, "{query}");
    }

    #[test]
    fn a_code_is_accepted_only_from_its_issuer() {
        check("code=c&iss=https%3A%2F%2Fas.example", true, Some("c"));
        check("code=c", false, Some("c"));
        check("code=c", true, None);
        check("code=c&iss=https%3A%2F%2Fevil.example", false, None);
        check("code=c&iss=https%3A%2F%2Fas.example%2F", true, None);
        check("error=access_denied", false, None);
    }
}
