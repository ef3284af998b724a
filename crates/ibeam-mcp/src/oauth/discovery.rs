//! Metadata: of the server as a protected resource (RFC 9728), and of its authorization server (RFC 8414, OpenID Connect
//! Discovery).
//!
//! Every value comes from servers, so URLs are checked before they are used: they are encrypted, and do not lead into the
//! network of the user unless the server itself is there.

use std::net::IpAddr;
use std::time::Duration;

use ibeam_http::base_url::is_loopback;
use ibeam_json_rpc::MAX_QUOTED_CHARS;
use ibeam_protocol::elide_end;
use reqwest::header::ACCEPT;
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{AuthError, Challenge};
use crate::http_client::{innermost, read_body};
use crate::routed_clients::RoutedClients;

/// Maximum size of a metadata document.
const MAX_METADATA_BYTES: usize = 1 << 20;
/// The limit of one request.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The metadata of a server and of its authorization server.
#[derive(Clone, Debug)]
pub(super) struct Discovered {
    /// The identifier of the server, exactly as it publishes it.
    pub(super) resource: String,
    pub(super) scopes_supported: Vec<String>,
    pub(super) requires_dpop: bool,
    pub(super) server: AuthorizationServer,
}

#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    dpop_bound_access_tokens_required: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) device_authorization_endpoint: Option<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// Finds the authorization server of the server at `server_url`: the one with the identifier `expected`, if it is given.
///
/// # Errors
/// The metadata is missing, contradicts itself, `expected` or the URL of the server, or leads to a place that must not be
/// contacted.
pub(super) async fn discover(
    clients: &RoutedClients,
    server_url: &Url,
    challenge: &Challenge,
    expected: Option<&str>,
) -> Result<Discovered, AuthError> {
    let metadata = resource_metadata(clients, server_url, challenge).await?;
    let is_own_issuer = metadata.is_none();
    let (resource, issuer, scopes_supported, requires_dpop) = match metadata {
        Some(metadata) => {
            if !covers(&metadata.resource, server_url) {
                return Err(AuthError::Metadata(format!(
                    "it publishes metadata of another server, `{}`",
                    metadata.resource
                )));
            }
            let issuer = choose_issuer(metadata.authorization_servers, expected)?;
            let requires_dpop = metadata.dpop_bound_access_tokens_required || challenge.is_dpop;
            (metadata.resource, issuer, metadata.scopes_supported, requires_dpop)
        }
        // Before revision 2025-06-18, the server was its own authorization server.
        None => (
            server_url.as_str().to_owned(),
            choose_issuer(vec![server_url.origin().ascii_serialization()], expected)?,
            Vec::new(),
            challenge.is_dpop,
        ),
    };
    let server = match authorization_server(clients, server_url, &issuer, is_own_issuer).await? {
        Some(server) => server,
        None if is_own_issuer => AuthorizationServer::with_default_endpoints(&issuer),
        None => {
            let message = format!("the authorization server `{issuer}` publishes no metadata");
            return Err(AuthError::Metadata(message));
        }
    };
    Ok(Discovered { resource, scopes_supported, requires_dpop, server })
}

/// Returns the authorization server to use: the expected one, else the first. The credentials of a client that was
/// registered by hand must not reach another authorization server than its own.
fn choose_issuer(servers: Vec<String>, expected: Option<&str>) -> Result<String, AuthError> {
    let found = match expected {
        Some(expected) => servers.iter().find(|server| *server == expected),
        None => servers.first(),
    };
    match (found, expected) {
        (Some(issuer), _) => Ok(issuer.clone()),
        (None, None) => Err(AuthError::Metadata("its metadata names no authorization server".to_owned())),
        (None, Some(expected)) => Err(AuthError::Metadata(format!(
            "it names the authorization server `{}`, and `auth.issuer` is `{expected}`",
            elide_end(&servers.join("`, `"), MAX_QUOTED_CHARS)
        ))),
    }
}

/// Returns the metadata of the server from the URL of the challenge, else from the well-known places.
async fn resource_metadata(
    clients: &RoutedClients,
    server_url: &Url,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, AuthError> {
    if let Some(url) = &challenge.resource_metadata {
        let url = check_url(url, server_url)?;
        if url.origin() != server_url.origin() {
            let message = format!("its metadata is on another host: `{url}`");
            return Err(AuthError::Metadata(message));
        }
        let metadata = fetch(clients, &url).await?;
        return metadata
            .map(Some)
            .ok_or_else(|| AuthError::Metadata(format!("there is no metadata at `{url}`")));
    }
    let path = server_url.path().trim_end_matches('/');
    for path in [path, ""].iter().take(if path.is_empty() { 1 } else { 2 }) {
        let url = with_path(server_url, &format!("/.well-known/oauth-protected-resource{path}"));
        if let Some(metadata) = fetch(clients, &url).await? {
            return Ok(Some(metadata));
        }
    }
    Ok(None)
}

impl AuthorizationServer {
    /// Returns a server without metadata, as revision 2025-03-26 defines it for servers that are their own authorization
    /// servers: the endpoints have default paths, and PKCE is required.
    fn with_default_endpoints(issuer: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            authorization_endpoint: Some(format!("{issuer}/authorize")),
            token_endpoint: format!("{issuer}/token"),
            registration_endpoint: Some(format!("{issuer}/register")),
            device_authorization_endpoint: None,
            scopes_supported: Vec::new(),
            token_endpoint_auth_methods_supported: None,
            code_challenge_methods_supported: vec!["S256".to_owned()],
            client_id_metadata_document_supported: false,
            authorization_response_iss_parameter_supported: false,
        }
    }
}

/// Returns the metadata of the authorization server `issuer`; `None` if it publishes none. Servers of revision 2025-03-26,
/// which are their own issuers, may write a slash after their origin.
async fn authorization_server(
    clients: &RoutedClients,
    server_url: &Url,
    issuer: &str,
    is_own_issuer: bool,
) -> Result<Option<AuthorizationServer>, AuthError> {
    let base = check_url(issuer, server_url)?;
    let path = base.path().trim_end_matches('/').to_owned();
    let mut places = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{path}/.well-known/openid-configuration"));
    }
    for place in places {
        let Some(found) = fetch::<AuthorizationServer>(clients, &with_path(&base, &place)).await? else {
            continue;
        };
        let is_issuer = found.issuer == issuer
            || is_own_issuer && found.issuer.strip_suffix('/').is_some_and(|origin| origin == issuer);
        if !is_issuer {
            return Err(AuthError::Metadata(format!(
                "the metadata of the authorization server `{issuer}` is that of `{}`",
                found.issuer
            )));
        }
        let endpoints = [&found.registration_endpoint, &found.authorization_endpoint]
            .into_iter()
            .chain([&found.device_authorization_endpoint])
            .flatten()
            .chain([&found.token_endpoint]);
        for endpoint in endpoints {
            check_url(endpoint, server_url)?;
        }
        return Ok(Some(found));
    }
    Ok(None)
}

/// Whether the identifier of a protected resource is the URL of the server, or a place above it.
fn covers(resource: &str, server_url: &Url) -> bool {
    Url::parse(resource).is_ok_and(|resource| {
        let path = resource.path().trim_end_matches('/');
        let rest = server_url.path().strip_prefix(path);
        resource.origin() == server_url.origin()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Returns a URL that a server has named, unless it must not be used: it is not encrypted, or has an address of this
/// machine or of a private network and the server is not there. Names are not resolved.
pub(super) fn check_url(url: &str, server_url: &Url) -> Result<Url, AuthError> {
    let refuse = |reason: &str| Err(AuthError::Metadata(format!("`{url}` is not used: {reason}")));
    let parsed = match Url::parse(url) {
        Ok(parsed) => parsed,
        Err(error) => return refuse(&error.to_string()),
    };
    let network = parsed.host_str().map_or(Network::Local, Network::from_host);
    let server_network = server_url.host_str().map_or(Network::Public, Network::from_host);
    let is_reachable = network == Network::Public || network == server_network;
    match parsed.scheme() {
        "https" if !is_reachable => refuse("it is an address of a private network"),
        "https" => Ok(parsed),
        "http" if network == Network::Local && is_reachable => Ok(parsed),
        _ => refuse("it is not encrypted"),
    }
}

/// The network of a host, as far as its address says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    Public,
    /// This machine.
    Local,
    /// A block of addresses that are not public: its first bits, and their number.
    Private(u128, u32),
}

impl Network {
    /// The blocks of IPv4 addresses that are not public, each with the number of bits that they share.
    const PRIVATE: [([u8; 4], u32); 6] = [
        ([10, 0, 0, 0], 8),
        ([172, 16, 0, 0], 12),
        ([192, 168, 0, 0], 16),
        ([169, 254, 0, 0], 16),
        ([100, 64, 0, 0], 10),
        ([198, 18, 0, 0], 15),
    ];

    fn from_host(host: &str) -> Self {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(address) if address.is_loopback() || address.is_unspecified() => Self::Local,
            Ok(IpAddr::V4(address)) => {
                let block = Self::PRIVATE.iter().find_map(|(first, bits)| {
                    let block = u32::from_be_bytes(*first) >> (32 - bits);
                    (address.to_bits() >> (32 - bits) == block).then_some((block, *bits))
                });
                block.map_or(Self::Public, |(block, bits)| Self::Private(block.into(), bits))
            }
            // A site of unique local addresses has 48 bits of its own; link-local addresses have none.
            Ok(IpAddr::V6(address)) if address.is_unique_local() => {
                Self::Private(address.to_bits() >> 80, 48)
            }
            Ok(IpAddr::V6(address)) if address.is_unicast_link_local() => {
                Self::Private(address.to_bits() >> 118, 10)
            }
            Err(_) if is_loopback(host) => Self::Local,
            Ok(IpAddr::V6(_)) | Err(_) => Self::Public,
        }
    }
}

fn with_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Returns the JSON document at `url`; `None` if there is none.
async fn fetch<T: DeserializeOwned>(clients: &RoutedClients, url: &Url) -> Result<Option<T>, AuthError> {
    let client = clients.for_url(url).map_err(AuthError::Unreachable)?;
    let request = client.get(url.clone()).header(ACCEPT, "application/json").timeout(REQUEST_TIMEOUT);
    let response = request
        .send()
        .await
        .map_err(|error| AuthError::Metadata(format!("cannot read `{url}`: {}", innermost(&error))))?;
    if response.status() != StatusCode::OK {
        return Ok(None);
    }
    let body = read_body(response, MAX_METADATA_BYTES)
        .await
        .map_err(|error| AuthError::Metadata(format!("cannot read `{url}`: {error}")))?;
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|error| AuthError::Metadata(format!("the metadata at `{url}` is not valid: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_servers_do_not_lead_into_a_private_network() {
        let check = |url: &str, server: &str| check_url(url, &Url::parse(server).unwrap()).is_ok();
        let (public, local) = ("https://mcp.example.com/x", "http://localhost:8/mcp");
        for (url, server, expect) in [
            ("https://auth.example.com", public, true),
            ("http://auth.example.com", public, false),
            ("http://localhost:9", public, false),
            ("https://localhost:9", public, false),
            ("https://169.254.169.254/latest", public, false),
            ("https://10.0.0.1", public, false),
            ("https://[::1]", public, false),
            ("http://localhost:9", local, true),
            ("https://auth.example.com", local, true),
            ("http://10.0.0.1", local, false),
            ("https://10.0.0.1", local, false),
            ("https://169.254.169.254/latest", local, false),
            ("https://[fd00::1]", local, false),
            ("https://[::ffff:10.0.0.1]", public, false),
            ("https://100.64.0.1", public, false),
            ("https://10.2.0.1", "https://10.0.0.9/mcp", true),
            ("https://192.168.0.1", "https://10.0.0.9/mcp", false),
            ("https://localhost:9", "https://10.0.0.9/mcp", false),
            ("https://172.31.0.1", "https://172.16.0.9/mcp", true),
            ("https://[fd00:1::1]", "https://[fd00:1::2]/mcp", true),
            ("https://[fd00:2::1]", "https://[fd00:1::2]/mcp", false),
            ("file:///etc/passwd", local, false),
        ] {
            assert_eq!(check(url, server), expect, "{url} {server}");
        }
    }

    #[test]
    fn a_server_without_metadata_has_the_default_endpoints() {
        let server = AuthorizationServer::with_default_endpoints("https://a.example");
        assert_eq!(server.authorization_endpoint.as_deref(), Some("https://a.example/authorize"));
        assert_eq!(server.token_endpoint, "https://a.example/token");
        assert_eq!(server.registration_endpoint.as_deref(), Some("https://a.example/register"));
        assert_eq!(server.code_challenge_methods_supported, ["S256"]);
    }

    #[test]
    fn only_the_expected_authorization_server_is_used() {
        let servers = || vec!["https://a.example".to_owned(), "https://b.example".to_owned()];
        let choose = |servers, expected| choose_issuer(servers, expected).map_err(|error| error.to_string());
        assert_eq!(choose(servers(), None).unwrap(), "https://a.example");
        assert_eq!(choose(servers(), Some("https://b.example")).unwrap(), "https://b.example");
        let error = choose(servers(), Some("https://b.example/")).unwrap_err();
        assert!(error.ends_with("`https://b.example`, and `auth.issuer` is `https://b.example/`"), "{error}");
        assert!(choose(Vec::new(), None).is_err());
    }

    #[test]
    fn a_resource_covers_the_paths_below_it() {
        let server = Url::parse("https://a.example/mcp/x").unwrap();
        for (resource, expect) in [
            ("https://a.example/mcp/x", true),
            ("https://a.example/mcp", true),
            ("https://a.example", true),
            ("https://a.example/mc", false),
            ("https://b.example/mcp/x", false),
            ("http://a.example/mcp/x", false),
            ("x", false),
        ] {
            assert_eq!(covers(resource, &server), expect, "{resource}");
        }
    }
}
