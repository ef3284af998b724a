//! A lease for file systems without locks: a file that only one process can create.
//!
//! Unlike a lock, the file remains after its process is killed. So the file contains the name of the process, the host,
//! and the data that show whether the process still runs. If the process ran on this host and has ended, another process
//! takes over the lease. Whether a process of another host still runs cannot be checked, so its lease is an error that
//! names the file; a person may remove the file.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::error::{SessionError, io_error, unusable_error};
use crate::lease::process_name;
use crate::private_files;

pub(crate) const LEASE_FILE: &str = "lease";
/// Number of times that an empty lease is read again.
const MAX_EMPTY_READS: u32 = 10;
/// Pause before an empty lease is read again.
const EMPTY_READ_INTERVAL: Duration = Duration::from_millis(20);

/// A lease file of this process, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct LeaseFile {
    pub(crate) path: PathBuf,
    content: String,
}

impl LeaseFile {
    /// Creates the lease file of the session in `directory`.
    ///
    /// # Errors
    /// `Busy` for a process of this host that still runs, `Leased` for a process elsewhere; `Unusable`, `Io`.
    pub(crate) fn acquire(directory: &Path) -> Result<Self, SessionError> {
        let path = directory.join(LEASE_FILE);
        let content = lease_content();
        let mut empty_reads = 0;
        loop {
            match private_files::open_options().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    let lease = Self { path, content };
                    // After an error the lease is dropped, which removes the file.
                    file.write_all(lease.content.as_bytes()).map_err(io_error(&lease.path))?;
                    return Ok(lease);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unusable_error(&path)(error)),
            }
            let found = match read(&path) {
                // The process that created the file has not written its name yet.
                Ok(found) if found.is_empty() && empty_reads < MAX_EMPTY_READS => {
                    empty_reads += 1;
                    thread::sleep(EMPTY_READ_INTERVAL);
                    continue;
                }
                Ok(found) => found,
                // The file has just been removed.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(io_error(&path)(error)),
            };
            match holder_state(&found) {
                HolderState::Ended => remove_stale_file(&path, &found).map_err(io_error(&path))?,
                HolderState::Running => return Err(SessionError::Busy { holder: holder_name(&found) }),
                HolderState::Unknown => {
                    return Err(SessionError::Leased { holder: holder_name(&found), path });
                }
            }
        }
    }
}

impl Drop for LeaseFile {
    fn drop(&mut self) {
        // A person may have removed the file, and another process created a new one, which must stay.
        if read(&self.path).is_ok_and(|found| found == self.content) {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// The state of the process that a lease names.
#[derive(Debug, PartialEq, Eq)]
enum HolderState {
    Running,
    Ended,
    Unknown,
}

/// Returns the content of a lease file. The first line is for people. The second line holds the boot, the process
/// namespace, the number and the start time of the process.
fn lease_content() -> String {
    let pid = std::process::id();
    format!("{}\n{} {pid} {}\n", process_name(), system_id(), process_start_time(pid).unwrap_or_default())
}

fn holder_name(content: &str) -> String {
    let name = content.lines().next().unwrap_or_default().trim();
    if name.is_empty() { "another process".to_owned() } else { name.to_owned() }
}

fn holder_state(content: &str) -> HolderState {
    let Some(rest) = content.lines().nth(1).and_then(|line| line.strip_prefix(&system_id())) else {
        return HolderState::Unknown;
    };
    let mut words = rest.split_ascii_whitespace();
    let Some(pid) = words.next().and_then(|pid| pid.parse().ok()) else { return HolderState::Unknown };
    match process_start_time(pid) {
        Some(start) if words.next() == Some(start.as_str()) => HolderState::Running,
        Some(_) | None => HolderState::Ended,
    }
}

/// Returns an id that two processes share only if each can check whether the other still runs.
fn system_id() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

/// Returns the start time of a process of this system; `None` if no such process runs.
fn process_start_time(pid: u32) -> Option<String> {
    if !Path::new("/proc/self/stat").exists() {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
        return match rustix::process::test_kill_process(pid) {
            Err(rustix::io::Errno::SRCH) => None,
            Ok(()) | Err(_) => Some("running".to_owned()),
        };
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain parentheses. The start time is the twentieth field after it.
    stat.rsplit(") ").next()?.split_ascii_whitespace().nth(19).map(str::to_owned)
}

fn read(path: &Path) -> io::Result<String> {
    let mut content = String::new();
    io::Read::read_to_string(&mut io::Read::take(private_files::open(path)?, 4096), &mut content)?;
    Ok(content)
}

/// Removes the lease file whose content is `stale`. If another process has replaced the file meanwhile, the new file is
/// restored.
fn remove_stale_file(path: &Path, stale: &str) -> io::Result<()> {
    let moved = path.with_extension(std::process::id().to_string());
    match fs::rename(path, &moved) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        renamed => renamed?,
    }
    if read(&moved)? != stale {
        fs::hard_link(&moved, path)?;
    }
    fs::remove_file(&moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(directory: &Path) -> SessionError {
        LeaseFile::acquire(directory).map(drop).unwrap_err()
    }

    #[test]
    fn one_process_holds_the_lease_until_it_drops_it() {
        let home = tempfile::tempdir().unwrap();
        let lease = LeaseFile::acquire(home.path()).unwrap();
        let SessionError::Busy { holder } = holder(home.path()) else { panic!("not busy") };
        assert_eq!(holder, process_name());
        drop(lease);
        drop(LeaseFile::acquire(home.path()).unwrap());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_lease_of_a_process_that_has_ended_is_taken_over() {
        let home = tempfile::tempdir().unwrap();
        // Larger than any process number.
        let ended = 4_194_305;
        // A process with the same number and another start time is another process.
        for (pid, start) in [(ended, "1"), (std::process::id(), "1")] {
            let stale = format!("process {pid} on here\n{} {pid} {start}\n", system_id());
            fs::write(home.path().join(LEASE_FILE), stale).unwrap();
            drop(LeaseFile::acquire(home.path()).unwrap());
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lease_of_another_host_is_an_error_that_names_its_file() {
        let home = tempfile::tempdir().unwrap();
        for content in ["process 1 on elsewhere\nanother-boot pid:[1] 1 1\n", "", "nonsense"] {
            fs::write(home.path().join(LEASE_FILE), content).unwrap();
            let SessionError::Leased { path, .. } = holder(home.path()) else { panic!("{content}") };
            assert_eq!(fs::read_to_string(path).unwrap(), content, "it is left");
        }
    }

    #[test]
    fn a_new_lease_is_not_removed_for_a_stale_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(LEASE_FILE);
        fs::write(&path, "new").unwrap();
        remove_stale_file(&path, "stale").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        remove_stale_file(&path, "new").unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_lease_that_a_person_replaced_is_left() {
        let home = tempfile::tempdir().unwrap();
        let lease = LeaseFile::acquire(home.path()).unwrap();
        fs::write(&lease.path, "another").unwrap();
        let path = lease.path.clone();
        drop(lease);
        assert_eq!(fs::read_to_string(path).unwrap(), "another");
    }
}
