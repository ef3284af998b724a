//! A cache on disk for the keys and values of the fixed prompt, with which every conversation starts.
//!
//! A file is used only if its checksum is correct and it belongs to the same model and prompt. Otherwise it is computed again
//! and replaced. A failure to store a file costs time, but never an answer.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::engine::Engine;
use crate::guided_decoder::DecodeError;

/// The first bytes of a prefix file; the digest and the body follow.
const FORMAT: &[u8] = b"ibeam key/value prefix 1\n";
const DIGEST_BYTES: usize = 32;

/// A directory of prefixes.
pub(crate) struct PrefixCache {
    directory: PathBuf,
}

impl PrefixCache {
    /// Creates a cache in `directory`, which is created with the first prefix.
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Sets the sequence of `engine` to `tokens`, from disk if possible, unless the sequence already starts with them.
    ///
    /// Computed values are rounded as in the file, so that a run that computes the prefix and a run that loads it give the
    /// same answers.
    pub(crate) fn load_or_compute(
        &self,
        engine: &mut Engine,
        tokens: &[u32],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<(), DecodeError> {
        if engine.shared_prefix_len(tokens) == tokens.len() {
            return Ok(());
        }
        let path = self.path(engine, tokens);
        if let Some(body) = fs::read(&path).ok().as_deref().and_then(verified_body)
            && engine.restore(tokens, body)?
        {
            return Ok(());
        }
        if !engine.set_tokens(tokens, should_continue)? {
            return Err(DecodeError::Cancelled);
        }
        let body = engine.export(tokens.len())?;
        engine.restore(tokens, &body)?;
        // Without the file the next run computes the prefix again.
        let _ = self.store(&path, &body);
        Ok(())
    }

    fn path(&self, engine: &Engine, tokens: &[u32]) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(engine.fingerprint());
        tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
        let key: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(format!("prefix-{key}.kv"))
    }

    fn store(&self, path: &std::path::Path, body: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        let written = fs::File::create(&partial).and_then(|mut file| {
            file.write_all(FORMAT)?;
            file.write_all(&Sha256::digest(body))?;
            file.write_all(body)
        });
        written.and_then(|()| fs::rename(&partial, path)).inspect_err(|_| {
            let _ = fs::remove_file(&partial);
        })
    }
}

/// Returns the body of a prefix file if the file is valid.
fn verified_body(file: &[u8]) -> Option<&[u8]> {
    let rest = file.strip_prefix(FORMAT)?;
    let (digest, body) = rest.split_at_checked(DIGEST_BYTES)?;
    (Sha256::digest(body).as_slice() == digest).then_some(body)
}
