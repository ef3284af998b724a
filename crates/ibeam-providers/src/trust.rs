//! Trust in a server's certificate, decided by the operating system's store.
//!
//! The store is read while the first server is greeted, not before: a run against a plain local server never reads it,
//! and one against a distant server does not wait for it.

use std::sync::{Arc, Once, OnceLock};
use std::thread;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// TLS as every client of ours speaks it: ring's cryptography, safe protocol versions, the system's store, HTTP/2
/// where the server has it.
///
/// # Errors
/// rustls's, when the cryptography does not cover the protocol versions.
pub fn tls_config() -> Result<ClientConfig, Error> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let store = Arc::new(Store { crypto: Arc::clone(&crypto), platform: OnceLock::new() });
    let verifier = Arc::new(LazyVerifier { store, begun: Once::new() });
    let mut config = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The system's store, read at most once.
#[derive(Debug)]
struct Store {
    crypto: Arc<CryptoProvider>,
    platform: OnceLock<Result<Verifier, Error>>,
}

impl Store {
    fn platform(&self) -> Result<&Verifier, Error> {
        let loaded = self.platform.get_or_init(|| Verifier::new(Arc::clone(&self.crypto)));
        loaded.as_ref().map_err(Clone::clone)
    }
}

#[derive(Debug)]
struct LazyVerifier {
    store: Arc<Store>,
    begun: Once,
}

impl LazyVerifier {
    /// Reads the store on a thread of its own. Without one it is read where it is asked.
    fn begin(&self) {
        self.begun.call_once(|| {
            let store = Arc::clone(&self.store);
            let read = move || drop(store.platform());
            drop(thread::Builder::new().name("trust".to_owned()).spawn(read));
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
        self.store.platform()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.store.platform()?.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.store.platform()?.verify_tls13_signature(message, cert, signature)
    }

    /// Asked for what the greeting says, so there is a round trip until the store is wanted.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.begin();
        self.store.crypto.signature_verification_algorithms.supported_schemes()
    }
}
