//! Symbolic links in paths.
//!
//! Pure: the owner of a policy supplies the functions that read links and directories.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// The number of links that one path may lead through, as in Linux.
const MAX_LINKS: usize = 40;
/// The number of directory entries that are read to find the links that one pattern matches.
const MAX_ENTRIES: usize = 100_000;
/// Directories of the kernel, whose links name what the calling process has open.
const KERNEL_DIRECTORIES: &[&str] = &["/dev", "/proc"];

/// The functions that read symbolic links. Whatever they cannot read counts as no link: a command cannot open it either.
#[derive(Clone, Copy, Debug)]
pub struct LinkReader {
    /// Returns the target of the link at a path, as it is stored; `None` if there is no link.
    pub read_link: fn(&Path) -> Option<PathBuf>,
    pub list: fn(&Path) -> Vec<OsString>,
}

/// A file that a pattern of the shell matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MatchedFile {
    /// The absolute, resolved path.
    pub(crate) path: PathBuf,
    /// Whether a link leads there.
    pub(crate) is_linked: bool,
    /// Whether the pattern matches it only with an option of the shell, such as `dotglob`.
    needs_option: bool,
}

impl LinkReader {
    /// A reader that finds no links, for callers whose paths are resolved already.
    pub const NONE: Self = Self { read_link: |_| None, list: |_| Vec::new() };

    /// Returns an absolute path with its links resolved; `None` if it leads through none, or through too many. `known`
    /// is a directory that is resolved already. With `keeps_last` the last name is not followed.
    pub(crate) fn follow(&self, path: &Path, known: &Path, keeps_last: bool) -> Option<PathBuf> {
        let (mut real, rest) = match path.strip_prefix(known) {
            Ok(rest) => (known.to_owned(), rest),
            Err(_) => (PathBuf::from("/"), path),
        };
        let mut left: Vec<OsString> = Vec::new();
        push_names(&mut left, rest);
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                real.pop();
                continue;
            }
            real.push(name);
            if keeps_last && left.is_empty() {
                break;
            }
            if let Some(target) = self.target(&real) {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                real.pop();
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                push_names(&mut left, &target);
            }
        }
        (links > 0).then_some(real)
    }

    /// Returns the files that the link at `path` leads to, one link after another.
    pub(crate) fn chain(&self, path: &Path, known: &Path) -> Vec<PathBuf> {
        let (mut now, mut chain) = (path.to_owned(), Vec::new());
        while chain.len() < MAX_LINKS {
            now = self.follow(&now, known, true).unwrap_or_else(|| normalize(&now));
            let Some(target) = self.target(&now) else { break };
            now.pop();
            now.push(target);
            chain.push(now.clone());
        }
        chain
    }

    /// Returns the resolved files that a pattern of the shell matches; `None` if it matches too many files to be sure.
    /// `directory` is resolved. Names with a leading dot that only an option of the shell lets the pattern match are left
    /// out, unless a link leads there.
    pub(crate) fn expand(&self, directory: &Path, pattern: &Path) -> Option<Vec<MatchedFile>> {
        let start = MatchedFile { path: directory.to_owned(), is_linked: false, needs_option: false };
        let mut places = vec![start];
        let mut read = 0;
        for component in pattern.components() {
            let mut next = Vec::new();
            for place in places {
                match component {
                    Component::RootDir | Component::Prefix(_) => {
                        next.push(MatchedFile { path: PathBuf::from("/"), ..place });
                    }
                    Component::CurDir => next.push(place),
                    Component::ParentDir => {
                        let parent = place.path.parent().unwrap_or(&place.path).to_owned();
                        next.push(MatchedFile { path: parent, ..place });
                    }
                    Component::Normal(name) if has_wildcard(name) => {
                        let names = (self.list)(&place.path);
                        read += names.len();
                        if read > MAX_ENTRIES {
                            return None;
                        }
                        let matching = names.into_iter().filter(|entry| may_match(name, entry));
                        let has_dot = name.as_encoded_bytes().starts_with(b".");
                        next.extend(matching.map(|entry| {
                            let is_hidden = !has_dot && entry.as_encoded_bytes().starts_with(b".");
                            let entered = self.enter(&place, &entry);
                            MatchedFile { needs_option: entered.needs_option || is_hidden, ..entered }
                        }));
                    }
                    Component::Normal(name) => next.push(self.enter(&place, name)),
                }
            }
            places = next;
        }
        Some(places.into_iter().filter(|place| place.is_linked || !place.needs_option).collect())
    }

    /// Returns the file of this name in a resolved directory.
    fn enter(&self, directory: &MatchedFile, name: &OsStr) -> MatchedFile {
        let path = directory.path.join(name);
        match self.follow(&path, &directory.path, false) {
            Some(path) => MatchedFile { path, is_linked: true, ..*directory },
            None => MatchedFile { path, ..*directory },
        }
    }

    fn target(&self, path: &Path) -> Option<PathBuf> {
        if KERNEL_DIRECTORIES.iter().any(|directory| path.starts_with(directory)) {
            return None;
        }
        (self.read_link)(path)
    }
}

/// Removes `.` and `..` from an absolute path, without file access.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// Pushes the names of a path, the last one first.
fn push_names(left: &mut Vec<OsString>, path: &Path) {
    let names = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    left.extend(names);
}

fn has_wildcard(name: &OsStr) -> bool {
    name.as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// Whether a pattern of the shell may match a name. Only its literal beginning, middle parts and end are compared: `?` may
/// be several bytes, a bracket expression has many forms, and options of the shell decide about dots and case.
fn may_match(pattern: &OsStr, name: &OsStr) -> bool {
    let pattern = pattern.as_encoded_bytes().to_ascii_lowercase();
    let name = name.as_encoded_bytes().to_ascii_lowercase();
    // What follows a bracket may belong to it.
    let bracket = pattern.iter().position(|byte| *byte == b'[');
    let known = pattern.get(..bracket.unwrap_or(pattern.len())).unwrap_or_default();
    let mut literals = known.split(|byte| matches!(byte, b'*' | b'?'));
    let Some(mut rest) = name.strip_prefix(literals.next().unwrap_or_default()) else { return false };
    let mut literals: Vec<&[u8]> = literals.collect();
    let end = if bracket.is_none() { literals.pop() } else { None };
    for literal in literals.into_iter().filter(|literal| !literal.is_empty()) {
        let Some(at) = rest.windows(literal.len()).position(|window| window == literal) else { return false };
        rest = rest.get(at + literal.len()..).unwrap_or_default();
    }
    rest.ends_with(end.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `/w/l` → `/h`, `/w/up` → `..`, `/w/a` → `b`, `/w/b` → `/bin/touch`, `/w/loop` → `loop`, `/w/d/x` → `../l`.
    const READER: LinkReader = LinkReader {
        read_link: |path| {
            let links = [
                ("/w/l", "/h"),
                ("/w/up", ".."),
                ("/w/a", "b"),
                ("/w/b", "/bin/touch"),
                ("/bin", "usr/bin"),
                ("/usr/bin/touch", "box"),
                ("/w/loop", "loop"),
                ("/w/d/x", "../l"),
                ("/proc/self", "1"),
            ];
            let (_, target) = links.iter().find(|(link, _)| Path::new(link) == path)?;
            Some(PathBuf::from(target))
        },
        list: |path| {
            let names: &[&str] = match path.to_str() {
                Some("/w") => &["l", "up", "a", "b", "loop", "d", "file.txt"],
                Some("/w/d") => &["x", "y"],
                Some("/h") => &[".ssh", "notes"],
                Some(_) | None => &[],
            };
            names.iter().map(OsString::from).collect()
        },
    };

    fn follow(path: &str) -> Option<String> {
        let real = READER.follow(Path::new(path), Path::new("/w"), false);
        real.map(|path| path.to_str().unwrap().to_owned())
    }

    #[test]
    fn every_link_in_a_path_is_followed() {
        let rows = [
            ("/w/file.txt", None),
            ("/w/l", Some("/h")),
            ("/w/l/.ssh/id", Some("/h/.ssh/id")),
            ("/w/l/../x", Some("/x")),
            ("/w/d/../x", None),
            ("/w/d/x/k", Some("/h/k")),
            ("/w/up/w/l", Some("/h")),
            ("/w/a", Some("/usr/bin/box")),
            ("/w/loop/x", None),
            ("/proc/self/fd", None),
            ("/bin/sh", Some("/usr/bin/sh")),
        ];
        for (path, expect) in rows {
            assert_eq!(follow(path).as_deref(), expect, "{path}");
        }
    }

    #[test]
    fn the_last_link_can_be_kept() {
        let kept = |path| READER.follow(Path::new(path), Path::new("/w"), true);
        assert_eq!(kept("/w/l"), None);
        assert_eq!(kept("/w/d/x/../x"), Some("/x".into()));
    }

    #[test]
    fn a_chain_has_every_name_of_a_program() {
        let chain = READER.chain(Path::new("/w/a"), Path::new("/w"));
        assert_eq!(chain, ["/w/b", "/bin/touch", "/usr/bin/box"].map(PathBuf::from));
        assert!(READER.chain(Path::new("/w/file.txt"), Path::new("/w")).is_empty());
        assert_eq!(READER.chain(Path::new("/w/loop"), Path::new("/w")).len(), MAX_LINKS);
    }

    #[test]
    fn a_pattern_finds_what_is_behind_links() {
        let expand = |pattern: &str| {
            let found = READER.expand(Path::new("/w"), Path::new(pattern)).unwrap();
            let linked = found.iter().filter(|found| found.is_linked);
            linked.map(|found| found.path.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(expand("*.txt"), [""; 0]);
        assert_eq!(expand("l*"), ["/h"]);
        let behind = ["/h/.ssh/id", "/.ssh/id", "/usr/bin/box/.ssh/id", "/usr/bin/box/.ssh/id"];
        assert_eq!(expand("?/.ssh/id"), behind);
        assert_eq!(expand("d/*"), ["/h"]);
        assert_eq!(expand("l/*"), ["/h/.ssh", "/h/notes"]);
        // What a bracket expression matches is not compared.
        assert_eq!(expand("/w/[x-z]p"), ["/h", "/", "/usr/bin/box", "/usr/bin/box"]);
    }

    #[test]
    fn a_pattern_finds_names_with_a_dot_only_if_it_has_one() {
        let expand = |pattern: &str| {
            let found = READER.expand(Path::new("/w"), Path::new(pattern)).unwrap();
            let plain = found.iter().filter(|found| !found.is_linked);
            plain.map(|found| found.path.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(expand("*.txt"), ["/w/file.txt"]);
        assert_eq!(expand("d/?"), ["/w/d/y"]);
        assert_eq!(expand("/h/*"), ["/h/notes"]);
        assert_eq!(expand("/h/.s*"), ["/h/.ssh"]);
    }

    #[test]
    fn a_pattern_with_too_many_matches_is_unknown() {
        let endless = LinkReader { read_link: |_| None, list: |_| vec![OsString::from("d"); 400] };
        assert_eq!(endless.expand(Path::new("/w"), Path::new("*/*")), None);
        assert_eq!(endless.expand(Path::new("/w"), Path::new("*")).unwrap().len(), 400);
    }

    #[test]
    fn a_pattern_may_match_what_the_shell_matches() {
        let rows = [
            ("*", "a", true),
            ("*", ".a", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("*a*b*", "xaxbx", true),
            ("a?c", "a\u{e9}c", true),
            ("a?c", "abd", false),
            ("a*a", "a", false),
            ("[a-c]x", "bx", true),
            ("[[:alpha:]]x", "bx", true),
            ("[]]x", "]x", true),
            ("k[ab]*", "b", false),
            ("*b[", "ab[", true),
            ("a*", "A", true),
        ];
        for (pattern, name, expect) in rows {
            assert_eq!(may_match(OsStr::new(pattern), OsStr::new(name)), expect, "{pattern} {name}");
        }
    }
}
