//! Tokens without a person: the client itself, a workload, or the identity provider of an enterprise vouches.

use ibeam_http::Secret;
use reqwest::Url;

use super::discovery::check_url;
use super::token_endpoint::{ClientAuthMethod, ClientIdentity, IssuedToken, TokenEndpoint};
use super::{AuthError, Login};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

impl Login<'_> {
    /// Gets a token for the client itself.
    pub(super) async fn with_client_credentials(&self) -> Result<(ClientIdentity, IssuedToken), AuthError> {
        let client = self.required_client("client_credentials")?;
        let issued = self.request(&client, &[("grant_type", "client_credentials")]).await?;
        Ok((client, issued))
    }

    /// Exchanges the token of a workload (RFC 7523).
    pub(super) async fn with_assertion(&self) -> Result<(ClientIdentity, IssuedToken), AuthError> {
        let client = self.required_client("jwt_bearer")?;
        let assertion = self.assertion()?;
        let grant = [("grant_type", JWT_BEARER), ("assertion", assertion.expose())];
        let issued = self.request(&client, &grant).await?;
        Ok((client, issued))
    }

    /// Exchanges the ID token of a person at the identity provider for an authorization grant, and that at the
    /// authorization server for a token.
    pub(super) async fn with_id_token(&self) -> Result<(ClientIdentity, IssuedToken), AuthError> {
        let settings = &self.authorization.config.settings;
        let client = self.required_client("id_jag")?;
        let missing =
            |name: &str| AuthError::Configuration(format!("the grant `id_jag` needs `auth.{name}`"));
        let endpoint = settings.idp_token_endpoint.as_deref().ok_or_else(|| missing("idp_token_endpoint"))?;
        let idp_client = ClientIdentity {
            id: settings.idp_client_id.clone().ok_or_else(|| missing("idp_client_id"))?,
            secret: None,
            method: ClientAuthMethod::None,
        };
        // The user has configured this URL, so it may lead into a private network.
        let configured = Url::parse(endpoint)
            .map_err(|error| AuthError::Configuration(format!("`{endpoint}` is not a URL: {error}")))?;
        let idp = TokenEndpoint {
            clients: &self.authorization.clients,
            url: check_url(endpoint, &configured)?,
            issuer: "",
            client: &idp_client,
            private_key: None,
            dpop: None,
        };
        let subject = self.assertion()?;
        let exchanged = idp
            .request(&[
                ("grant_type", TOKEN_EXCHANGE),
                ("requested_token_type", ID_JAG),
                ("audience", &self.discovered.server.issuer),
                ("resource", &self.discovered.resource),
                ("subject_token", subject.expose()),
                ("subject_token_type", ID_TOKEN),
            ])
            .await?;
        self.authorization.config.store.redact(&exchanged.access_token);
        let grant = [("grant_type", JWT_BEARER), ("assertion", exchanged.access_token.as_str())];
        let issued = self.request(&client, &grant).await?;
        Ok((client, issued))
    }

    fn required_client(&self, grant: &str) -> Result<ClientIdentity, AuthError> {
        self.configured_client()
            .ok_or_else(|| AuthError::Configuration(format!("the grant `{grant}` needs `auth.client_id`")))
    }

    fn assertion(&self) -> Result<&Secret, AuthError> {
        let assertion = self.authorization.config.settings.assertion.as_ref();
        assertion.ok_or_else(|| AuthError::Configuration("the grant needs `auth.assertion_file`".to_owned()))
    }
}
