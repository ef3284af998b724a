//! Replaces exact text.
//!
//! An old text with LF also matches CRLF in the file; the new text then takes the file's line ends. Errors are words
//! that follow the path: how often the old text was found, where, and what to do.

use std::borrow::Cow;

use ibeam_protocol::{Sentence, sentence};
use icu_normalizer::ComposingNormalizerBorrowed;
use memchr::memmem;

use super::edit_call::Replacement;

/// A text in which every CRLF is an LF, and how its positions correspond to those of the original.
pub(super) struct LfText<'a> {
    /// The text with LF only.
    pub(super) text: Cow<'a, [u8]>,
    /// Positions in `text` of those LF that were CRLF, ascending.
    crlf_positions: Vec<usize>,
}

impl<'a> LfText<'a> {
    /// Replaces every CRLF; borrows when there is none.
    pub(super) fn new(original: &'a [u8]) -> Self {
        let mut crlf_positions = Vec::new();
        let mut text = Vec::new();
        let mut taken = 0;
        for at in memchr::memmem::find_iter(original, b"\r\n") {
            text.extend_from_slice(original.get(taken..at).unwrap_or_default());
            crlf_positions.push(text.len());
            taken = at + 1;
        }
        if crlf_positions.is_empty() {
            return Self { text: Cow::Borrowed(original), crlf_positions };
        }
        text.extend_from_slice(original.get(taken..).unwrap_or_default());
        Self { text: Cow::Owned(text), crlf_positions }
    }

    /// Returns the position in the original of `position` in the text; before the CR of a CRLF, not inside.
    pub(super) fn original_position(&self, position: usize) -> usize {
        position + self.crlf_positions.partition_point(|crlf| *crlf < position)
    }

    /// Whether the LF at `position` is a CRLF in the original.
    pub(super) fn is_crlf(&self, position: usize) -> bool {
        self.crlf_positions.binary_search(&position).is_ok()
    }

    /// Whether the original has no CRLF.
    pub(super) fn is_unchanged(&self) -> bool {
        self.crlf_positions.is_empty()
    }
}

/// Applies all `edits`, each to the result of the one before; all or none.
pub(super) fn apply(text: &[u8], path: &str, edits: &[Replacement]) -> Result<Vec<u8>, Sentence> {
    let mut current = text.to_vec();
    for (number, edit) in (1..).zip(edits) {
        current = apply_one(&current, path, edit).map_err(|reason| match edits.len() {
            1 => reason,
            all => {
                let file = format!("`{path}`");
                let reason = reason.strip_prefix(&file).unwrap_or(&reason);
                format!("{file} was not changed: edit {number} of {all} does not fit, the file{reason}")
                    .into()
            }
        })?;
    }
    Ok(current)
}

fn apply_one(text: &[u8], path: &str, edit: &Replacement) -> Result<Vec<u8>, Sentence> {
    let (old, new) = (edit.old_text.as_bytes(), edit.new_text.as_bytes());
    if old.is_empty() {
        return Err(format!(
            "`{path}` cannot be edited with an empty `oldText`; copy the text to replace from the file, or use `write` \
             for the whole file"
        )
        .into());
    }
    if old == new {
        return Err(sentence!("`{path}` stays the same: `oldText` and `newText` are equal", path));
    }
    // A CR in the old text shows that line ends matter, so they are compared exactly.
    let folded = if old.contains(&b'\r') { None } else { Some(LfText::new(text)) };
    let folded = folded.filter(|folded| !folded.is_unchanged());
    let searched = folded.as_ref().map_or(text, |folded| &folded.text);
    let found: Vec<usize> = memmem::find_iter(searched, old).collect();
    match found.as_slice() {
        [] => return Err(no_match_error(searched, path, &edit.old_text)),
        [_] => {}
        [..] if edit.replace_all == Some(true) => {}
        several => return Err(several_matches_error(searched, path, several)),
    }
    let mut result = Vec::with_capacity(text.len() + new.len());
    let mut taken = 0;
    for start in found {
        let change = match &folded {
            Some(folded) if !new.contains(&b'\r') => changed_span(folded, start, old, new),
            Some(folded) => Span {
                start: folded.original_position(start),
                end: folded.original_position(start + old.len()),
                text: new.to_vec(),
            },
            None => Span { start, end: start + old.len(), text: new.to_vec() },
        };
        result.extend_from_slice(text.get(taken..change.start).unwrap_or_default());
        result.extend_from_slice(&change.text);
        taken = change.end;
    }
    result.extend_from_slice(text.get(taken..).unwrap_or_default());
    Ok(result)
}

/// Bytes `start..end` of the original become `text`.
struct Span {
    start: usize,
    end: usize,
    text: Vec<u8>,
}

/// Returns the part of a match in which old and new differ, with the line ends of its position.
fn changed_span(folded: &LfText<'_>, at: usize, old: &[u8], new: &[u8]) -> Span {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let shorter = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    let (start, end) = (at + head, at + old.len() - tail);
    let text = new.get(head..new.len() - tail).unwrap_or_default();

    let after = folded.text.get(start..).unwrap_or_default();
    let before = folded.text.get(..start).unwrap_or_default();
    let line_end =
        memchr::memchr(b'\n', after).map(|next| start + next).or_else(|| memchr::memrchr(b'\n', before));
    let text = match line_end {
        Some(line_end) if folded.is_crlf(line_end) => with_crlf(text),
        Some(_) | None => text.to_vec(),
    };
    Span { start: folded.original_position(start), end: folded.original_position(end), text }
}

fn with_crlf(text: &[u8]) -> Vec<u8> {
    let mut crlf = Vec::with_capacity(text.len() + 16);
    for byte in text {
        if *byte == b'\n' {
            crlf.push(b'\r');
        }
        crlf.push(*byte);
    }
    crlf
}

fn several_matches_error(text: &[u8], path: &str, found: &[usize]) -> Sentence {
    let lines: Vec<String> = found.iter().take(5).map(|at| line_number_at(text, *at).to_string()).collect();
    let more = if found.len() > 5 { " …" } else { "" };
    sentence!(
        "`{path}` has `oldText` {count} times (lines {lines}); add lines around it until it is unique, or set \
         `replaceAll`",
        path,
        count = found.len(),
        lines = format!("{}{more}", lines.join(", "))
    )
}

fn no_match_error(text: &[u8], path: &str, old: &str) -> Sentence {
    let what = if let Some(line) = find_similar_lines(text, old, &str::to_owned) {
        sentence!("at line {line} it differs only in white space: copy that exactly", line)
    } else if let Some(line) = find_similar_lines(text, old, &plain_characters) {
        format!(
            "at line {line} it differs only in how characters are composed (Unicode NFC or NFD), or in the form of quotes, \
             dashes or blanks: copy that exactly, or choose a part without such characters"
        )
        .into()
    } else if old.lines().all(has_line_number) {
        sentence!("leave out the line numbers that `read` shows")
    } else {
        sentence!("read the file again and copy the text exactly")
    };
    sentence!("`{path}` does not contain `oldText` (0 matches); {what}", path, what)
}

/// Returns a line with composed characters, and with ASCII for quotes, dashes, dots and what is not visible.
fn plain_characters(line: &str) -> String {
    let composed = ComposingNormalizerBorrowed::new_nfc().normalize(line);
    let mut plain = String::with_capacity(composed.len());
    for c in composed.chars() {
        match c {
            '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{b4}' | '`' => plain.push('\''),
            '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => plain.push('"'),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
            '\u{2026}' => plain.push_str("..."),
            '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => {}
            c => plain.push(c),
        }
    }
    plain
}

/// Returns the first line at which the lines of `old` match, ignoring white space, after `fold`.
fn find_similar_lines(text: &[u8], old: &str, fold: &dyn Fn(&str) -> String) -> Option<u64> {
    let words = |line: &str| fold(line).split_whitespace().collect::<String>();
    let needle_lines: Vec<String> = old.lines().map(words).skip_while(String::is_empty).collect();
    if needle_lines.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(text);
    let have: Vec<String> = text.lines().map(words).collect();
    let at = have.windows(needle_lines.len()).position(|window| window == needle_lines)?;
    Some(at as u64 + 1)
}

fn has_line_number(line: &str) -> bool {
    line.trim_start().split_once('\t').is_some_and(|(number, _)| number.parse::<u64>().is_ok())
}

fn line_number_at(text: &[u8], at: usize) -> u64 {
    let before = text.get(..at).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() as u64 + 1
}
