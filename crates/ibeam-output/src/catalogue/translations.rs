//! The files of the translations, which are compressed in the program, and the translations of sentences.

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

/// Returns the translation of the template of a sentence; `None` for English and for an unknown template.
///
/// `locales/sentences.txt` has a block for each template: the English text, then a line for each other language, which
/// begins with its code. A test of the binary fails if a template has no block, or a block no template.
pub(super) fn sentence(locale: Locale, template: &str) -> Option<String> {
    if locale == Locale::En {
        return None;
    }
    let mut blocks = sentences().split("\n\n").map(|block| block.trim_start_matches('\n'));
    let block = blocks.find(|block| block.lines().next() == Some(template))?;
    block
        .lines()
        .skip(1)
        .find_map(|line| Some(line.strip_prefix(locale.code())?.strip_prefix(' ')?.to_owned()))
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
