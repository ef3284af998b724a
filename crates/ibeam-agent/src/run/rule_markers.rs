//! Markers of configuration files that had permission rules in the last run. If such a file is now empty or missing,
//! the run warns about it.
//!
//! A program that rewrites a configuration file may leave it empty, and an empty file is a valid configuration that
//! denies nothing. Each file has one empty marker below the data directory. A run whose files have not changed writes
//! nothing.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_config::{Origin, PermissionSettings, fingerprint};
use ibeam_protocol::Notice;

use crate::app::AppContext;

/// Updates the markers, and returns a notice for each file that held rules in the last run and is now empty or missing.
///
/// A marker that cannot be written is ignored: the run does not depend on it. An ephemeral run only reads the markers.
pub(super) fn update(app: &AppContext, is_ephemeral: bool) -> Vec<Notice> {
    let directory = app.dirs.data.join("rules");
    let files = [&app.dirs.user_config, &app.dirs.managed_config];
    let files = files.into_iter().chain(&app.dirs.user_cursor);
    files
        .filter_map(|file| update_one(&app.base.settings.permissions, &directory, file, is_ephemeral))
        .collect()
}

fn update_one(
    rules: &PermissionSettings,
    directory: &Path,
    file: &Path,
    is_ephemeral: bool,
) -> Option<Notice> {
    let marker = marker_of(directory, file);
    match (holds_rules(rules, file), marker.exists()) {
        (true, true) | (false, false) => None,
        (true, false) => {
            if !is_ephemeral && fs::create_dir_all(directory).is_ok() {
                drop(fs::File::create_new(&marker));
            }
            None
        }
        (false, true) => {
            if !is_ephemeral {
                drop(fs::remove_file(&marker));
            }
            is_empty(file).then(|| Notice::RulesLost { path: file.display().to_string() })
        }
    }
}

fn marker_of(directory: &Path, file: &Path) -> PathBuf {
    directory.join(fingerprint(file.as_os_str().as_encoded_bytes()))
}

/// Whether a restricting rule comes from `file`.
fn holds_rules(settings: &PermissionSettings, file: &Path) -> bool {
    settings.deny.iter().chain(&settings.ask).any(|rule| match &rule.origin {
        Origin::User { path, .. } | Origin::Managed { path, .. } => path == file,
        Origin::Default | Origin::Project { .. } | Origin::Env(_) | Origin::Flag(_) => false,
    })
}

/// Whether the file does not exist or contains only white space.
fn is_empty(file: &Path) -> bool {
    match fs::read(file) {
        Ok(bytes) => bytes.iter().all(u8::is_ascii_whitespace),
        Err(_) => !file.exists(),
    }
}
