//! The files of the translations, which are compressed in the program, and the translations of sentences.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::OnceLock;

use flate2::bufread::DeflateDecoder;

use crate::locale::Locale;

/// The content of a file of `locales/` as `build.rs` compressed it.
macro_rules! compressed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".deflate"))
    };
}

/// Returns a text that a build script compressed with Deflate, up to the first byte that is not valid.
pub fn decompress(bytes: &[u8]) -> String {
    let mut text = String::new();
    // The tests decompress every text of the program, so this cannot fail.
    let _ = DeflateDecoder::new(bytes).read_to_string(&mut text);
    text
}

/// Returns the messages of a locale.
pub(super) fn messages(locale: Locale) -> String {
    match locale {
        Locale::En => include_str!("../../locales/en.ftl").to_owned(),
        Locale::Es => decompress(compressed!("es")),
        Locale::Id => decompress(compressed!("id")),
        Locale::Ja => decompress(compressed!("ja")),
        Locale::Fr => decompress(compressed!("fr")),
        Locale::Pt => decompress(compressed!("pt")),
    }
}

/// Returns the blocks of sentences. The first call decompresses them.
fn sentences() -> &'static str {
    static BLOCKS: OnceLock<String> = OnceLock::new();
    BLOCKS.get_or_init(|| decompress(compressed!("sentences")))
}

/// Returns the translation of a text, or of the template of a sentence; `None` for English and for an unknown text.
///
/// `locales/sentences.txt` has a block for each text: the English text, then a line for each other language, which begins
/// with its code. A test of the binary fails if a text has no block, or a block no text.
pub(super) fn translation(locale: Locale, english: &str) -> Option<&'static str> {
    static BLOCKS: OnceLock<HashMap<&str, &str>> = OnceLock::new();
    if locale == Locale::En {
        return None;
    }
    let blocks = BLOCKS.get_or_init(|| {
        let blocks = sentences().split("\n\n").map(|block| block.trim_start_matches('\n'));
        blocks.filter_map(|block| block.split_once('\n')).collect()
    });
    let mut translations = blocks.get(english)?.lines();
    translations.find_map(|line| line.strip_prefix(locale.code())?.strip_prefix(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compressed_files_are_those_of_the_directory() {
        for (locale, file) in [
            (Locale::En, include_str!("../../locales/en.ftl")),
            (Locale::Es, include_str!("../../locales/es.ftl")),
            (Locale::Id, include_str!("../../locales/id.ftl")),
            (Locale::Ja, include_str!("../../locales/ja.ftl")),
            (Locale::Fr, include_str!("../../locales/fr.ftl")),
            (Locale::Pt, include_str!("../../locales/pt.ftl")),
        ] {
            assert_eq!(messages(locale), file, "{locale:?}");
        }
        assert_eq!(sentences(), include_str!("../../locales/sentences.txt"));
    }
}
