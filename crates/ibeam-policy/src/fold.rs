//! Folds names as the most lenient file systems compare them.
//!
//! Ignores case (all file systems except ext4 and similar ones), Unicode composition and invisible characters (HFS+,
//! APFS), trailing dots, trailing spaces and stream names (NTFS, FAT, SMB), and recognizes the short names (8.3) of
//! NTFS, FAT and SMB. Two names that some file system treats as equal fold to the same text. Different names may also
//! fold to the same text.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use icu_normalizer::ComposingNormalizerBorrowed;

/// Returns the folded `name`.
pub(crate) fn fold(name: &str) -> String {
    // A colon starts the name of a stream: `.git::$INDEX_ALLOCATION` is `.git`. A leading colon does not.
    let name = match name.find(':') {
        Some(colon) if colon > 0 => name.get(..colon).unwrap_or(name),
        Some(_) | None => name,
    };
    let folded = fold_case(name);
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// Folds case, composition and invisible characters only, which is safe for patterns too.
pub(crate) fn fold_case(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        if !text.contains(|c: char| c.is_ascii_uppercase()) {
            return Cow::Borrowed(text);
        }
        return Cow::Owned(text.to_ascii_lowercase());
    }
    // Converted to upper case first, because the upper case of the long s and of the dotless i maps to another lower
    // case letter.
    let cased = text.chars().filter(|c| !is_ignored_char(*c)).flat_map(char::to_uppercase);
    let lower: String = cased.flat_map(char::to_lowercase).collect();
    Cow::Owned(ComposingNormalizerBorrowed::new_nfc().normalize(&lower).into_owned())
}

/// Folds every name of an absolute path. Returns `None` if that changes nothing.
pub(crate) fn fold_path(path: &Path) -> Option<PathBuf> {
    let folded: PathBuf = path
        .components()
        .map(|component| match component {
            Component::Normal(name) => PathBuf::from(fold(&name.to_string_lossy())),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
                PathBuf::from(component.as_os_str())
            }
        })
        .collect();
    (folded != path).then_some(folded)
}

/// Whether the folded `name` is a short name (8.3) of `long`, such as `git~1` of `.git` or `mcp~2.jso` of `.mcp.json`.
pub(crate) fn is_short_form(name: &str, long: &str) -> bool {
    let (base, extension) = name.split_once('.').unwrap_or((name, ""));
    let Some((stem, number)) = base.split_once('~') else { return false };
    if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit()) {
        return false;
    }
    let long = long.trim_start_matches('.');
    let (long_base, long_extension) = long.rsplit_once('.').unwrap_or((long, ""));
    let long_base: String = long_base.chars().filter(|c| !matches!(c, '.' | ' ')).collect();
    let head = |text: &str, length: usize| text.chars().take(length).collect::<String>();
    if extension != head(long_extension, 3) {
        return false;
    }
    // The fifth and later files with the same short form get two characters of the name and four hexadecimal digits.
    let hashed = || {
        stem.len() == 6
            && stem.is_char_boundary(2)
            && stem.starts_with(&head(&long_base, 2))
            && stem.chars().skip(2).all(|c| c.is_ascii_hexdigit())
    };
    stem == head(&long_base, 6) || hashed()
}

/// Whether HFS+ ignores the character in comparisons, or the character is invisible.
pub(crate) fn is_ignored_char(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{fold, fold_path, is_short_form};

    #[track_caller]
    fn check(name: &str, expect: &str) {
        assert_eq!(fold(name), expect);
    }

    #[test]
    fn spellings_of_one_name_fold_to_one() {
        for name in [
            ".git",
            ".GIT",
            ".git.",
            ".git ",
            ".git . .",
            ".g\u{200c}it",
            ".git\u{feff}",
            ".gıt",
            ".g\u{34f}it",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".Git. :$I30",
        ] {
            check(name, ".git");
        }
        check(".\u{17f}sh", ".ssh");
        check("\u{212a}ube", "kube");
        check("cafe\u{301}", "caf\u{e9}");
        check("CAFÉ", "café");
        check(":odd", ":odd");
    }

    #[test]
    fn short_names_are_recognized() {
        for (name, long, expect) in [
            ("git~1", ".git", true),
            ("git~12", ".git", true),
            ("gi7eba~1", ".git", true),
            ("mcp~1.jso", ".mcp.json", true),
            ("bash_p~1", ".bash_profile", true),
            ("vscode~1", ".vscode", true),
            ("git~x", ".git", false),
            ("git~", ".git", false),
            ("gitter~1", ".git", false),
            ("mcp~1", ".mcp.json", false),
            ("backup~1", ".bashrc", false),
            ("ééé~1", ".git", false),
        ] {
            assert_eq!(is_short_form(name, long), expect, "{name}");
        }
    }

    #[test]
    fn a_path_folds_name_by_name() {
        assert_eq!(fold_path(Path::new("/a/B./c")).as_deref(), Some(Path::new("/a/b/c")));
        assert_eq!(fold_path(Path::new("/a/b")), None);
    }
}
