//! TLS with the certificate store of the operating system.
//!
//! The store is loaded during the first handshake: a run that uses a plain local server never loads it, and a run that
//! uses a remote server does not wait for it.

use std::sync::{Arc, Once, OnceLock};
use std::thread;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// Returns the TLS configuration of all clients: ring's cryptography, safe protocol versions, the certificate store of
/// the system, and HTTP/2 if the server supports it.
///
/// # Errors
/// Errors of rustls, if the cryptography does not support the protocol versions.
pub fn tls_config() -> Result<ClientConfig, Error> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let store = Arc::new(CertificateStore { crypto: Arc::clone(&crypto), verifier: OnceLock::new() });
    let verifier = Arc::new(LazyVerifier { store, load_started: Once::new() });
    let mut config = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The certificate store of the system, loaded at most once.
#[derive(Debug)]
struct CertificateStore {
    crypto: Arc<CryptoProvider>,
    verifier: OnceLock<Result<Verifier, Error>>,
}

impl CertificateStore {
    fn platform_verifier(&self) -> Result<&Verifier, Error> {
        let loaded = self.verifier.get_or_init(|| Verifier::new(Arc::clone(&self.crypto)));
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
