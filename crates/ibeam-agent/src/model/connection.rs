//! The connection to a service: the proxy of the environment, the authorities and the certificate of the user.
//!
//! Files are read only for `https://`. An error names the setting, the file and the reason.

use std::path::Path;

use ibeam_config::{NetworkSettings, Origin, Setting};
use ibeam_mcp::ProxySelector;
use ibeam_protocol::Reason;
use ibeam_providers::{
    ClientCertificateError, InvalidPem, PlainHttpServer, ProxyServer, Secret, TlsSettings, has_credentials,
};
use ibeam_web::{InvalidProxy, UpstreamProxies};

use super::deferred_key::expand_home;
use crate::app::AppContext;
use crate::environment::variable;

/// The size limit of a file of certificates. The authorities of a system have about 250 KB.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Clone, Debug, Default)]
pub struct ServiceConnection {
    pub(crate) proxy: Option<ProxyServer>,
    pub(crate) tls: TlsSettings,
}

impl ServiceConnection {
    /// Returns the settings for connections to `base_url`.
    ///
    /// # Errors
    /// `BadConfig` for a variable that names no proxy, and for a file that cannot be used.
    pub(crate) fn for_url(app: &AppContext, base_url: &str) -> Result<Self, Reason> {
        let proxy = proxy_for_url(&UpstreamProxies::new(variable), base_url).map_err(|error| {
            let path = format!("${}", error.variable);
            Reason::BadConfig { path, line: None, column: None, detail: error.to_string().into() }
        })?;
        let tls = if base_url.starts_with("https") { tls_settings(app)? } else { TlsSettings::default() };
        Ok(Self { proxy, tls })
    }
}

/// Returns the proxy for requests to `url`.
fn proxy_for_url(proxies: &UpstreamProxies, url: &str) -> Result<Option<ProxyServer>, InvalidProxy> {
    let route = proxies.route_for_url(url)?;
    Ok(route.map(|route| ProxyServer {
        url: Secret::new(&route.url),
        display_url: route.display_url,
        variable: route.variable,
    }))
}

/// Returns the choice of the proxy for each URL, for a client that learns its URLs from a server.
pub fn proxy_selector() -> ProxySelector {
    let proxies = UpstreamProxies::new(variable);
    let message = |error: InvalidProxy| format!("`${}`: {error}", error.variable);
    ProxySelector::new(move |url| proxy_for_url(&proxies, url).map_err(message))
}

/// Checks that no secret is sent over plain HTTP to another machine, unless `network.insecure_hosts` names it.
///
/// # Errors
/// The reason why nothing can be sent to `url`.
pub fn check_encryption(settings: &NetworkSettings, url: &str, carries_secret: bool) -> Result<(), String> {
    let server = PlainHttpServer::from_base_url(url)?;
    let Some(server) = server.filter(|_| carries_secret) else { return Ok(()) };
    if settings.insecure_hosts.iter().any(|entry| server.matches_entry(&entry.value)) {
        return Ok(());
    }
    let (url, host) = (strip_credentials(url), &server.host);
    Err(format!(
        "`{url}` would send a key unencrypted; use `https://`, or add \"{host}\" to `network.insecure_hosts` in your \
         own configuration"
    ))
}

/// Returns `url` without user name and password, for messages.
fn strip_credentials(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) if has_credentials(url) => format!("{scheme}://{rest}"),
        (Some(_) | None, Some(_) | None) => url.to_owned(),
    }
}

/// Returns the passwords of the proxies. They may not be recorded or shown.
pub(crate) fn proxy_passwords() -> Vec<String> {
    UpstreamProxies::new(variable).passwords()
}

/// Returns the certificates of the configuration and of the environment.
///
/// # Errors
/// `BadConfig` with the setting, the file and the reason.
pub fn tls_settings(app: &AppContext) -> Result<TlsSettings, Reason> {
    let settings = &app.base.settings.tls;
    let mut tls = TlsSettings::default();
    if let Some((file, bytes)) = read_setting(app, "ca_file", &settings.ca_file)? {
        tls.add_authorities(&bytes).map_err(|error| file.invalid(&error))?;
    }
    add_extra_authorities(&mut tls);
    let certificate = read_setting(app, "client_cert", &settings.client_cert)?;
    let key = read_setting(app, "client_key", &settings.client_key)?;
    match (certificate, key) {
        (None, None) => {}
        (None, Some((key, _))) => return Err(key.error("`tls.client_cert` is missing")),
        // One file may have both.
        (Some((certificate, bytes)), None) => {
            tls.set_client_certificate(&bytes, &bytes).map_err(|error| match error {
                ClientCertificateError::Key(InvalidPem::NoKey) => {
                    certificate.error("it has no private key, and `tls.client_key` is missing")
                }
                ClientCertificateError::Certificate(error) | ClientCertificateError::Key(error) => {
                    certificate.invalid(&error)
                }
            })?;
        }
        (Some((certificate, bytes)), Some((key, key_bytes))) => {
            tls.set_client_certificate(&bytes, &key_bytes).map_err(|error| match error {
                ClientCertificateError::Certificate(error) => certificate.invalid(&error),
                ClientCertificateError::Key(error) => key.invalid(&error),
            })?;
        }
    }
    Ok(tls)
}

/// Adds the authorities of `NODE_EXTRA_CA_CERTS`, which many networks set for other programs. A file that cannot be used
/// matters only if a certificate is refused.
fn add_extra_authorities(tls: &mut TlsSettings) {
    const VARIABLE: &str = "NODE_EXTRA_CA_CERTS";
    let Some(path) = variable(VARIABLE) else { return };
    let added = ibeam_files::regular_file::read(Path::new(&path), MAX_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|bytes| tls.add_authorities(&bytes).map_err(|error| error.to_string()));
    if let Err(error) = added {
        tls.set_note(format!("`${VARIABLE}` was ignored: `{path}`: {error}"));
    }
}

/// A file that a setting of `[tls]` names.
struct TlsFile<'a> {
    origin: &'a Origin,
    key: &'static str,
    path: String,
}

impl TlsFile<'_> {
    fn error(&self, detail: &str) -> Reason {
        let message = format!("`tls.{}` `{}`: {detail}", self.key, self.path);
        Reason::from(self.origin.invalid(message))
    }

    fn invalid(&self, error: &InvalidPem) -> Reason {
        self.error(&error.to_string())
    }
}

/// Reads the file that `tls.KEY` names, if it is set.
fn read_setting<'a>(
    app: &'a AppContext,
    key: &'static str,
    setting: &'a Setting<Option<String>>,
) -> Result<Option<(TlsFile<'a>, Vec<u8>)>, Reason> {
    let Setting { value: Some(text), origin } = setting else { return Ok(None) };
    let path = expand_home(&app.dirs.home, text);
    let file = TlsFile { origin, key, path: path.display().to_string() };
    match ibeam_files::regular_file::read(&path, MAX_BYTES) {
        Ok(bytes) => Ok(Some((file, bytes))),
        Err(error) => Err(file.error(&error.to_string())),
    }
}
