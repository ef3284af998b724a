//! Guided greedy decoding: fixed texts are appended, the model chooses among given texts or writes free text with an end.
//!
//! The form of an answer does not depend on the model; it only fills the gaps.

use crate::engine::LanguageModel;
mod json_text;

use crate::incremental_text::FenceReader;
use crate::incremental_text::Utf8Buffer;
use crate::repetition::{self, CopyGuard};
use crate::{LocalError, Vocabulary};
use json_text::JsonString;

/// The reason why decoding stopped early.
#[derive(Debug)]
pub(crate) enum DecodeError {
    /// The receiver of the answer was dropped.
    Cancelled,
    /// The engine failed.
    Failed(LocalError),
}

impl From<LocalError> for DecodeError {
    fn from(error: LocalError) -> Self {
        Self::Failed(error)
    }
}

/// A text that the model wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FreeText {
    pub(crate) text: String,
    /// False if the token limit cut the text.
    pub(crate) complete: bool,
}

pub(crate) struct GuidedDecoder<'a> {
    model: &'a mut dyn LanguageModel,
    should_continue: &'a dyn Fn() -> bool,
    output_tokens: usize,
}

impl<'a> GuidedDecoder<'a> {
    /// Creates a decoder that continues the tokens of `model`. It calls `should_continue` before each token.
    pub(crate) fn new(model: &'a mut dyn LanguageModel, should_continue: &'a dyn Fn() -> bool) -> Self {
        Self { model, should_continue, output_tokens: 0 }
    }

    /// Returns the number of tokens since the start, including appended ones.
    pub(crate) fn output_tokens(&self) -> usize {
        self.output_tokens
    }

    /// Appends `text` as if the model had written it.
    pub(crate) fn append_text(&mut self, text: &str) -> Result<(), DecodeError> {
        let tokens = self.model.vocabulary().encode(text)?;
        self.append(&tokens)
    }

    /// Lets the model choose one of `options`, appends the text of the option and returns its index.
    ///
    /// An option that is a prefix of another one can be chosen only if `ends_message`, which appends the message
    /// end. Without any option the index is 0.
    pub(crate) fn choose(&mut self, options: &[String], ends_message: bool) -> Result<usize, DecodeError> {
        let mut live = Vec::with_capacity(options.len());
        for (index, option) in options.iter().enumerate() {
            let mut tokens = self.model.vocabulary().encode(option)?;
            if ends_message {
                tokens.push(self.model.vocabulary().message_end);
            }
            live.push((index, tokens));
        }
        let mut depth = 0;
        while live.len() > 1 {
            let next = live.iter().filter_map(|(_, tokens)| tokens.get(depth).copied());
            // If all options have ended, they are equal.
            let Some(best) = self.best_token(next) else { break };
            live.retain(|(_, tokens)| tokens.get(depth) == Some(&best));
            self.append(&[best])?;
            depth += 1;
        }
        let Some((index, tokens)) = live.into_iter().next() else { return Ok(0) };
        self.append(tokens.get(depth..).unwrap_or_default())?;
        Ok(index)
    }

    /// Lets the model write one line of at most `limit` tokens. The line break is neither returned nor appended.
    pub(crate) fn decode_line(&mut self, limit: usize) -> Result<FreeText, DecodeError> {
        let mut line = Utf8Buffer::default();
        let mut text = String::new();
        for count in 0..limit {
            let token = self.next_token(|vocabulary, token| {
                let blank = vocabulary.piece(token).iter().all(u8::is_ascii_whitespace);
                let is_excluded = count == 0 && (blank || token == vocabulary.message_end);
                (!is_excluded).then_some(0.0)
            })?;
            if token == self.model.vocabulary().message_end {
                return Ok(FreeText { text, complete: true });
            }
            let piece = self.model.vocabulary().piece(token).to_vec();
            if let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
                let rest = line.push(piece.get(..end).unwrap_or_default());
                self.append_text(&rest)?;
                text.push_str(&rest);
                return Ok(FreeText { text, complete: true });
            }
            text.push_str(&line.push(&piece));
            self.append(&[token])?;
        }
        Ok(FreeText { text, complete: false })
    }

    /// Lets the model write the content of a code fence whose opening line was appended. The closing line is appended too.
    pub(crate) fn decode_fenced(
        &mut self,
        limit: usize,
        guard: &mut CopyGuard,
    ) -> Result<FreeText, DecodeError> {
        let mut utf8 = Utf8Buffer::default();
        let mut fence = FenceReader::default();
        let mut written = Vec::new();
        while written.len() < limit {
            let token = self.next_without_repetition(&written, guard, false)?;
            if token == self.model.vocabulary().message_end {
                return Ok(FreeText { text: fence.finish(), complete: true });
            }
            let text = utf8.push(self.model.vocabulary().piece(token));
            self.append(&[token])?;
            written.push(token);
            guard.add_token(token);
            if fence.push(&text) {
                return Ok(FreeText { text: fence.finish(), complete: true });
            }
        }
        Ok(FreeText { text: fence.finish(), complete: false })
    }

    /// Lets the model write until the message end, and calls `on_text` with each piece.
    pub(crate) fn decode_message(
        &mut self,
        limit: usize,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<FreeText, DecodeError> {
        let mut utf8 = Utf8Buffer::default();
        let mut text = String::new();
        let mut written = Vec::new();
        let guard = CopyGuard::default();
        while written.len() < limit {
            let token = self.next_without_repetition(&written, &guard, text.trim().is_empty())?;
            if token == self.model.vocabulary().message_end {
                return Ok(FreeText { text, complete: true });
            }
            let piece = utf8.push(self.model.vocabulary().piece(token));
            // The line break before the text is not part of it.
            let piece = if text.is_empty() { piece.trim_start() } else { &piece };
            if !piece.is_empty() {
                on_text(piece);
                text.push_str(piece);
            }
            self.append(&[token])?;
            written.push(token);
        }
        Ok(FreeText { text, complete: false })
    }

    /// Returns the index of the text whose first token the model prefers, without appending it; 0 if there is no text.
    ///
    /// `texts` are pairs of an index and a text.
    pub(crate) fn preferred_index(&self, texts: &[(usize, String)]) -> Result<usize, DecodeError> {
        let mut first_tokens = Vec::with_capacity(texts.len());
        for (index, text) in texts {
            first_tokens.extend(self.model.vocabulary().encode(text)?.first().map(|&token| (*index, token)));
        }
        let best = self.best_token(first_tokens.iter().map(|&(_, token)| token));
        let chosen = first_tokens.iter().find(|&&(_, token)| Some(token) == best);
        Ok(chosen.map_or(0, |&(index, _)| index))
    }

    /// Lets the model write a JSON string of at most `limit` tokens, and of `min` to `max` characters if the limit permits.
    /// Returns its value.
    pub(crate) fn decode_json_string(
        &mut self,
        limit: usize,
        min: usize,
        max: usize,
    ) -> Result<String, DecodeError> {
        self.append_text("\"")?;
        let mut string = JsonString::new(min, max);
        let mut written = Vec::new();
        while written.len() < limit && !string.is_full() {
            let looping = repetition::looping_token(&written);
            let token = self.next_token(|vocabulary, token| {
                let is_allowed = looping != Some(token) && string.allows(vocabulary.piece(token));
                is_allowed.then_some(0.0)
            })?;
            let vocabulary = self.model.vocabulary();
            if token == vocabulary.message_end || string.push(vocabulary.piece(token)) {
                break;
            }
            self.append(&[token])?;
            written.push(token);
        }
        self.append_text("\"")?;
        Ok(string.finish())
    }

    /// Lets the model write a JSON number. Returns its text.
    pub(crate) fn decode_json_number(&mut self, integer: bool) -> Result<String, DecodeError> {
        let mut text = String::new();
        while text.len() < json_text::MAX_NUMBER_LEN {
            let token = self.next_token(|vocabulary, token| {
                let piece = vocabulary.piece(token);
                let is_allowed = json_text::continues_number(&text, piece, integer)
                    || (json_text::is_number(&text) && json_text::ends_value(piece));
                is_allowed.then_some(0.0)
            })?;
            let piece = self.model.vocabulary().piece(token);
            if !json_text::continues_number(&text, piece, integer) {
                break;
            }
            text.push_str(&String::from_utf8_lossy(piece));
            self.append(&[token])?;
        }
        if !json_text::is_number(&text) {
            self.append_text("0")?;
            text.push('0');
        }
        Ok(text)
    }

    fn next_without_repetition(
        &mut self,
        written: &[u32],
        guard: &CopyGuard,
        needs_text: bool,
    ) -> Result<u32, DecodeError> {
        let copies = guard.copying_tokens();
        let looping = repetition::looping_token(written);
        self.next_token(|vocabulary, token| {
            if (needs_text && token == vocabulary.message_end) || looping == Some(token) {
                return None;
            }
            let copies = copies.contains(&token) && starts_word(vocabulary.piece(token));
            Some(if copies { repetition::COPY_PENALTY } else { 0.0 })
        })
    }

    /// Returns the token with the highest score minus penalty, without control tokens except for the message end.
    ///
    /// `penalty` is `None` for a token that is not allowed.
    fn next_token(&mut self, penalty: impl Fn(&Vocabulary, u32) -> Option<f32>) -> Result<u32, DecodeError> {
        let vocabulary = self.model.vocabulary();
        let end = vocabulary.message_end;
        let allowed = (0u32..)
            .zip(self.model.logits())
            .filter(|&(token, _)| token == end || !vocabulary.is_control(token))
            .filter_map(|(token, score)| Some((token, score - penalty(vocabulary, token)?)));
        // Only a vocabulary without text has no allowed token. Then the message ends.
        Ok(likeliest(allowed).unwrap_or(end))
    }

    fn best_token(&self, tokens: impl Iterator<Item = u32>) -> Option<u32> {
        let logits = self.model.logits();
        likeliest(
            tokens.map(|token| (token, logits.get(token as usize).copied().unwrap_or(f32::NEG_INFINITY))),
        )
    }

    fn append(&mut self, tokens: &[u32]) -> Result<(), DecodeError> {
        if !(self.should_continue)() {
            return Err(DecodeError::Cancelled);
        }
        self.output_tokens += tokens.len();
        Ok(self.model.append(tokens)?)
    }
}

/// Whether a token starts a word. The rest of a word has no alternative.
fn starts_word(piece: &[u8]) -> bool {
    piece.first().is_some_and(|first| first.is_ascii() && !first.is_ascii_alphanumeric())
}

/// Returns the first token with the highest score. NaN counts as the lowest score.
fn likeliest(scored: impl Iterator<Item = (u32, f32)>) -> Option<u32> {
    scored
        .map(|(token, score)| (token, if score.is_nan() { f32::NEG_INFINITY } else { score }))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(token, _)| token)
}
