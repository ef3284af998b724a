//! The computed beginning of every conversation, kept on disk: keys and values of the fixed prompt.
//!
//! A file is used only if its checksum is right and it belongs to this very model and prompt; any other is
//! computed again and replaced. Failing to keep one costs time, never an answer.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::decode::Halt;
use crate::engine::Engine;

const FORMAT: &[u8] = b"ibeam key/value prefix 1\n";
const DIGEST_BYTES: usize = 32;

/// A directory with prefixes in it.
pub(crate) struct PrefixCache {
    directory: PathBuf,
}

impl PrefixCache {
    /// Keeps prefixes in `directory`, which is made when the first one is kept.
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Makes `tokens` the beginning of what `engine` has read, from disk if it is there.
    ///
    /// Does nothing if the engine has read them already. What is computed is rounded as the file would be, so that
    /// a run that computes the prefix and one that loads it say the same.
    pub(crate) fn warm(
        &self,
        engine: &mut Engine,
        tokens: &[u32],
        proceed: &dyn Fn() -> bool,
    ) -> Result<(), Halt> {
        if engine.shared_with(tokens) == tokens.len() {
            return Ok(());
        }
        let path = self.path(engine, tokens);
        if let Some(body) = fs::read(&path).ok().as_deref().and_then(verified)
            && engine.restore(tokens, body)?
        {
            return Ok(());
        }
        if !engine.read(tokens, proceed)? {
            return Err(Halt::Cancelled);
        }
        let body = engine.export(tokens.len())?;
        engine.restore(tokens, &body)?;
        // Without the file the next run computes again; there is nobody here to tell.
        let _ = self.keep(&path, &body);
        Ok(())
    }

    fn path(&self, engine: &Engine, tokens: &[u32]) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(engine.fingerprint());
        tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
        let key: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(format!("prefix-{key}.kv"))
    }

    fn keep(&self, path: &std::path::Path, body: &[u8]) -> std::io::Result<()> {
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

/// The body of a prefix file, if it is whole.
fn verified(file: &[u8]) -> Option<&[u8]> {
    let rest = file.strip_prefix(FORMAT)?;
    let (digest, body) = rest.split_at_checked(DIGEST_BYTES)?;
    (Sha256::digest(body).as_slice() == digest).then_some(body)
}
