//! The time zone of the user.
//!
//! Reads one file. The search of the time library would list the whole database of zones first.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use jiff::tz::TimeZone;

/// The zone of the machine.
const LOCAL_ZONE: &str = "/etc/localtime";
/// The directory of the zones.
const ZONES: &str = "/usr/share/zoneinfo";
/// The largest file of a zone, in bytes; the largest in the database has about 4,000.
const MAX_BYTES: u64 = 64 * 1024;

/// Returns the zone of the variable `TZ`, else that of the machine; UTC if there is none or it cannot be read.
pub(crate) fn local_zone(variable: Option<&OsStr>) -> TimeZone {
    let zone = match variable {
        Some(text) => zone_of_variable(text),
        None => read_zone(Path::new(LOCAL_ZONE)),
    };
    zone.unwrap_or(TimeZone::UTC)
}

/// Returns the zone that a value of `TZ` names, as POSIX and the C library define it: a file, a zone of the database, or a
/// rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
fn zone_of_variable(text: &OsStr) -> Option<TimeZone> {
    let text = text.to_str()?;
    let name = text.strip_prefix(':').unwrap_or(text);
    let is_name = |path: &Path| path.components().all(|name| matches!(name, Component::Normal(_)));
    let path = match Path::new(name) {
        path if path.is_absolute() => path.to_owned(),
        path if is_name(path) => Path::new(ZONES).join(path),
        _ => PathBuf::new(),
    };
    if name.is_empty() {
        return None;
    }
    read_zone(&path).or_else(|| TimeZone::posix(text).ok())
}

fn read_zone(path: &Path) -> Option<TimeZone> {
    // A device or a pipe has no end.
    let file = fs::metadata(path).ok().filter(|file| file.is_file() && file.len() <= MAX_BYTES);
    file.and_then(|_| TimeZone::tzif("", &fs::read(path).ok()?).ok())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    /// Returns the offset of the zone from UTC in hours, at a time in July.
    fn offset(text: &str) -> i32 {
        let july = Timestamp::from_second(1_782_864_000).unwrap();
        july.to_zoned(local_zone(Some(OsStr::new(text)))).offset().seconds() / 3600
    }

    #[test]
    fn a_zone_is_a_rule_a_name_or_a_file() {
        assert_eq!(offset("CET-1CEST,M3.5.0,M10.5.0/3"), 2);
        assert_eq!(offset("XYZ5"), -5);
        if Path::new(ZONES).join("Pacific/Kiritimati").exists() {
            for text in
                ["Pacific/Kiritimati", ":Pacific/Kiritimati", "/usr/share/zoneinfo/Pacific/Kiritimati"]
            {
                assert_eq!(offset(text), 14, "{text}");
            }
        } else {
            eprintln!("SKIP: the database of time zones is not installed");
        }
    }

    #[test]
    fn a_wrong_zone_is_utc() {
        for text in ["", ":", "No/Such/Zone", "../../../etc/passwd", "/etc/passwd", "/dev/zero", "/"] {
            assert_eq!(offset(text), 0, "{text}");
        }
    }
}
