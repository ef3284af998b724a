//! Making short what a server says at length: results, with a note of how much is gone, and words in a sentence.

/// What a call gives the model at the most, in bytes; the shell's bound.
const LIMIT: usize = 30 << 10;

/// `text` when it fits; else two thirds of the limit from its head and the rest from its tail, cut between characters.
pub(crate) fn elide(text: String) -> String {
    if text.len() <= LIMIT {
        return text;
    }
    let head = text.get(..text.floor_char_boundary(LIMIT / 3 * 2)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - LIMIT / 3)..).unwrap_or_default();
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n… {left_out} bytes left out …\n{tail}")
}

/// Characters of a server's words within a sentence of ours.
const WORDS: usize = 400;

/// The begin of `text`, `…` where something was cut.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_between_characters() {
        assert_eq!(shortened("é"), "é");
        assert_eq!(shortened(&"é".repeat(401)), format!("{}…", "é".repeat(400)));
    }

    #[test]
    fn a_text_that_fits_is_unchanged() {
        let text = "x".repeat(LIMIT);
        assert_eq!(elide(text.clone()), text);
    }

    #[test]
    fn the_middle_of_a_long_text_is_counted_and_no_character_is_cut() {
        let told = elide("é".repeat(LIMIT));
        assert!(told.contains("\n… 30720 bytes left out …\n"), "{told}");
        assert!(told.starts_with('é') && told.ends_with('é') && told.len() < LIMIT + 60);
    }
}
