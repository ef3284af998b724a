//! The tables of cron: what would run later, without anybody.
//!
//! In the machine of a case they are copies in memory, so that no case changes those of this system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount, mount_bind};

/// Files and directories of which cron runs what they say.
const TABLES: &[&str] = &[
    "/etc/crontab",
    "/etc/anacrontab",
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/var/spool/cron",
    "/var/spool/at",
];

/// The tables, whether they are there or not.
pub(crate) fn tables() -> impl Iterator<Item = PathBuf> {
    TABLES.iter().map(PathBuf::from)
}

/// Puts empty ones, which go with the mounts of this process, over those that are there. `stage` is a directory in
/// memory.
///
/// # Errors
/// Where a mount is refused; the tables of this system are then in reach.
pub(crate) fn mask(mount_point: &Path) -> io::Result<()> {
    for table in tables() {
        let Ok(metadata) = fs::metadata(&table) else { continue };
        if metadata.is_dir() {
            mount("cron", &table, "tmpfs", MountFlags::empty(), c"size=1m,mode=755")?;
        } else {
            let copy = mount_point.join(table.file_name().unwrap_or_default());
            fs::copy(&table, &copy)?;
            mount_bind(&copy, &table)?;
        }
    }
    // As the program `crontab` has it, which a user without rights cannot be here.
    if Path::new("/var/spool/cron").is_dir() {
        let spool = Path::new("/var/spool/cron/crontabs");
        fs::create_dir(spool)?;
        fs::set_permissions(spool, std::os::unix::fs::PermissionsExt::from_mode(0o1777))?;
    }
    Ok(())
}
