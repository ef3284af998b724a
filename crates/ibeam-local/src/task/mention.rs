//! File names in a task's text.
//!
//! A file name looks like a path (`notes.txt`, `src/main.py`, `.gitignore`) or is a file of the workspace. Web addresses,
//! version numbers and product names such as `Node.js` are not file names.

use super::lexicon;

/// A file name and its position in the text, in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) name: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The path of the only file of the workspace with this name, if the file is in another directory.
    pub(super) unique_path: Option<String>,
}

const MAX_EXTENSION_LEN: usize = 8;
const MAX_HIDDEN_NAME_LEN: usize = 24;
const PRODUCT_NAMES: &[&str] =
    &["node.js", "vue.js", "next.js", "react.js", "express.js", "asp.net", "vb.net", "e.g", "i.e", "p.ex"];
const EXTENSIONS: &[&str] = &[
    "txt", "md", "py", "sh", "js", "ts", "json", "csv", "html", "css", "log", "rs", "go", "cpp", "java",
    "toml", "yaml", "yml", "ini", "xml", "png", "jpg", "pdf",
];
const WEB_ENDINGS: &[&str] = &["com", "org", "net", "io", "dev"];

impl Mention {
    /// Whether this name is the object of the verb at `at`: there are only filler words between them.
    ///
    /// In Japanese the object comes first and is marked with `を`; other names may come before the verb.
    pub(super) fn is_object(&self, text: &str, (at, length): (usize, usize), mentions: &[Self]) -> bool {
        if super::is_japanese(text) {
            let marked = text.get(self.end..).is_some_and(|after| {
                after
                    .trim_start_matches(|letter: char| letter != 'を' && is_filler_letter(letter))
                    .starts_with('を')
            });
            let between = super::blank_mentions(text, (self.end, at), mentions);
            return marked
                && self.end <= at
                && between.chars().all(|letter| letter == ' ' || is_filler_letter(letter));
        }
        text.get(at + length..self.start).is_some_and(|between| {
            super::words(between).all(|(_, word)| word.is_empty() || lexicon::FILLERS.contains(&word))
        })
    }
}

fn is_filler_letter(letter: char) -> bool {
    lexicon::FILLERS.contains(letter.encode_utf8(&mut [0; 4]))
}

/// Returns all file names in `text`, in order. `files` are the files of the workspace.
pub(super) fn find_mentions(text: &str, files: &[String]) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), '\0')]) {
        match (is_path_letter(letter), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                start = None;
                let is_call = letter == '(';
                if let Some(mention) = parse_mention(text, from, at, files).filter(|_| !is_call) {
                    found.push(mention);
                }
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    for file in files.iter().filter(|file| !file.chars().all(is_path_letter)) {
        for (at, name) in text.match_indices(file.as_str()) {
            found.push(Mention { name: name.to_owned(), start: at, end: at + name.len(), unique_path: None });
        }
    }
    found.sort_by_key(|mention| mention.start);
    found
}

fn is_path_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-' | '/')
}

fn parse_mention(text: &str, from: usize, to: usize, files: &[String]) -> Option<Mention> {
    let word = text.get(from..to)?;
    let name = word.trim_end_matches(['.', '-', '/']);
    // `./a.txt` and `a.txt` are one file.
    let name = name.strip_prefix("./").unwrap_or(name);
    let start = from + word.find(name)?;
    let is_known = files.iter().any(|file| file == name);
    if name.is_empty() || !(is_known || looks_like_file(name)) {
        return None;
    }
    // `https://a.b/c.html` is split at its colon, so the second part starts with two slashes.
    if word.starts_with("//") {
        return None;
    }
    let mut same_names = files.iter().filter(|file| file.rsplit('/').next() == Some(name));
    let unique_path = match (same_names.next(), same_names.next()) {
        (Some(file), None) if !is_known => Some(file.clone()),
        _ => None,
    };
    Some(Mention { name: name.to_owned(), start, end: start + name.len(), unique_path })
}

fn looks_like_file(name: &str) -> bool {
    if PRODUCT_NAMES.contains(&name.to_lowercase().as_str()) {
        return false;
    }
    let base = name.rsplit('/').next().unwrap_or(name);
    let Some((stem, extension)) = base.rsplit_once('.') else { return false };
    let longest = if stem.is_empty() { MAX_HIDDEN_NAME_LEN } else { MAX_EXTENSION_LEN };
    let is_plausible = (1..=longest).contains(&extension.len())
        && extension.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && extension.chars().all(|letter| letter.is_ascii_alphanumeric());
    // `.txt` alone is a file type, `.gitignore` is a file.
    let is_hidden = stem.is_empty() && extension.len() > 1 && !EXTENSIONS.contains(&extension);
    is_plausible
        && (is_hidden || stem.chars().any(|letter| letter.is_ascii_alphanumeric()))
        && !WEB_ENDINGS.contains(&extension)
}
