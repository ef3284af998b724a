//! The parts of a unified diff, each as the text before and after.

/// The text of a hunk before and after the change, with its context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) old: String,
    pub(crate) new: String,
    /// The first line of the new text in the file, from 1.
    pub(crate) line: Option<u32>,
}

/// Returns the hunks of a unified diff of one file.
pub(crate) fn hunks(diff: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in diff.split_inclusive('\n') {
        if line.starts_with("@@") {
            hunks.push(Hunk { line: new_line(line), ..Hunk::default() });
            continue;
        }
        // Lines before the first hunk name the files.
        let Some(hunk) = hunks.last_mut() else { continue };
        let Some((sign, text)) = line.split_at_checked(1) else { continue };
        match sign {
            " " => {
                hunk.old.push_str(text);
                hunk.new.push_str(text);
            }
            "-" => hunk.old.push_str(text),
            "+" => hunk.new.push_str(text),
            // An empty line of context may lack its space; other lines, as `\ No newline`, are not content.
            "\n" => {
                hunk.old.push('\n');
                hunk.new.push('\n');
            }
            _ => {}
        }
    }
    hunks
}

/// Returns the first line of the new text that a header such as `@@ -1,3 +1,4 @@` states.
fn new_line(header: &str) -> Option<u32> {
    let range = header.split_whitespace().find_map(|word| word.strip_prefix('+'))?;
    range.split(',').next()?.parse().ok().filter(|line| *line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_texts_of_each_hunk() {
        let diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9,2 @@\n-x\n+y\n+z\n\\ No newline at end of file\n";
        let hunk = |old: &str, new: &str, line| Hunk { old: old.to_owned(), new: new.to_owned(), line };
        assert_eq!(hunks(diff), [hunk("a\nb\n", "a\nc\n", Some(1)), hunk("x\n", "y\nz\n", Some(9))]);
        assert_eq!(hunks("no diff"), []);
    }
}
