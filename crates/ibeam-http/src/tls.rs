//! TLS with the certificate store of the operating system, and with the authorities and the certificate of the user.
//!
//! The store is loaded during the first handshake: a run that uses a plain local server never loads it, and a run that
//! uses a remote server does not wait for it.

use std::sync::{Arc, Once, OnceLock};
use std::thread;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// The certificates of the user, in addition to the authorities of the system.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    authorities: Vec<CertificateDer<'static>>,
    /// The certificate with its chain and its key, for servers that request one.
    client: Option<Arc<CertifiedKey>>,
    /// A note for the message about a refused certificate of a server.
    note: Option<String>,
}

/// The reason why a PEM file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPem {
    #[error(
        "no certificate in it: `-----BEGIN CERTIFICATE-----` is missing; a file in DER must be converted to PEM"
    )]
    NoCertificate,
    #[error("no private key in it: `-----BEGIN PRIVATE KEY-----` is missing")]
    NoKey,
    #[error("its private key is encrypted; write one without a passphrase: `openssl pkey -in FILE -out NEW`")]
    EncryptedKey,
    /// The key does not belong to the certificate.
    #[error("its private key does not belong to the certificate")]
    OtherKey,
    /// The file is damaged, or of a kind that is not supported.
    #[error("{0}")]
    Malformed(String),
}

impl TlsSettings {
    /// Trusts the authorities in a PEM file too.
    ///
    /// # Errors
    /// `NoCertificate`, `Malformed`.
    pub fn add_authorities(&mut self, pem: &[u8]) -> Result<(), InvalidPem> {
        let certificates = parse_certificates(pem)?;
        let mut store = RootCertStore::empty();
        for certificate in &certificates {
            store.add(certificate.clone()).map_err(|error| InvalidPem::Malformed(error.to_string()))?;
        }
        self.authorities.extend(certificates);
        Ok(())
    }

    /// Parses the certificate of the user, with its chain, from one PEM file, and its key from another or the same.
    /// Servers that request a certificate receive it.
    ///
    /// # Errors
    /// The file that cannot be used, and the reason.
    pub fn set_client_certificate(
        &mut self,
        certificate: &[u8],
        key: &[u8],
    ) -> Result<(), ClientCertificateError> {
        use ClientCertificateError as E;
        let chain = parse_certificates(certificate).map_err(E::Certificate)?;
        let key = parse_key(key).map_err(E::Key)?;
        let crypto = rustls::crypto::ring::default_provider();
        let certified = CertifiedKey::from_der(chain, key, &crypto).map_err(|error| match error {
            Error::InconsistentKeys(_) => E::Key(InvalidPem::OtherKey),
            Error::InvalidCertificate(_) => E::Certificate(InvalidPem::Malformed(error.to_string())),
            other => E::Key(InvalidPem::Malformed(other.to_string())),
        })?;
        self.client = Some(Arc::new(certified));
        Ok(())
    }

    /// Returns the settings for servers that must not learn who the user is: without the certificate of the user.
    #[must_use]
    pub fn without_client_certificate(self) -> Self {
        Self { client: None, ..self }
    }

    /// Adds `note` to the message if the certificate of a server is refused.
    pub fn set_note(&mut self, note: String) {
        self.note = Some(note);
    }

    /// Whether servers that request a certificate receive one.
    pub fn has_client_certificate(&self) -> bool {
        self.client.is_some()
    }

    /// Returns the note for the message about a refused certificate of a server.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

/// The file of a client certificate that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientCertificateError {
    Certificate(InvalidPem),
    Key(InvalidPem),
}

fn parse_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, InvalidPem> {
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = parsed.map_err(|error| InvalidPem::Malformed(error.to_string()))?;
    if certificates.is_empty() { Err(InvalidPem::NoCertificate) } else { Ok(certificates) }
}

fn parse_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, InvalidPem> {
    let is_encrypted = ["ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"]
        .iter()
        .any(|mark| pem.windows(mark.len()).any(|window| window == mark.as_bytes()));
    if is_encrypted {
        return Err(InvalidPem::EncryptedKey);
    }
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        pem::Error::NoItemsFound => InvalidPem::NoKey,
        other => InvalidPem::Malformed(other.to_string()),
    })
}

/// Returns the private key of a PEM file in its binary form.
///
/// # Errors
/// `NoKey`, `EncryptedKey`, `Malformed`.
pub fn private_key_der(pem: &[u8]) -> Result<Vec<u8>, InvalidPem> {
    parse_key(pem).map(|key| key.secret_der().to_vec())
}

/// Returns the TLS configuration of all clients: ring's cryptography, safe protocol versions, the certificate store of
/// the system, the certificates of the user, and HTTP/2 if the server supports it.
///
/// # Errors
/// Errors of rustls, if the cryptography does not support the protocol versions.
pub fn tls_config(settings: &TlsSettings) -> Result<ClientConfig, Error> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let store = Arc::new(CertificateStore {
        crypto: Arc::clone(&crypto),
        authorities: settings.authorities.clone(),
        verifier: OnceLock::new(),
    });
    let verifier = Arc::new(LazyVerifier { store, load_started: Once::new() });
    let builder = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &settings.client {
        Some(key) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(key)))),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The certificate store of the system, loaded at most once.
#[derive(Debug)]
struct CertificateStore {
    crypto: Arc<CryptoProvider>,
    authorities: Vec<CertificateDer<'static>>,
    verifier: OnceLock<Result<Verifier, Error>>,
}

impl CertificateStore {
    fn platform_verifier(&self) -> Result<&Verifier, Error> {
        let loaded = self.verifier.get_or_init(|| {
            Verifier::new_with_extra_roots(self.authorities.iter().cloned(), Arc::clone(&self.crypto))
        });
        loaded.as_ref().map_err(Clone::clone)
    }
}

#[derive(Debug)]
struct LazyVerifier {
    store: Arc<CertificateStore>,
    load_started: Once,
}

impl LazyVerifier {
    /// Loads the store on a separate thread. If the thread cannot start, the first verification loads the store.
    fn start_loading(&self) {
        self.load_started.call_once(|| {
            let store = Arc::clone(&self.store);
            let load = move || drop(store.platform_verifier());
            drop(thread::Builder::new().name("trust".to_owned()).spawn(load));
        });
    }
}

impl ServerCertVerifier for LazyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.store.platform_verifier()?.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.store.platform_verifier()?.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.store.platform_verifier()?.verify_tls13_signature(message, cert, signature)
    }

    /// rustls calls this for the first message of the handshake, one round trip before it needs the store.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.start_loading();
        self.store.crypto.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn identity() -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["me".to_owned()]).unwrap().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    #[test]
    fn a_certificate_with_its_key_is_accepted_in_one_file_or_two() {
        let (certificate, key) = identity();
        let both = format!("{certificate}{key}");
        for (certificate, key) in [(&certificate, &key), (&both, &both)] {
            let mut settings = TlsSettings::default();
            assert_eq!(settings.set_client_certificate(certificate.as_bytes(), key.as_bytes()), Ok(()));
            assert!(tls_config(&settings).unwrap().client_auth_cert_resolver.has_certs());
            let anonymous = settings.without_client_certificate();
            assert!(!tls_config(&anonymous).unwrap().client_auth_cert_resolver.has_certs());
        }
    }

    #[test]
    fn a_pem_file_that_cannot_be_used_is_reported_with_the_reason() {
        use ClientCertificateError as E;
        let (certificate, key) = identity();
        let (_, other_key) = identity();
        let encrypted = key.replace("PRIVATE", "ENCRYPTED PRIVATE");
        let damaged = certificate.replace("MII", "!!!");
        let set = |certificate: &str, key: &str| {
            TlsSettings::default().set_client_certificate(certificate.as_bytes(), key.as_bytes()).unwrap_err()
        };
        assert_eq!(set(&key, &key), E::Certificate(InvalidPem::NoCertificate));
        assert_eq!(set(&certificate, &certificate), E::Key(InvalidPem::NoKey));
        assert_eq!(set(&certificate, &encrypted), E::Key(InvalidPem::EncryptedKey));
        assert_eq!(set(&certificate, &other_key), E::Key(InvalidPem::OtherKey));
        assert!(matches!(set(&damaged, &key), E::Certificate(InvalidPem::Malformed(_))));
        let mut settings = TlsSettings::default();
        assert_eq!(settings.add_authorities(b""), Err(InvalidPem::NoCertificate));
        assert_eq!(settings.add_authorities(b"\x30\x82\x01\x0a"), Err(InvalidPem::NoCertificate));
        assert!(matches!(settings.add_authorities(damaged.as_bytes()), Err(InvalidPem::Malformed(_))));
        assert_eq!(settings.add_authorities(certificate.as_bytes()), Ok(()));
    }
}
