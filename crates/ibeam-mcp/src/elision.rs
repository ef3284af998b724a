//! Leaving out the middle of a result that is too long, with a note of how much is gone.

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

#[cfg(test)]
mod tests {
    use super::*;

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
