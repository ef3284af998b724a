//! Types of the messages that people read as lines: an enum for each heading `## NAME (PREFIX-): …` of `en.ftl`.

use std::fmt::Write as _;

/// The names of fields that are numbers. All others are texts.
const NUMBERS: [&str; 21] = [
    "after",
    "before",
    "bytes",
    "cached",
    "calls",
    "cost_micros",
    "count",
    "duration_ms",
    "errors",
    "events",
    "line",
    "percent",
    "read",
    "requests",
    "run",
    "seconds",
    "time",
    "timeout_ms",
    "tokens",
    "warnings",
    "written",
];

/// A message of the file.
struct Message<'a> {
    id: &'a str,
    text: String,
    /// The names of its fields, in the order of the text.
    fields: Vec<&'a str>,
}

/// Returns the source of the enums.
///
/// # Errors
/// A heading that names no message, or the failure of a write.
pub(crate) fn line_types(english: &str) -> Result<String, Box<dyn std::error::Error>> {
    let messages = messages(english);
    let mut source = String::new();
    for heading in english.lines().filter_map(|line| line.strip_prefix("## ")) {
        let Some((name, rest)) = heading.split_once(" (") else { continue };
        let Some((prefix, about)) = rest.split_once("): ") else { continue };
        let variants: Vec<_> =
            messages.iter().filter_map(|message| Some((message.id.strip_prefix(prefix)?, message))).collect();
        if variants.is_empty() {
            return Err(format!("en.ftl: no message begins with `{prefix}`").into());
        }
        let has_text =
            variants.iter().flat_map(|(_, message)| &message.fields).any(|field| !NUMBERS.contains(field));
        let (declared, used) = if has_text { ("<'a>", "<'_>") } else { ("", "") };
        writeln!(source, "/// {}", capitalised(about))?;
        writeln!(source, "#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]")?;
        writeln!(source, "#[serde(rename_all = \"snake_case\")]\npub enum {name}{declared} {{")?;
        for (tag, message) in variants {
            let variant: String = tag.split('-').map(capitalised).collect();
            let text: String = message.text.lines().map(|line| format!("    /// {line}\n")).collect();
            let fields: Vec<_> = message.fields.iter().map(|field| typed(field)).collect();
            let fields =
                if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
            writeln!(source, "    /// ```text\n{text}    /// ```\n    {variant}{fields},")?;
        }
        let prefix = prefix.trim_end_matches('-');
        writeln!(source, "}}\n\nimpl CatalogueLine for {name}{used} {{")?;
        writeln!(source, "    const PREFIX: &'static str = \"{prefix}\";\n}}\n")?;
    }
    Ok(source)
}

/// Returns the messages of a file of Fluent.
fn messages(file: &str) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    // The argument that a comment before a message replaces, and the field in its place.
    let mut field_of_next = None;
    for line in file.lines() {
        if let Some(comment) = line.strip_prefix("# $") {
            field_of_next = comment.split_once(": ");
        } else if !line.starts_with(['#', ' ', '}'])
            && let Some((id, text)) = line.split_once(" =")
        {
            let message =
                Message { id, text: text.trim().to_owned(), fields: arguments(line, field_of_next) };
            messages.push(message);
            field_of_next = None;
        } else if let Some(last) = messages.last_mut().filter(|_| line.starts_with([' ', '}'])) {
            last.text.push('\n');
            last.text.push_str(line);
            let new: Vec<_> =
                arguments(line, None).into_iter().filter(|field| !last.fields.contains(field)).collect();
            last.fields.extend(new);
        }
    }
    messages
}

/// Returns the different arguments that a line has in braces.
fn arguments<'a>(line: &'a str, replaced: Option<(&'a str, &'a str)>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for part in line.split("{ $").skip(1) {
        let end = part.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        let name = part.split_at(end.unwrap_or(part.len())).0;
        let field = replaced.filter(|(argument, _)| *argument == name).map_or(name, |(_, field)| field);
        if !found.contains(&field) {
            found.push(field);
        }
    }
    found
}

fn typed(field: &str) -> String {
    let kind = if NUMBERS.contains(&field) { "u64" } else { "&'a str" };
    format!("{field}: {kind}")
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(characters).collect()
}
