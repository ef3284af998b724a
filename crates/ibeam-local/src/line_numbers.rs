//! Removal of line numbers from numbered listings. The model would copy the numbers into the files that it writes.

/// Returns `text` without line numbers if the numbers are consecutive, else `text` unchanged.
///
/// A line number consists of digits and a following tab, `→`, `|` or `: `. Lines after the last numbered one, such as a
/// remark of the tool, stay.
pub(crate) fn strip_line_numbers(text: &str) -> String {
    let mut expected = None;
    let mut plain = String::with_capacity(text.len());
    let mut numbered = true;
    for line in text.split_inclusive('\n') {
        let Some((number, content)) = split_number(line).filter(|_| numbered) else {
            if expected.is_none() {
                return text.to_owned();
            }
            numbered = false;
            plain.push_str(line);
            continue;
        };
        if expected.is_some_and(|expected| expected != number) {
            return text.to_owned();
        }
        expected = number.checked_add(1);
        plain.push_str(content);
    }
    plain
}

fn split_number(line: &str) -> Option<(u64, &str)> {
    let trimmed = line.trim_start_matches(' ');
    let digits = trimmed.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, rest) = trimmed.split_at(digits);
    let content = ["\t", "→", "|", ": "].iter().find_map(|mark| rest.strip_prefix(mark))?;
    Some((number.parse().ok()?, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listing: &str, plain: &str) {
        assert_eq!(strip_line_numbers(listing), plain);
    }

    #[test]
    fn consecutive_numbers_are_removed() {
        check("     1\talpha\n     2\tbeta\n", "alpha\nbeta\n");
        check("7→x\n8→\n9→y", "x\n\ny");
    }

    #[test]
    fn a_remark_after_the_listing_stays() {
        check("1\ta\n2\tb\n(3 more lines)\n", "a\nb\n(3 more lines)\n");
    }

    #[test]
    fn other_text_with_numbers_is_unchanged() {
        check("1\ta\n5\tb\n", "1\ta\n5\tb\n");
        check("plain\n1\ta\n", "plain\n1\ta\n");
        check("", "");
    }
}
