//! Names that some file systems do not distinguish: they differ only in case, or in Unicode composition.
//!
//! A checkout of both names on such a file system loses one of them, so the model is warned when it creates the second.

use icu_normalizer::ComposingNormalizerBorrowed;
use rustix::fs::{Dir, Mode, OFlags};

use crate::dir_entry::DirEntryAt;

/// The number of entries of a directory that are compared.
const ENTRY_LIMIT: usize = 4096;

/// A name that some file systems do not distinguish from another.
#[derive(Debug, PartialEq)]
pub(crate) struct NameCollision {
    /// The existing name.
    pub(crate) name: String,
    /// The difference of the two names, as the end of the phrase "differs only in".
    pub(crate) difference: &'static str,
}

impl DirEntryAt {
    /// Returns an existing name in the directory that collides with this one.
    pub(crate) fn name_collision(&self) -> Option<NameCollision> {
        let own_name = self.name.to_str()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed =
            rustix::io::retry_on_intr(|| rustix::fs::openat(&self.directory, ".", flags, Mode::empty()))
                .ok()?;
        Dir::new(listed).ok()?.take(ENTRY_LIMIT).find_map(|entry| {
            let name = entry.ok()?.file_name().to_str().ok()?.to_owned();
            let difference = difference(own_name, &name)?;
            Some(NameCollision { name, difference })
        })
    }
}

/// Returns how two colliding names differ.
fn difference(one: &str, other: &str) -> Option<&'static str> {
    if one == other {
        return None;
    }
    let composed = |name: &str| ComposingNormalizerBorrowed::new_nfc().normalize(name).into_owned();
    let (one, other) = (composed(one), composed(other));
    if one == other {
        return Some("how its characters are composed (Unicode NFC and NFD)");
    }
    (composed(&one.to_lowercase()) == composed(&other.to_lowercase())).then_some("case")
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[track_caller]
    fn check(one: &str, other: &str, expect: Option<&str>) {
        let begins = |found: Option<&'static str>| found.map(|found| found.split(' ').next().unwrap());
        assert_eq!(begins(difference(one, other)), expect);
        assert_eq!(begins(difference(other, one)), expect);
    }

    #[test]
    fn names_that_some_file_systems_do_not_distinguish_are_found() {
        check("Makefile", "makefile", Some("case"));
        check("caf\u{e9}.txt", "cafe\u{301}.txt", Some("how"));
        check("CAF\u{c9}.txt", "cafe\u{301}.txt", Some("case"));
        check("cafe.txt", "caf\u{e9}.txt", None);
        check("a", "b", None);
        check("a", "a", None);
    }
}
