//! The declared authorization of a server over HTTP: `auth` in `mcp.json`, `[mcp_servers.NAME.auth]` in `config.toml`.

use serde::Deserialize;

/// The settings as declared. Placeholders are not filled yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object with settings of a login")]
pub(crate) struct AuthDeclaration {
    pub(crate) grant: Option<String>,
    pub(crate) issuer: Option<String>,
    #[serde(alias = "CLIENT_ID")]
    pub(crate) client_id: Option<String>,
    #[serde(alias = "CLIENT_SECRET")]
    pub(crate) client_secret: Option<String>,
    pub(crate) private_key_file: Option<String>,
    pub(crate) client_metadata_url: Option<String>,
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    pub(crate) redirect_port: Option<u16>,
    pub(crate) assertion_file: Option<String>,
    pub(crate) idp_token_endpoint: Option<String>,
    pub(crate) idp_client_id: Option<String>,
}

impl AuthDeclaration {
    /// Sets a text of `config.toml`.
    ///
    /// # Errors
    /// The end of a sentence that begins with the name of the server.
    pub(super) fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let field = self.texts_mut().into_iter().find(|(name, _)| *name == key);
        let (_, field) = field.ok_or_else(|| format!("has the unknown key `auth.{key}`"))?;
        *field = Some(text.to_owned());
        Ok(())
    }

    /// Returns the texts with their names in `config.toml`.
    pub(super) fn texts(&self) -> Vec<(&'static str, Option<String>)> {
        self.clone().texts_mut().into_iter().map(|(name, text)| (name, text.clone())).collect()
    }

    fn texts_mut(&mut self) -> [(&'static str, &mut Option<String>); 9] {
        [
            ("grant", &mut self.grant),
            ("issuer", &mut self.issuer),
            ("client_id", &mut self.client_id),
            ("client_secret", &mut self.client_secret),
            ("private_key_file", &mut self.private_key_file),
            ("client_metadata_url", &mut self.client_metadata_url),
            ("assertion_file", &mut self.assertion_file),
            ("idp_token_endpoint", &mut self.idp_token_endpoint),
            ("idp_client_id", &mut self.idp_client_id),
        ]
    }
}
