//! The tokenizer of the model file: from text to tokens, and from tokens to bytes.
//!
//! Text never becomes a control token: a file that contains `<|im_end|>` is tokenized as those ten characters.

use std::collections::HashMap;

use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use tokenizers::Tokenizer;

use crate::LocalError;

/// The tokenizer of a model, and the bytes of its tokens.
pub struct Vocabulary {
    tokenizer: Tokenizer,
    /// The bytes of all tokens; piece `i` is `bytes[ends[i - 1]..ends[i]]`.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The token that starts a message: `<|im_start|>`.
    pub(crate) message_start: u32,
    /// The token that ends a message: `<|im_end|>`.
    pub(crate) message_end: u32,
}

impl Vocabulary {
    /// Reads the tokenizer of a GGUF file.
    ///
    /// # Errors
    /// A message that names the missing property.
    pub(crate) fn read(content: &Content) -> Result<Self, String> {
        let mut tokenizer = Tokenizer::from_gguf(content).map_err(|error| error.to_string())?;
        tokenizer.set_encode_special_tokens(true);
        let names = content
            .metadata
            .get("tokenizer.ggml.tokens")
            .and_then(|value| value.to_vec().ok())
            .ok_or("`tokenizer.ggml.tokens` is missing")?;
        let kinds = content.metadata.get("tokenizer.ggml.token_type").and_then(|value| value.to_vec().ok());
        let letters = bytes_by_letter();
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(names.len()));
        let (mut message_start, mut message_end) = (None, None);
        for (id, name) in (0u32..).zip(names) {
            let name = name.to_string().map_err(|_| format!("token {id} is not text"))?;
            match name.as_str() {
                "<|im_start|>" => message_start = Some(id),
                "<|im_end|>" => message_end = Some(id),
                _ => {}
            }
            let kind = kinds.and_then(|kinds| kinds.get(id as usize)).and_then(|kind| kind.to_i32().ok());
            if !is_control(kind, name) {
                bytes.extend(name.chars().filter_map(|letter| letters.get(&letter)));
            }
            ends.push(bytes.len());
        }
        Ok(Self {
            tokenizer,
            bytes,
            ends,
            message_start: message_start.ok_or("it has no token `<|im_start|>`")?,
            message_end: message_end.ok_or("it has no token `<|im_end|>`")?,
        })
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no tokens. Never true for a loaded model.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the tokens of `text`, without control tokens.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, LocalError> {
        let encoding = self.tokenizer.encode_fast(text, false);
        encoding
            .map(|encoding| encoding.get_ids().to_vec())
            .map_err(|error| LocalError::Tokenize(error.to_string()))
    }

    /// Returns the bytes of token `id`; empty for control tokens and unknown ids.
    pub fn piece(&self, id: u32) -> &[u8] {
        let index = id as usize;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Whether token `id` has no text.
    pub(crate) fn is_control(&self, id: u32) -> bool {
        self.piece(id).is_empty()
    }
}

/// Whether a token is a control token. Kinds are llama.cpp's `llama_token_type`: 3 is control, 5 unused. In files without kinds
/// the name decides.
fn is_control(kind: Option<i32>, name: &str) -> bool {
    match kind {
        Some(kind) => kind == 3 || kind == 5,
        None => name.starts_with("<|") && name.ends_with("|>"),
    }
}

/// Returns the byte for each character of a byte-level vocabulary (GPT-2, `bytes_to_unicode`).
pub(crate) fn bytes_by_letter() -> HashMap<char, u8> {
    let mut spare = 256u32;
    (0..=255u8)
        .filter_map(|byte| {
            let printable = matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
            let code = if printable {
                u32::from(byte)
            } else {
                spare += 1;
                spare - 1
            };
            char::from_u32(code).map(|letter| (letter, byte))
        })
        .collect()
}
