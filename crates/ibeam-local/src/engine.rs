//! A loaded model and its current token sequence.
//!
//! One sequence at a time. A new sequence reuses the computed prefix that it shares with the last one.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::Content;
use sha2::{Digest, Sha256};

use crate::Vocabulary;
use crate::hyperparameters::Hyperparameters;
use crate::qwen2::Qwen2;

/// The number of tokens computed between two checks for cancellation.
const CHUNK_TOKENS: usize = 128;
const FINGERPRINT_SAMPLES: u64 = 64;
const FINGERPRINT_SAMPLE_BYTES: u64 = 4096;

/// The operations of a language model that guided decoding needs.
pub trait LanguageModel {
    fn vocabulary(&self) -> &Vocabulary;
    /// Returns the current sequence.
    fn tokens(&self) -> &[u32];
    /// Appends `tokens` to the sequence.
    ///
    /// # Errors
    /// [`LocalError::ContextFull`] if `tokens` do not fit. The sequence is unchanged then.
    fn append(&mut self, tokens: &[u32]) -> Result<(), LocalError>;
    /// Returns the score of each token of the vocabulary as the next one; empty before the first token.
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
    /// Loads the GGUF file at `path` with a capacity of `capacity` tokens, limited by the model.
    ///
    /// Uses one thread per physical core. The environment variable `RAYON_NUM_THREADS`, which the inference library reads at
    /// its first use, sets another number. Threads spin between products, so fewer threads are faster on a loaded machine.
    ///
    /// # Errors
    /// `NotInstalled`, `Unreadable`, or `Unsupported` with the property that is not supported.
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

    /// Replaces the sequence by `tokens`, computing only the part that differs from the last one.
    ///
    /// Calls `should_continue` between chunks of 128 tokens. If it returns `false`, returns `false`; what was computed can be
    /// reused.
    ///
    /// # Errors
    /// [`LocalError::ContextFull`] if `tokens` do not fit.
    pub fn set_tokens(
        &mut self,
        tokens: &[u32],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<bool, LocalError> {
        let shared = self.shared_prefix_len(tokens);
        if shared == tokens.len() && shared == self.tokens.len() && !self.logits.is_empty() {
            return Ok(true);
        }
        // Only the logits of the last token exist, so at least the last token is computed again.
        let reused = shared.min(tokens.len().saturating_sub(1));
        self.tokens.truncate(reused);
        self.logits.clear();
        for chunk in tokens.get(reused..).unwrap_or_default().chunks(CHUNK_TOKENS) {
            if !should_continue() {
                return Ok(false);
            }
            self.append(chunk)?;
        }
        Ok(true)
    }

    /// Returns the length of the prefix of `tokens` that the current sequence has too.
    pub fn shared_prefix_len(&self, tokens: &[u32]) -> usize {
        self.tokens.iter().zip(tokens).take_while(|(current, new)| current == new).count()
    }

    /// Returns keys and values of the first `count` tokens: per layer the keys, then the values, as little-endian f16.
    pub(crate) fn export(&self, count: usize) -> Result<Vec<u8>, LocalError> {
        let mut bytes = Vec::new();
        for buffer in self.network.buffers() {
            buffer.export(count, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Replaces the sequence by `tokens`, whose keys and values are `bytes` from [`Self::export`].
    ///
    /// Returns `false`, with nothing changed, if the length does not match. There are no logits afterwards; call
    /// [`Self::set_tokens`].
    pub(crate) fn restore(&mut self, tokens: &[u32], bytes: &[u8]) -> Result<bool, LocalError> {
        let buffer_len = bytes.len() / self.network.buffers().count().max(1);
        let fits = tokens.len() <= self.capacity
            && self.network.buffers().all(|buffer| buffer.export_size(tokens.len()) == buffer_len)
            && buffer_len * self.network.buffers().count() == bytes.len();
        if !fits {
            return Ok(false);
        }
        self.tokens.clear();
        self.logits.clear();
        for (buffer, bytes) in self.network.buffers().zip(bytes.chunks(buffer_len.max(1))) {
            buffer.restore(tokens.len(), bytes)?;
        }
        self.tokens.extend_from_slice(tokens);
        Ok(true)
    }

    /// Returns a digest of the length of the model file and of samples of its content.
    pub(crate) fn fingerprint(&self) -> &[u8] {
        &self.fingerprint
    }

    /// Returns the maximum length of a sequence, in tokens.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Returns a digest of the length and of 64 samples, which are enough to distinguish models. Hashing a gigabyte at each
/// start would take as long as loading it.
fn fingerprint(file: &mut File) -> std::io::Result<[u8; 32]> {
    let length = file.metadata()?.len();
    let mut hash = Sha256::new();
    hash.update(length.to_le_bytes());
    let mut sample = Vec::new();
    for index in 0..FINGERPRINT_SAMPLES {
        sample.clear();
        file.seek(SeekFrom::Start(length / FINGERPRINT_SAMPLES * index))?;
        file.take(FINGERPRINT_SAMPLE_BYTES).read_to_end(&mut sample)?;
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
            return Err(LocalError::ContextFull { needed, capacity: self.capacity });
        }
        self.logits = self.network.forward(tokens, self.tokens.len())?;
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }

    fn logits(&self) -> &[f32] {
        &self.logits
    }
}

/// A failure of the embedded model.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// No model is installed. The user can run the set-up.
    #[error("the embedded model is not installed: `{}` does not exist", path.display())]
    NotInstalled {
        /// The expected path.
        path: PathBuf,
    },
    /// The file exists but cannot be read.
    #[error("cannot read the model file `{}`: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The engine does not support the file.
    #[error("`{}` is not a usable model file: {reason}", path.display())]
    Unsupported {
        path: PathBuf,
        /// The property that is missing or wrong.
        reason: String,
    },
    /// The conversation does not fit. The user can start a new one or use a larger model.
    #[error("the conversation needs {needed} tokens and the embedded model has room for {capacity}")]
    ContextFull {
        /// The number of tokens of the conversation.
        needed: usize,
        /// The number of tokens that fit.
        capacity: usize,
    },
    /// The inference library failed, because of a defect or lack of memory.
    #[error("inference failed: {}", first_line(.0))]
    Inference(#[from] candle_core::Error),
    /// The tokenizer failed on a text, because of a defect.
    #[error("cannot tokenize: {0}")]
    Tokenize(String),
}

/// Returns the message of the inference library without the backtrace that it may append.
pub(crate) fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
