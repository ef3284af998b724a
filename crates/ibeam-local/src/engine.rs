//! A loaded model with the tokens it has read so far.
//!
//! One sequence at a time. A new sequence reuses what it shares with the last one; nothing is computed twice.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use sha2::{Digest, Sha256};

use crate::error::first_line;
use crate::hyper::Hyperparameters;
use crate::qwen2::Qwen2;
use crate::{LocalError, Vocabulary};

/// Tokens computed between two looks at the stop flag.
const CHUNK: usize = 128;
const SAMPLES: u64 = 64;
const SAMPLE_BYTES: u64 = 4096;

/// What the guided decoder needs of a language model.
pub trait LanguageModel {
    /// Its tokens.
    fn vocabulary(&self) -> &Vocabulary;
    /// The tokens read so far.
    fn tokens(&self) -> &[u32];
    /// Reads on.
    ///
    /// # Errors
    /// [`LocalError::ContextFull`] when `tokens` do not fit; nothing has been read then.
    fn append(&mut self, tokens: &[u32]) -> Result<(), LocalError>;
    /// One number per token of the vocabulary for what comes next; empty before the first token.
    fn logits(&self) -> &[f32];
}

/// A model in memory.
pub struct Engine {
    network: Qwen2,
    vocabulary: Vocabulary,
    tokens: Vec<u32>,
    logits: Vec<f32>,
    capacity: usize,
    fingerprint: [u8; 32],
}

impl Engine {
    /// Loads the GGUF file at `path` with room for `capacity` tokens (at most the model's own limit).
    ///
    /// Threads: one per physical core; the environment variable `RAYON_NUM_THREADS`, read by the inference
    /// library at its first use, sets another number. Threads spin between products, so on a loaded machine
    /// fewer are faster.
    ///
    /// # Errors
    /// `NotInstalled`, `Unreadable`, or `Unsupported` with the property that does not fit.
    pub fn load(path: &Path, capacity: usize) -> Result<Self, LocalError> {
        let unsupported = |reason| LocalError::Unsupported { path: path.to_owned(), reason };
        let file = File::open(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => LocalError::NotInstalled { path: path.to_owned() },
            _ => LocalError::Unreadable { path: path.to_owned(), source },
        })?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let content = Content::read(&mut reader).map_err(|error| unsupported(first_line(&error)))?;
        let shape = Hyperparameters::read(&content).map_err(unsupported)?;
        let vocabulary = Vocabulary::read(&content).map_err(unsupported)?;
        let capacity = capacity.min(shape.context);
        let network =
            Qwen2::load(&content, path, shape, capacity).map_err(|error| unsupported(first_line(&error)))?;
        let fingerprint = fingerprint(reader.get_mut())
            .map_err(|source| LocalError::Unreadable { path: path.to_owned(), source })?;
        Ok(Self { network, vocabulary, tokens: Vec::new(), logits: Vec::new(), capacity, fingerprint })
    }

    /// Makes `tokens` the sequence read so far, computing only what differs from the last one.
    ///
    /// `proceed` is asked between chunks of 128 tokens; when it says no, what was computed stays and `false` is
    /// returned.
    ///
    /// # Errors
    /// [`LocalError::ContextFull`] when `tokens` do not fit.
    pub fn read(&mut self, tokens: &[u32], proceed: &dyn Fn() -> bool) -> Result<bool, LocalError> {
        let shared = self.shared_with(tokens);
        if shared == tokens.len() && shared == self.tokens.len() && !self.logits.is_empty() {
            return Ok(true);
        }
        // The logits belong to the last token only, so at least that one is computed again.
        let kept = shared.min(tokens.len().saturating_sub(1));
        self.tokens.truncate(kept);
        self.logits.clear();
        for chunk in tokens.get(kept..).unwrap_or_default().chunks(CHUNK) {
            if !proceed() {
                return Ok(false);
            }
            self.append(chunk)?;
        }
        Ok(true)
    }

    /// How many tokens at the beginning of `tokens` have been read already.
    pub fn shared_with(&self, tokens: &[u32]) -> usize {
        self.tokens.iter().zip(tokens).take_while(|(have, want)| have == want).count()
    }

    /// Keys and values of the first `count` tokens: per layer the keys, then the values, as little-endian f16.
    pub(crate) fn export(&self, count: usize) -> Result<Vec<u8>, LocalError> {
        let mut bytes = Vec::new();
        for buffer in self.network.buffers() {
            buffer.export(count, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Takes `bytes` from [`Self::export`] for what was computed from `tokens`, and forgets everything else.
    ///
    /// Returns `false`, with nothing changed, if the length does not fit. No logits are there afterwards: read on.
    pub(crate) fn restore(&mut self, tokens: &[u32], bytes: &[u8]) -> Result<bool, LocalError> {
        let share = bytes.len() / self.network.buffers().count().max(1);
        let fits = tokens.len() <= self.capacity
            && self.network.buffers().all(|buffer| buffer.export_size(tokens.len()) == share)
            && share * self.network.buffers().count() == bytes.len();
        if !fits {
            return Ok(false);
        }
        self.tokens.clear();
        self.logits.clear();
        for (buffer, bytes) in self.network.buffers().zip(bytes.chunks(share.max(1))) {
            buffer.restore(tokens.len(), bytes)?;
        }
        self.tokens.extend_from_slice(tokens);
        Ok(true)
    }

    /// Tells this model file from others: a digest of its length and of samples all over it.
    pub(crate) fn fingerprint(&self) -> &[u8] {
        &self.fingerprint
    }

    /// The most tokens a sequence may have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Hashing all of a gigabyte at each start would cost as much as loading it; 64 samples tell models apart.
fn fingerprint(file: &mut File) -> std::io::Result<[u8; 32]> {
    let length = file.metadata()?.len();
    let mut hash = Sha256::new();
    hash.update(length.to_le_bytes());
    let mut sample = Vec::new();
    for index in 0..SAMPLES {
        sample.clear();
        file.seek(SeekFrom::Start(length / SAMPLES * index))?;
        file.take(SAMPLE_BYTES).read_to_end(&mut sample)?;
        hash.update(&sample);
    }
    Ok(hash.finalize().into())
}

impl LanguageModel for Engine {
    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    fn append(&mut self, tokens: &[u32]) -> Result<(), LocalError> {
        if tokens.is_empty() {
            return Ok(());
        }
        let needed = self.tokens.len() + tokens.len();
        if needed > self.capacity {
            return Err(LocalError::ContextFull { needed, room: self.capacity });
        }
        self.logits = self.network.forward(tokens, self.tokens.len())?;
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }

    fn logits(&self) -> &[f32] {
        &self.logits
    }
}

#[cfg(test)]
mod tests;
