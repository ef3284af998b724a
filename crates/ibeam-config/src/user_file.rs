//! Changes the user's configuration file and keeps its comments and order.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use ibeam_files::regular_file;
use toml_edit::{DocumentMut, Item, Table, TomlError, value};

use crate::{ConfigError, config_file};

/// Sets `mcp_servers.NAME.enabled` in the file at `path`, which is created if it is missing.
///
/// # Errors
/// `Invalid` for a file that cannot be read or parsed; `CannotCreate`.
pub fn set_mcp_server_enabled(path: &Path, name: &str, enabled: bool) -> Result<(), ConfigError> {
    // A file that was read in part would be written back in part.
    let bytes = match regular_file::read_stable(path, true, config_file::MAX_BYTES, &|_| Ok(())) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(ConfigError::in_file(path, error.to_string())),
    };
    let text = String::from_utf8(bytes).map_err(|_| ConfigError::in_file(path, "it is not UTF-8"))?;
    let mut document: DocumentMut =
        text.parse().map_err(|error: TomlError| ConfigError::in_file(path, error.message()))?;
    set_enabled(&mut document, name, enabled)
        .ok_or_else(|| ConfigError::in_file(path, "`mcp_servers` is not a table"))?;
    replace(path, document.to_string().as_bytes()).map_err(|error| {
        let message = format!("{error}; set XDG_CONFIG_HOME to a directory that can be written");
        ConfigError::cannot_create(path, message)
    })
}

fn set_enabled(document: &mut DocumentMut, name: &str, enabled: bool) -> Option<()> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let servers = document.entry("mcp_servers").or_insert_with(implicit).as_table_like_mut()?;
    let server = servers.entry(name).or_insert_with(|| Item::Table(Table::new())).as_table_like_mut()?;
    server.insert("enabled", value(enabled));
    Some(())
}

/// Replaces the file with a complete new one and keeps its permissions. For a symbolic link, replaces the target.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = target.parent().unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(directory)?;
    let new = target.with_extension("toml.new");
    drop(std::fs::remove_file(&new));
    let mut file = File::create_new(&new)?;
    file.write_all(bytes)?;
    if let Ok(old) = std::fs::metadata(&target) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    std::fs::rename(&new, &target)
}
