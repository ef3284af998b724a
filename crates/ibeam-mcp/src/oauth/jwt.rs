//! Signed JSON Web Tokens: the assertion with which a client authenticates itself, and proofs of DPoP.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

use super::AuthError;

/// The lifetime of an assertion in seconds.
const ASSERTION_SECONDS: u64 = 60;

/// A private key that signs tokens.
pub(super) enum SigningKey {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// Parses a key in the PKCS #8 form.
    pub(super) fn from_pkcs8(der: &[u8]) -> Result<Self, AuthError> {
        let rng = SystemRandom::new();
        let p256 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &rng).map(Self::P256);
        let p384 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, der, &rng).map(Self::P384);
        let rsa = || RsaKeyPair::from_pkcs8(der).map(Self::Rsa);
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(Self::Ed25519);
        p256().or_else(|_| p384()).or_else(|_| rsa()).or_else(|_| ed25519()).map_err(|_| {
            let message = "the private key is not a PKCS #8 key of P-256, P-384, RSA or Ed25519; convert it with \
                           `openssl pkcs8 -topk8 -nocrypt -in FILE -out NEW`";
            AuthError::Configuration(message.to_owned())
        })
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::P256(_) => "ES256",
            Self::P384(_) => "ES384",
            Self::Rsa(_) => "RS256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    /// Returns the signed token. `header` has further fields of the header.
    fn sign(&self, header: &Value, claims: &Value) -> Result<String, AuthError> {
        let mut all = json!({ "alg": self.algorithm() });
        if let (Some(all), Some(further)) = (all.as_object_mut(), header.as_object()) {
            all.extend(further.clone());
        }
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let content = format!("{}.{}", encode(&all), encode(claims));
        let (rng, failed) =
            (SystemRandom::new(), |_| AuthError::Configuration("the private key cannot sign".to_owned()));
        let signature = match self {
            Self::P256(key) | Self::P384(key) => {
                key.sign(&rng, content.as_bytes()).map_err(failed)?.as_ref().to_vec()
            }
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &rng, content.as_bytes(), &mut signature).map_err(failed)?;
                signature
            }
            Self::Ed25519(key) => key.sign(content.as_bytes()).as_ref().to_vec(),
        };
        Ok(format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Returns the assertion that authenticates `client_id` at the authorization server `issuer` (RFC 7523).
    pub(super) fn client_assertion(&self, client_id: &str, issuer: &str) -> Result<String, AuthError> {
        let now = unix_time();
        let claims = json!({
            "iss": client_id,
            "sub": client_id,
            "aud": issuer,
            "iat": now,
            "exp": now + ASSERTION_SECONDS,
            "jti": random_text()?,
        });
        self.sign(&json!({ "typ": "JWT" }), &claims)
    }
}

/// The key to which tokens are bound (RFC 9449).
pub(super) struct DpopKey {
    key: SigningKey,
    jwk: Value,
}

impl DpopKey {
    /// Returns a new key in the PKCS #8 form.
    pub(super) fn generate() -> Result<Vec<u8>, AuthError> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Ok(key
            .map_err(|_| AuthError::Configuration("no key could be generated".to_owned()))?
            .as_ref()
            .to_vec())
    }

    /// Parses a key that [`Self::generate`] returned.
    pub(super) fn parse(der: &[u8]) -> Result<Self, AuthError> {
        let key = SigningKey::from_pkcs8(der)?;
        let SigningKey::P256(pair) = &key else {
            return Err(AuthError::Configuration("the stored key is not one of P-256".to_owned()));
        };
        // An uncompressed point: one byte, x, y.
        let point = pair.public_key().as_ref();
        let coordinate =
            |from: usize, to: usize| URL_SAFE_NO_PAD.encode(point.get(from..to).unwrap_or_default());
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": coordinate(1, 33), "y": coordinate(33, 65) });
        Ok(Self { key, jwk })
    }

    /// Returns the proof for one request, with the token that it carries and the nonce that the server asked for.
    pub(super) fn proof(
        &self,
        method: &str,
        url: &reqwest::Url,
        token: Option<&str>,
        nonce: Option<&str>,
    ) -> Result<String, AuthError> {
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let mut claims =
            json!({ "jti": random_text()?, "htm": method, "htu": target.as_str(), "iat": unix_time() });
        if let Some(claims) = claims.as_object_mut() {
            if let Some(token) = token {
                claims.insert("ath".to_owned(), json!(hash(token)));
            }
            if let Some(nonce) = nonce {
                claims.insert("nonce".to_owned(), json!(nonce));
            }
        }
        self.key.sign(&json!({ "typ": "dpop+jwt", "jwk": self.jwk }), &claims)
    }
}

/// Returns the SHA-256 of a text as Base64 for URLs.
pub(super) fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

/// Returns 256 random bits as Base64 for URLs.
pub(super) fn random_text() -> Result<String, AuthError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| AuthError::Configuration("the system gives no random numbers".to_owned()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the seconds since 1970.
pub(super) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn decode(part: &str) -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn a_proof_is_signed_and_bound_to_the_request_and_the_token() {
        let key = DpopKey::parse(&DpopKey::generate().unwrap()).unwrap();
        let url = reqwest::Url::parse("https://a.example/mcp?x=1#y").unwrap();
        let proof = key.proof("POST", &url, Some("token"), Some("n")).unwrap();
        let (content, signature) = proof.rsplit_once('.').unwrap();
        let (header, claims) = content.split_once('.').unwrap();
        let (header, claims) = (decode(header), decode(claims));
        assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        assert_eq!((&claims["htu"], &claims["htm"]), (&json!("https://a.example/mcp"), &json!("POST")));
        assert_eq!((&claims["nonce"], &claims["ath"]), (&json!("n"), &json!(hash("token"))));
        let part = |name: &str| URL_SAFE_NO_PAD.decode(header["jwk"][name].as_str().unwrap()).unwrap();
        let point = [vec![4], part("x"), part("y")].concat();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        public.verify(content.as_bytes(), &signature).unwrap();
        assert_ne!(
            key.proof("POST", &url, None, None).unwrap(),
            key.proof("POST", &url, None, None).unwrap()
        );
    }

    #[test]
    fn a_key_of_another_kind_is_refused_with_the_way_out() {
        let error = SigningKey::from_pkcs8(b"x").err().unwrap().to_string();
        assert!(error.contains("openssl pkcs8"), "{error}");
    }
}
