//! Greedy decoding under guidance: literals are fed, choices are made among literals, free text has an end.
//!
//! The model never decides whether an answer is well formed; it only fills the places left open for it.

use crate::copy_guard::{self, CopyGuard};
use crate::engine::LanguageModel;
use crate::fence::FenceReader;
use crate::utf8::Utf8Buffer;
use crate::{LocalError, Vocabulary, repeat};

/// Why decoding ended before its place was filled.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Nobody waits for the answer any more.
    Cancelled,
    /// The engine failed.
    Failed(LocalError),
}

impl From<LocalError> for Halt {
    fn from(error: LocalError) -> Self {
        Self::Failed(error)
    }
}

/// A free text and whether it reached its own end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FreeText {
    pub(crate) text: String,
    /// False when the token limit cut it.
    pub(crate) complete: bool,
}

/// Fills the open places of one answer.
pub(crate) struct Decoder<'a> {
    model: &'a mut dyn LanguageModel,
    proceed: &'a dyn Fn() -> bool,
    generated: usize,
}

impl<'a> Decoder<'a> {
    /// Decodes after what `model` has read; `proceed` is asked before each token.
    pub(crate) fn new(model: &'a mut dyn LanguageModel, proceed: &'a dyn Fn() -> bool) -> Self {
        Self { model, proceed, generated: 0 }
    }

    /// How many tokens have been added since the start, fed ones included.
    pub(crate) fn generated(&self) -> usize {
        self.generated
    }

    /// Feeds `text` as if the model had written it.
    pub(crate) fn feed(&mut self, text: &str) -> Result<(), Halt> {
        let tokens = self.model.vocabulary().encode(text)?;
        self.append(&tokens)
    }

    /// Lets the model choose one of `options` and returns its index; the option's text has been fed then.
    ///
    /// An option that is the beginning of another one can be chosen only if `closed` appends the message end.
    /// With no option at all the index is 0 and nothing is fed.
    pub(crate) fn choose(&mut self, options: &[String], closed: bool) -> Result<usize, Halt> {
        let mut live = Vec::with_capacity(options.len());
        for (index, option) in options.iter().enumerate() {
            let mut tokens = self.model.vocabulary().encode(option)?;
            if closed {
                tokens.push(self.model.vocabulary().message_end);
            }
            live.push((index, tokens));
        }
        let mut depth = 0;
        while live.len() > 1 {
            let next = live.iter().filter_map(|(_, tokens)| tokens.get(depth).copied());
            // Only options with the same tokens can all have ended: they are the same option.
            let Some(best) = self.best(next) else { break };
            live.retain(|(_, tokens)| tokens.get(depth) == Some(&best));
            self.append(&[best])?;
            depth += 1;
        }
        let Some((index, tokens)) = live.into_iter().next() else { return Ok(0) };
        self.append(tokens.get(depth..).unwrap_or_default())?;
        Ok(index)
    }

    /// Lets the model write one line of at most `limit` tokens; the line break is not part of it and not fed.
    pub(crate) fn line(&mut self, limit: usize) -> Result<FreeText, Halt> {
        let mut line = Utf8Buffer::default();
        let mut text = String::new();
        for count in 0..limit {
            let token = self.next(|vocabulary, token| {
                let blank = vocabulary.piece(token).iter().all(u8::is_ascii_whitespace);
                let barred = count == 0 && (blank || token == vocabulary.message_end);
                (!barred).then_some(0.0)
            })?;
            if token == self.model.vocabulary().message_end {
                return Ok(FreeText { text, complete: true });
            }
            let piece = self.model.vocabulary().piece(token).to_vec();
            if let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
                let rest = line.push(piece.get(..end).unwrap_or_default());
                self.feed(&rest)?;
                text.push_str(&rest);
                return Ok(FreeText { text, complete: true });
            }
            text.push_str(&line.push(&piece));
            self.append(&[token])?;
        }
        Ok(FreeText { text, complete: false })
    }

    /// Lets the model write the inside of a fence of three backticks, which has been opened; the fence is fed.
    pub(crate) fn fenced(&mut self, limit: usize, guard: &mut CopyGuard) -> Result<FreeText, Halt> {
        let mut utf8 = Utf8Buffer::default();
        let mut fence = FenceReader::default();
        let mut written = Vec::new();
        while written.len() < limit {
            let token = self.next_guarded(&written, guard, false)?;
            if token == self.model.vocabulary().message_end {
                return Ok(FreeText { text: fence.finish(), complete: true });
            }
            let text = utf8.push(self.model.vocabulary().piece(token));
            self.append(&[token])?;
            written.push(token);
            guard.wrote(token);
            if fence.push(&text) {
                return Ok(FreeText { text: fence.finish(), complete: true });
            }
        }
        Ok(FreeText { text: fence.finish(), complete: false })
    }

    /// Lets the model write until it ends its message, handing each piece to `tell` as it comes.
    pub(crate) fn message(&mut self, limit: usize, tell: &mut dyn FnMut(&str)) -> Result<FreeText, Halt> {
        let mut utf8 = Utf8Buffer::default();
        let mut text = String::new();
        let mut written = Vec::new();
        let guard = CopyGuard::default();
        while written.len() < limit {
            let token = self.next_guarded(&written, &guard, text.trim().is_empty())?;
            if token == self.model.vocabulary().message_end {
                return Ok(FreeText { text, complete: true });
            }
            let piece = utf8.push(self.model.vocabulary().piece(token));
            // The protocol leaves a line break before the text; it is not part of it.
            let piece = if text.is_empty() { piece.trim_start() } else { &piece };
            if !piece.is_empty() {
                tell(piece);
                text.push_str(piece);
            }
            self.append(&[token])?;
            written.push(token);
        }
        Ok(FreeText { text, complete: false })
    }

    fn next_guarded(&mut self, written: &[u32], guard: &CopyGuard, must_go_on: bool) -> Result<u32, Halt> {
        let copies = guard.copies();
        let circle = repeat::continuation(written);
        self.next(|vocabulary, token| {
            if (must_go_on && token == vocabulary.message_end) || circle == Some(token) {
                return None;
            }
            let copied = copies.contains(&token) && begins_word(vocabulary.piece(token));
            Some(if copied { copy_guard::PENALTY } else { 0.0 })
        })
    }

    /// The likeliest token that is not control (but for the message end), by its score less what `cost` takes.
    ///
    /// `cost` is `None` for a token that may not come.
    fn next(&mut self, cost: impl Fn(&Vocabulary, u32) -> Option<f32>) -> Result<u32, Halt> {
        let vocabulary = self.model.vocabulary();
        let end = vocabulary.message_end;
        let allowed = (0u32..)
            .zip(self.model.logits())
            .filter(|&(token, _)| token == end || !vocabulary.is_control(token))
            .filter_map(|(token, score)| Some((token, score - cost(vocabulary, token)?)));
        // No token at all is left only by a vocabulary without text; then the message is over.
        Ok(likeliest(allowed).unwrap_or(end))
    }

    fn best(&self, tokens: impl Iterator<Item = u32>) -> Option<u32> {
        let logits = self.model.logits();
        likeliest(
            tokens.map(|token| (token, logits.get(token as usize).copied().unwrap_or(f32::NEG_INFINITY))),
        )
    }

    fn append(&mut self, tokens: &[u32]) -> Result<(), Halt> {
        if !(self.proceed)() {
            return Err(Halt::Cancelled);
        }
        self.generated += tokens.len();
        Ok(self.model.append(tokens)?)
    }
}

/// Whether a token opens a word; inside of one there is no choice but to spell it out.
fn begins_word(piece: &[u8]) -> bool {
    piece.first().is_some_and(|first| first.is_ascii() && !first.is_ascii_alphanumeric())
}

/// The first of the highest scores; one that is no number counts as the lowest.
fn likeliest(scored: impl Iterator<Item = (u32, f32)>) -> Option<u32> {
    scored
        .map(|(token, score)| (token, if score.is_nan() { f32::NEG_INFINITY } else { score }))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(token, _)| token)
}
