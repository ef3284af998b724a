//! `ibeam help TOPIC`: the pages of the documentation, which are compressed in the program.
//!
//! A topic is a page of `docs/` or a section of one. Pages are in English.

use std::io::Read as _;

use flate2::read::DeflateDecoder;

/// The compressed pages. `build.rs` has their format.
static PAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pages.deflate"));

/// Topics that are a section of a page: the topic, the page, and the heading of the section.
const SECTIONS: &[(&str, &str, &str)] = &[
    ("caches", "configuration", "Directories that commands may write"),
    ("debug", "trace", "Debug log"),
    ("exit-codes", "output-format", "Failure"),
    ("keys", "configuration", "Keys"),
    ("limits", "configuration", "Limits"),
    ("permissions", "configuration", "Permissions"),
    ("sandbox", "security", "The sandbox"),
    ("stdin", "output-format", "Prompt and stdin"),
];

/// Returns all topics in alphabetical order.
pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<String> = SECTIONS.iter().map(|(name, _, _)| (*name).to_owned()).collect();
    names.extend(pages().split_terminator('\0').step_by(2).map(str::to_owned));
    names.sort_unstable();
    names
}

/// Returns the text of a topic; `None` for an unknown one.
pub(super) fn text(topic: &str) -> Option<String> {
    let section = SECTIONS.iter().find(|(name, _, _)| *name == topic);
    let page = section.map_or(topic, |(_, page, _)| page);
    let pages = pages();
    let mut parts = pages.split_terminator('\0');
    let text = std::iter::from_fn(|| Some((parts.next()?, parts.next()?)))
        .find_map(|(name, text)| (name == page).then_some(text))?;
    Some(match section {
        Some((_, _, heading)) => with_named_pages(&section_of(text, heading)),
        None => with_named_pages(text),
    })
}

/// Returns the decompressed pages.
fn pages() -> String {
    decompress(PAGES)
}

/// Returns a text that `build.rs` compressed.
pub(super) fn decompress(bytes: &[u8]) -> String {
    let mut text = String::new();
    // The tests decompress both texts of the program, so this cannot fail.
    let _ = DeflateDecoder::new(bytes).read_to_string(&mut text);
    text
}

/// Returns the section with its sub-sections.
fn section_of(page: &str, heading: &str) -> String {
    let is_heading = |line: &&str| line.starts_with("## ");
    let mut lines = page.lines().skip_while(|line| line.strip_prefix("## ") != Some(heading));
    let first = lines.next().into_iter();
    let section = first.chain(lines.take_while(|line| !is_heading(line)));
    section.flat_map(|line| [line, "\n"]).collect()
}

/// Replaces links by their text, and links to other pages by the text and the command that shows the page.
fn with_named_pages(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, text, target, after)) = next_link(rest) {
        out.push_str(before);
        out.push_str(text);
        let name = target.split('#').next().unwrap_or_default();
        if let Some(name) = name.strip_suffix(".md").filter(|name| !name.contains('/')) {
            out.push_str(&format!(" (`ibeam help {name}`)"));
        } else if target.contains("://") {
            out.push_str(&format!(" ({target})"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the text before the first link, the text and the target of the link, and the text after it.
fn next_link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = text.find("](")?;
    let (head, tail) = (text.get(..middle)?, text.get(middle + 2..)?);
    let open = head.rfind('[')?;
    let (target, after) = tail.split_once(')')?;
    Some((head.get(..open)?, head.get(open + 1..)?, target, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_and_section_is_a_topic() {
        let names = names();
        for expected in ["output-format", "exit-codes", "permissions", "sandbox", "models", "sessions", "faq"]
        {
            assert!(names.iter().any(|name| name == expected), "{expected}: {names:?}");
        }
        for name in &names {
            let text = text(name).unwrap();
            assert!(text.starts_with('#') && text.lines().count() > 3, "{name}: {text}");
        }
        assert_eq!(text("nothing"), None);
    }

    #[test]
    fn a_section_ends_before_the_next_one() {
        let text = text("exit-codes").unwrap();
        assert!(text.contains("| 78 | `config` |") && !text.contains("## Prompt and stdin"), "{text}");
    }

    #[test]
    fn links_name_the_command_for_the_page() {
        assert_eq!(
            with_named_pages("see [a page](models.md#x), [b](#c)."),
            "see a page (`ibeam help models`), b."
        );
        assert_eq!(with_named_pages("[x](../a.md) [y](https://example.com)"), "x y (https://example.com)");
        assert_eq!(with_named_pages("no link ](here"), "no link ](here");
    }
}
