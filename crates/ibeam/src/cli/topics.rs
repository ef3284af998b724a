//! `ibeam help TOPIC`: the pages of the documentation, which are compressed in the program.
//!
//! A topic is a page of `docs/` or a section of one. Pages are in English.

use ibeam_output::decompress;

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
pub(super) fn names() -> Vec<String> {
    titles().into_iter().map(|(name, _)| name).collect()
}

/// Returns all topics in alphabetical order, each with the title of its page, and of its section.
pub(crate) fn titles() -> Vec<(String, String)> {
    let pages = pages();
    let mut titles = Vec::new();
    for (page, text) in pages_in(&pages) {
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        titles.push((page.to_owned(), title.to_owned()));
        let subject = title.split(':').next().unwrap_or(title);
        let sections = SECTIONS.iter().filter(|(_, of, _)| *of == page);
        titles
            .extend(sections.map(|(name, _, heading)| ((*name).to_owned(), format!("{subject}: {heading}"))));
    }
    titles.sort_unstable();
    titles
}

/// Returns the text of a topic; `None` for an unknown one.
pub(super) fn text(topic: &str) -> Option<String> {
    let section = SECTIONS.iter().find(|(name, _, _)| *name == topic);
    let page = section.map_or(topic, |(_, page, _)| page);
    let pages = pages();
    let text = pages_in(&pages).find_map(|(name, text)| (name == page).then_some(text))?;
    Some(match section {
        Some((_, _, heading)) => {
            let section = with_named_topics(&section_of(text, heading));
            format!("{}\n\nThe complete page: `ibeam help {page}`\n", section.trim_end())
        }
        None => with_named_topics(text),
    })
}

/// Returns the names and the texts of the decompressed pages.
fn pages_in(pages: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut parts = pages.split_terminator('\0');
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

/// Returns the decompressed pages.
fn pages() -> String {
    decompress(PAGES)
}

/// Returns the section with its sub-sections.
fn section_of(page: &str, heading: &str) -> String {
    let is_heading = |line: &&str| line.starts_with("## ");
    let mut lines = page.lines().skip_while(|line| line.strip_prefix("## ") != Some(heading));
    let first = lines.next().into_iter();
    let section = first.chain(lines.take_while(|line| !is_heading(line)));
    section.flat_map(|line| [line, "\n"]).collect()
}

/// Replaces links by their text, and links to other pages by the text and the command that shows the topic. In
/// parentheses, a text that is the name of the topic is left out.
fn with_named_topics(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, text, target, after)) = next_link(rest) {
        out.push_str(before);
        match topic_of(target) {
            Some(topic) if before.ends_with('(') && text.to_lowercase().replace(' ', "-") == topic => {
                out.push_str(&format!("`ibeam help {topic}`"));
            }
            Some(topic) => out.push_str(&format!("{text} (`ibeam help {topic}`)")),
            None if target.contains("://") => out.push_str(&format!("{text} ({target})")),
            None => out.push_str(text),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the topic of a link to another page: the section if it is one, else the page.
fn topic_of(target: &str) -> Option<&str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let page = file.strip_suffix(".md").filter(|page| !page.contains('/'))?;
    let is_target = |heading: &str| heading.to_lowercase().replace(' ', "-") == anchor;
    let section = SECTIONS.iter().find(|(_, of, heading)| *of == page && is_target(heading));
    Some(section.map_or(page, |(name, _, _)| name))
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
        for (name, title) in titles() {
            let text = text(&name).unwrap();
            let heading = text.lines().next().unwrap().trim_start_matches('#').trim_start();
            assert!(text.lines().count() > 3 && title.ends_with(heading), "{name}: {text}");
        }
        assert_eq!(text("nothing"), None);
    }

    #[test]
    fn every_link_of_a_page_leads_to_a_topic_or_a_web_page() {
        let names = names();
        let pages = pages();
        for (name, page) in pages_in(&pages) {
            let mut rest = page;
            while let Some((_, text, target, after)) = next_link(rest) {
                let is_topic = topic_of(target).is_some_and(|topic| names.iter().any(|name| name == topic));
                let is_reachable = is_topic || target.starts_with('#') || target.starts_with("https://");
                assert!(is_reachable, "{name}: [{text}]({target})");
                rest = after;
            }
        }
    }

    #[test]
    fn a_page_has_no_text_for_contributors() {
        let sources = ["cargo xtask", "crates/", "docs/", "corpus/", "<!--", "  Tests: "];
        for (name, _) in titles() {
            let text = text(&name).unwrap();
            for source in sources {
                let line = text.lines().find(|line| line.contains(source));
                assert_eq!(line, None, "{name}: {source}");
            }
        }
    }

    #[test]
    fn every_page_begins_with_an_example() {
        let pages = pages();
        for (name, page) in pages_in(&pages) {
            let head = page.match_indices("\n## ").nth(1).map_or(page, |(end, _)| page.get(..end).unwrap());
            let is_example = |line: &str| line.starts_with("```") || line.starts_with("    ");
            assert!(head.lines().any(is_example), "{name}: {head}");
        }
    }

    #[test]
    fn a_section_ends_before_the_next_one_and_names_its_page() {
        let text = text("exit-codes").unwrap();
        assert!(text.contains("| 78 | `config` |") && !text.contains("## Prompt and stdin"), "{text}");
        assert!(text.ends_with("\n\nThe complete page: `ibeam help output-format`\n"), "{text}");
    }

    #[test]
    fn links_name_the_command_for_the_topic() {
        assert_eq!(
            with_named_topics("see [a page](models.md#x), [b](#c), [rules](configuration.md#permissions)."),
            "see a page (`ibeam help models`), b, rules (`ibeam help permissions`)."
        );
        assert_eq!(
            with_named_topics("[Trust](trust.md) ([output format](output-format.md))"),
            "Trust (`ibeam help trust`) (`ibeam help output-format`)"
        );
        assert_eq!(with_named_topics("[x](../a.md) [y](https://example.com)"), "x y (https://example.com)");
        assert_eq!(with_named_topics("no link ](here"), "no link ](here");
    }
}
