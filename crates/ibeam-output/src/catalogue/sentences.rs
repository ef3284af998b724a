//! The translations of sentences that are written where they occur.
//!
//! `locales/sentences.txt` has a block for each template: the English text, then a line for each other language, which
//! begins with its code. A test of the binary fails if a template has no block, or a block no template.

use crate::locale::Locale;

static BLOCKS: &str = include_str!("../../locales/sentences.txt");

/// Returns the translation of a template; `None` for English and for an unknown template.
pub(super) fn translation(locale: Locale, template: &str) -> Option<String> {
    let mut blocks = BLOCKS.split("\n\n").map(|block| block.trim_start_matches('\n'));
    let block = blocks.find(|block| block.lines().next() == Some(template))?;
    block
        .lines()
        .skip(1)
        .find_map(|line| Some(line.strip_prefix(locale.code())?.strip_prefix(' ')?.to_owned()))
}
