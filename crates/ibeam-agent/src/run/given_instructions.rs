//! `--system-prompt` and `--append-system-prompt`: a text, or `@FILE` for the content of a file.
//!
//! A text that begins with `@` is written with `@@`. The dialects write the texts of other programs with [`literal`].

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ibeam_protocol::{Reason, sentence};

use crate::run_options::RunOptions;

/// The maximum size of a file. The system prompt is a part of every request.
const MAX_BYTES: u64 = 1024 * 1024;

/// The instructions of the caller.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GivenInstructions {
    /// The instructions instead of the built-in ones.
    pub(super) replacement: Option<String>,
    /// The instructions after all others.
    pub(super) appended: Vec<String>,
}

impl GivenInstructions {
    /// Reads the texts of the options and their files.
    ///
    /// # Errors
    /// `NoInput` for a file that cannot be read, is too large or is not UTF-8; `Usage` for an empty file of
    /// `--system-prompt`.
    pub(super) fn load(options: &RunOptions) -> Result<Self, Reason> {
        let replacement = options.system_prompt.as_deref().map(text).transpose()?;
        if replacement.as_ref().is_some_and(|text| text.trim().is_empty()) {
            let detail = sentence!("the file of `--system-prompt` is empty; write the instructions into it");
            return Err(Reason::Usage { detail });
        }
        let appended =
            options.append_system_prompt.iter().map(|value| text(value)).collect::<Result<_, _>>()?;
        Ok(Self { replacement, appended })
    }
}

/// Returns the value of a flag whose text is `text`, whatever its first character is.
pub fn literal(text: &str) -> String {
    if text.starts_with('@') { format!("@{text}") } else { text.to_owned() }
}

/// Returns the text of a flag.
fn text(value: &str) -> Result<String, Reason> {
    match value.strip_prefix('@') {
        None => Ok(value.to_owned()),
        Some(escaped) if escaped.starts_with('@') => Ok(escaped.to_owned()),
        Some(path) => read(Path::new(path))
            .map_err(|error| Reason::NoInput { path: path.to_owned(), detail: error.to_string() }),
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("the file is larger than {} KiB", MAX_BYTES / 1024)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(system: Option<&str>, appended: &[&str]) -> Result<GivenInstructions, Reason> {
        GivenInstructions::load(&RunOptions {
            system_prompt: system.map(str::to_owned),
            append_system_prompt: appended.iter().map(|text| (*text).to_owned()).collect(),
            ..RunOptions::default()
        })
    }

    #[test]
    fn a_value_is_a_text_or_the_name_of_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, content).unwrap();
            format!("@{}", path.display())
        };
        let found = load(Some(&file("a", b"From a file.")), &["Be brief.", &literal("@ann"), ""]).unwrap();
        assert_eq!(found.replacement.as_deref(), Some("From a file."));
        assert_eq!(found.appended, ["Be brief.", "@ann", ""]);
        for (path, expect) in [
            (file("latin", b"\xff"), "stream did not contain valid UTF-8"),
            (file("large", &vec![b'x'; 1024 * 1024 + 1]), "the file is larger than 1024 KiB"),
            ("@missing".to_owned(), "No such file or directory (os error 2)"),
        ] {
            let error = load(None, &[&path]).unwrap_err();
            assert!(matches!(&error, Reason::NoInput { detail, .. } if detail == expect), "{error:?}");
        }
        assert!(matches!(load(Some(&file("empty", b"\n")), &[]), Err(Reason::Usage { .. })));
    }
}
