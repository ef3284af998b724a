//! The hashes that git gives to objects.

use sha2::Digest as _;

/// The number of bytes of the longest hash.
const MAX_BYTES: usize = 32;

/// The hash function of a repository's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HashAlgorithm {
    Sha1,
    Sha256,
}

impl HashAlgorithm {
    /// Returns the function of a hash with this number of hexadecimal digits: 64 of SHA-256, any other of SHA-1.
    pub(super) fn with_digits(count: usize) -> Self {
        if count == 2 * MAX_BYTES { Self::Sha256 } else { Self::Sha1 }
    }

    /// Returns the number of bytes of a hash.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => MAX_BYTES,
        }
    }

    /// Returns the hash of an object.
    pub(super) fn object(self, kind: &str, content: &[u8]) -> ObjectId {
        let mut hasher = Hasher::new(self);
        hasher.update(object_header(kind, content.len() as u64).as_bytes());
        hasher.update(content);
        hasher.finish()
    }
}

/// Returns what git hashes and stores before the content of an object.
pub(super) fn object_header(kind: &str, size: u64) -> String {
    format!("{kind} {size}\0")
}

/// The hash of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectId {
    /// Zeros follow a shorter hash.
    bytes: [u8; MAX_BYTES],
    length: usize,
}

impl ObjectId {
    /// Returns the hash with these bytes; `None` if they are too many.
    pub(super) fn new(hash: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_BYTES];
        bytes.get_mut(..hash.len())?.copy_from_slice(hash);
        Some(Self { bytes, length: hash.len() })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    pub(super) fn hex(&self) -> String {
        hex(self.as_bytes())
    }
}

/// Computes a hash of bytes that arrive in parts.
pub(super) enum Hasher {
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
}

impl Hasher {
    pub(super) fn new(algorithm: HashAlgorithm) -> Self {
        match algorithm {
            HashAlgorithm::Sha1 => Self::Sha1(sha1::Sha1::default()),
            HashAlgorithm::Sha256 => Self::Sha256(sha2::Sha256::default()),
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hash) => sha1::Digest::update(hash, bytes),
            Self::Sha256(hash) => hash.update(bytes),
        }
    }

    pub(super) fn finish(self) -> ObjectId {
        let mut bytes = [0; MAX_BYTES];
        let length = match self {
            Self::Sha1(hash) => copy(&mut bytes, &sha1::Digest::finalize(hash)),
            Self::Sha256(hash) => copy(&mut bytes, &hash.finalize()),
        };
        ObjectId { bytes, length }
    }
}

/// Copies a hash to the beginning of `bytes`, and returns its length.
fn copy(bytes: &mut [u8; MAX_BYTES], hash: &[u8]) -> usize {
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = *from);
    hash.len()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
