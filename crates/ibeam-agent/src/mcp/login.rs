//! The logins to MCP servers: their storage, and the person who consents in a browser.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use ibeam_config::Credentials;
use ibeam_core::Redactor;
use ibeam_files::regular_file;
use ibeam_mcp::{Grant, LoginStore, OAuthConfig, OAuthSettings, UserAgent};
use ibeam_output::{Catalogue, escape_to_one_line};
use ibeam_protocol::sentence;
use ibeam_providers::Secret;

use super::Filler;
use super::auth_declaration::AuthDeclaration;
use crate::app::AppContext;
use crate::environment::variable;
use crate::programs::Programs;

/// Maximum size of a key or a token in a file.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// Returns the file of the logins to MCP servers.
pub fn login_file(app: &AppContext) -> PathBuf {
    app.dirs.credentials.with_file_name("mcp-credentials.toml")
}

/// Returns the authorization of the server `name` at `url`; `None` if it is switched off.
///
/// # Errors
/// The message why a setting cannot be used.
pub(super) fn oauth_config(
    app: &AppContext,
    name: &str,
    url: &str,
    declared: &AuthDeclaration,
    filler: &Filler<'_>,
    user: Option<Arc<dyn UserAgent>>,
) -> Result<Option<OAuthConfig>, String> {
    let grant = match declared.grant.as_deref() {
        None | Some("authorization_code") => Grant::AuthorizationCode,
        Some("device_code") => Grant::DeviceCode,
        Some("client_credentials") => Grant::ClientCredentials,
        Some("jwt_bearer") => Grant::JwtBearer,
        Some("id_jag") => Grant::IdJag,
        Some("none") => return Ok(None),
        Some(other) => return Err(format!("`auth.grant` has the unknown value `{other}`")),
    };
    let text = |value: &Option<String>| value.as_ref().map(|value| filler.fill(value)).transpose();
    let secret = |value: &Option<String>| {
        let value = text(value)?;
        if let Some(value) = &value {
            app.redactor().add(value);
        }
        Ok::<_, String>(value.map(|value| Secret::new(&value)))
    };
    let file = |value: &Option<String>| {
        let Some(path) = text(value)? else { return Ok::<_, String>(None) };
        if filler.is_of_project {
            // Such a file could hold the key of a model.
            return Err("only your own configuration may name files for `auth`".to_owned());
        }
        let read = regular_file::read(Path::new(&path), MAX_SECRET_BYTES);
        let bytes = read.map_err(|error| format!("cannot read `{path}`: {error}"))?;
        let content = String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8"))?;
        app.redactor().add(content.trim());
        Ok(Some(Secret::new(&content)))
    };
    let settings = OAuthSettings {
        grant,
        issuer: text(&declared.issuer)?,
        client_id: text(&declared.client_id)?,
        client_secret: secret(&declared.client_secret)?,
        private_key: file(&declared.private_key_file)?,
        client_metadata_url: text(&declared.client_metadata_url)?,
        scopes: filler.fill_all(&declared.scopes)?,
        redirect_port: declared.redirect_port,
        assertion: file(&declared.assertion_file)?,
        idp_token_endpoint: text(&declared.idp_token_endpoint)?,
        idp_client_id: text(&declared.idp_client_id)?,
    };
    let store = FileStore { path: login_file(app), url: url.to_owned(), redactor: app.redactor().clone() };
    Ok(Some(OAuthConfig { server: name.to_owned(), settings, store: Arc::new(store), user }))
}

/// The login to the server at one URL, in the file of all logins.
struct FileStore {
    path: PathBuf,
    url: String,
    redactor: Redactor,
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("url", &self.url).finish_non_exhaustive()
    }
}

impl LoginStore for FileStore {
    fn load(&self) -> Result<Option<String>, String> {
        let credentials = Credentials::load(&self.path).map_err(|error| error.to_string())?;
        Ok(credentials.get(&self.url).map(str::to_owned))
    }

    fn save(&self, text: &str) -> Result<(), String> {
        let mut credentials = Credentials::load(&self.path).map_err(|error| error.to_string())?;
        credentials.store(&self.url, text).map_err(|error| error.to_string())
    }

    fn redact(&self, secret: &str) {
        self.redactor.add(secret);
    }
}

/// A person at the terminal, with a browser if there is one.
pub struct TerminalUser {
    programs: Programs,
    catalogue: Arc<Catalogue>,
}

impl fmt::Debug for TerminalUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalUser").finish_non_exhaustive()
    }
}

impl TerminalUser {
    pub fn new(app: &AppContext) -> Self {
        Self { programs: app.programs.clone(), catalogue: Arc::clone(&app.base.catalogue) }
    }

    /// Opens `url` in the browser of `$BROWSER`, or of the desktop. The printed URL is enough if that fails.
    fn open_browser(&self, url: &str) {
        let named = variable("BROWSER").filter(|name| !name.trim().is_empty());
        let name = named.as_deref().unwrap_or("xdg-open");
        if let Some(mut command) = self.programs.command(name) {
            let command = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            drop(command.spawn());
        }
    }
}

impl UserAgent for TerminalUser {
    fn open(&self, url: &str) {
        let line = sentence!("Open this page to log in: {url}", url = escape_to_one_line(url));
        crate::stderr::write_line(&self.catalogue.sentence(&line));
        self.open_browser(url);
    }

    fn show_code(&self, url: &str, code: &str) {
        let (url, code) = (escape_to_one_line(url), escape_to_one_line(code));
        let line = sentence!("Open this page to log in: {url} and enter the code {code}", url, code);
        crate::stderr::write_line(&self.catalogue.sentence(&line));
    }
}
