//! Reads the files that git tracks from its index: versions 2 to 4, with a shared index.
//!
//! Reads a limited number of bytes and checks every length. Where the index cannot be parsed, the entries before are
//! returned.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git_config;
use crate::git_directory::{MAX_CONFIG_BYTES, read_pointer, read_small_file};

/// Maximum bytes of an index; a tree of a million files has about 100 MB.
const MAX_INDEX_BYTES: u64 = 256 << 20;
/// Maximum entries of an index.
const MAX_ENTRIES: usize = 4_000_000;
/// Maximum number of shared indexes that are read.
const MAX_SHARED_INDEXES: usize = 4;
/// The mode of a submodule's entry.
const GITLINK: u32 = 0o160_000;
/// Bytes of an entry before the id of its object.
const FIXED_ENTRY_BYTES: usize = 40;

/// Returns the work trees of submodules that the repository at `entry`, a `.git` directory or file, tracks.
pub(crate) fn gitlinks(entry: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    visit_entries(entry, &mut |mode, path| {
        if mode == GITLINK {
            found.push(path.to_owned());
        }
    });
    found.sort();
    found.dedup();
    found
}

/// Returns the first path of a file that the repository at `entry` tracks and `matches` accepts.
pub(crate) fn find_file(entry: &Path, matches: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut found = None;
    visit_entries(entry, &mut |mode, path| {
        if mode != GITLINK && found.is_none() && matches(path) {
            found = Some(path.to_owned());
        }
    });
    found
}

fn visit_entries(entry: &Path, visit: &mut dyn FnMut(u32, &Path)) {
    let directory = read_pointer(entry, b"gitdir: ")
        .map_or_else(|| entry.to_owned(), |path| entry.parent().unwrap_or(entry).join(path));
    let common = read_pointer(&directory.join("commondir"), b"")
        .map_or_else(|| directory.clone(), |path| directory.join(path));
    let config = read_small_file(&common.join("config"), MAX_CONFIG_BYTES).unwrap_or_default();
    let is_sha256 = git_config::value(&config, "extensions.objectformat")
        .is_some_and(|format| format.eq_ignore_ascii_case("sha256"));
    let id_length = if is_sha256 { 32 } else { 20 };
    let shared = std::fs::read_dir(&directory).into_iter().flatten().flatten();
    let shared = shared
        .filter(|entry| entry.file_name().as_bytes().starts_with(b"sharedindex."))
        .map(|entry| entry.path())
        .take(MAX_SHARED_INDEXES);
    for file in std::iter::once(directory.join("index")).chain(shared) {
        if let Some(bytes) = read_small_file(&file, MAX_INDEX_BYTES) {
            // The entries before a damaged part have been visited.
            let _ = parse(&bytes, id_length, visit);
        }
    }
}

/// Visits every entry; `None` when the index ends too early or is invalid.
fn parse(bytes: &[u8], id_length: usize, visit: &mut dyn FnMut(u32, &Path)) -> Option<()> {
    let version = read_u32(bytes.strip_prefix(b"DIRC")?.get(..4)?);
    let count = usize::try_from(read_u32(bytes.get(8..12)?)).ok()?;
    if !(2..=4).contains(&version) || count > MAX_ENTRIES {
        return None;
    }
    let mut rest = bytes.get(12..)?;
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let mode = read_u32(rest.get(24..28)?);
        let mut at = FIXED_ENTRY_BYTES + id_length;
        let flags = rest.get(at..at + 2)?;
        at += 2;
        if version >= 3 && flags.first()? & 0x40 != 0 {
            at += 2;
        }
        if version == 4 {
            let (strip, length) = read_varint(rest.get(at..)?)?;
            at += length;
            path.truncate(path.len().checked_sub(strip)?);
        } else {
            path.clear();
        }
        let name = rest.get(at..)?;
        let end = name.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(name.get(..end)?);
        visit(mode, Path::new(OsStr::from_bytes(&path)));
        let length = if version == 4 { at + end + 1 } else { (at + end + 8) & !7 };
        rest = rest.get(length..)?;
    }
    Some(())
}

fn read_u32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

/// Returns a number in git's offset encoding, and its length.
fn read_varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value: usize = 0;
    for (index, byte) in bytes.iter().take(8).enumerate() {
        if index > 0 {
            value = value.checked_add(1)?;
        }
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use proptest::prelude::*;

    use super::{find_file, gitlinks, parse};
    use crate::fixture::Fixture;

    #[track_caller]
    fn bash(directory: &Path, command: &str) {
        let ran = Command::new("bash").args(["-ec", command]).current_dir(directory).output().unwrap();
        assert!(ran.status.success(), "{command}: {ran:?}");
    }

    #[track_caller]
    fn check(prepare: &str) {
        let fixture = Fixture::with("a/b/secret.pem", "x");
        fixture.put("a/b/secret.txt", "x");
        fixture.put("z", "x");
        let link =
            "H=1234567890123456789012345678901234567890; git update-index --add --cacheinfo 160000,$H,";
        let root = fixture.root();
        bash(&root, &format!("git init -q {prepare}"));
        if prepare.contains("sha256") {
            bash(&root, "git add .");
        } else {
            bash(&root, &format!("git add . && {link}a/sub && {link}sub"));
            assert_eq!(gitlinks(&root.join(".git")), ["a/sub", "sub"].map(PathBuf::from), "{prepare}");
        }
        let found = find_file(&root.join(".git"), |path| path.extension().is_some_and(|end| end == "pem"));
        assert_eq!(found.as_deref(), Some(Path::new("a/b/secret.pem")), "{prepare}");
        assert_eq!(find_file(&root.join(".git"), |path| path.ends_with("none")), None, "{prepare}");
    }

    #[test]
    fn every_version_of_the_index_is_read() {
        check(". && git config index.version 2");
        check(". && git config index.version 3");
        check(". && git config index.version 4");
        check(". && git config core.splitIndex true && git config splitIndex.maxPercentChange 0");
        check("--object-format=sha256 .");
        check("--separate-git-dir ../apart .");
    }

    proptest! {
        #[test]
        fn invalid_indexes_are_harmless(bytes: Vec<u8>, version in 2u8..5, count: u8) {
            let mut text = vec![b'D', b'I', b'R', b'C', 0, 0, 0, version, 0, 0, 0, count];
            text.extend(&bytes);
            let _ = parse(&text, 20, &mut |_, _| {});
            let _ = parse(&bytes, 32, &mut |_, _| {});
        }
    }
}
