//! The opening of a WebSocket connection: a request of the HTTP client that is upgraded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Method, StatusCode};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::timeout;

use super::socket::Socket;
use crate::transport::Transport;

/// The text that a server appends to the key of the client (RFC 6455, section 1.3).
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Opens a connection to `url`, whose scheme is `http` or `https`.
///
/// # Errors
/// The reason, for a person.
pub(super) async fn open(transport: &Transport, url: &str) -> Result<Socket, String> {
    let client = transport.build_upgrade_client()?;
    let mut nonce = [0; 16];
    SystemRandom::new().fill(&mut nonce).map_err(|_| "no random numbers".to_owned())?;
    let key = STANDARD.encode(nonce);
    let mut headers = transport.upgrade_headers(url)?;
    for (name, value) in [
        (CONNECTION, "Upgrade"),
        (UPGRADE, "websocket"),
        (SEC_WEBSOCKET_VERSION, "13"),
        (SEC_WEBSOCKET_KEY, &key),
    ] {
        headers.insert(name, HeaderValue::from_str(value).map_err(|error| error.to_string())?);
    }
    let request = client.request(Method::GET, url).headers(headers).send();
    // The connection and the response to the upgrade each have the timeout for connecting.
    let limit = transport.endpoint().timeouts.connect * 2;
    let response = match timeout(limit, request).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(transport.error_builder().describe_unreachable(&error)),
        Err(_) => return Err("the service did not answer the request for an upgrade in time".to_owned()),
    };
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => check_acceptance(response.headers(), &key)?,
        status => return Err(format!("HTTP status {}", status.as_u16())),
    }
    let upgraded = response.upgrade().await;
    Ok(Socket::new(upgraded.map_err(|_| "the connection could not be upgraded".to_owned())?).await)
}

/// Checks the headers of the response to an upgrade.
///
/// # Errors
/// The reason, for a person.
fn check_acceptance(headers: &HeaderMap, key: &str) -> Result<(), String> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let is_websocket = text(&UPGRADE).is_some_and(|value| value.eq_ignore_ascii_case("websocket"));
    if is_websocket
        && text(&SEC_WEBSOCKET_ACCEPT).map(str::trim) == Some(expected_acceptance(key).as_str())
        // None was offered.
        && !headers.contains_key(SEC_WEBSOCKET_EXTENSIONS)
    {
        Ok(())
    } else {
        Err("the response to the upgrade is not one of a WebSocket server".to_owned())
    }
}

/// Returns the value with which a server proves that it has read `key`.
fn expected_acceptance(key: &str) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{ACCEPT_SUFFIX}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_acceptance_of_the_specification_is_computed() {
        // RFC 6455, section 1.3.
        assert_eq!(expected_acceptance("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn only_the_response_of_a_websocket_server_is_accepted() {
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let headers = |pairs: &[(HeaderName, &'static str)]| -> HeaderMap {
            pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
        };
        let upgrade = (UPGRADE, "WebSocket");
        let accept = (SEC_WEBSOCKET_ACCEPT, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let extension = (SEC_WEBSOCKET_EXTENSIONS, "permessage-deflate");
        assert_eq!(check_acceptance(&headers(&[upgrade.clone(), accept.clone()]), key), Ok(()));
        for wrong in [vec![accept.clone()], vec![upgrade.clone()], vec![upgrade, accept, extension]] {
            assert!(check_acceptance(&headers(&wrong), key).is_err(), "{wrong:?}");
        }
    }
}
