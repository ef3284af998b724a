//! The memory and descriptors of a stopped thread.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::libc;

/// The longest path that the system accepts.
const MAX_PATH_BYTES: usize = 4096;
/// The size of a page of memory.
const PAGE_BYTES: u64 = 4096;

#[derive(Clone, Copy)]
pub(super) struct StoppedThread(pub(super) i32);

impl StoppedThread {
    /// Returns the process of the thread.
    pub(super) fn process(self) -> Option<i32> {
        let status = std::fs::read_to_string(self.proc_file("status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
    }

    pub(super) fn program(self) -> Option<PathBuf> {
        std::fs::read_link(self.proc_file("exe")).ok()
    }

    /// Returns the path of an open file. Pipes and sockets have names that are not paths.
    pub(super) fn descriptor(self, number: u64) -> Option<PathBuf> {
        std::fs::read_link(self.descriptor_link(number)).ok()
    }

    /// Returns a path that leads to the open file itself, independent of its present name.
    pub(super) fn descriptor_link(self, number: u64) -> PathBuf {
        self.proc_file(&format!("fd/{}", number as u32))
    }

    /// Returns the absolute path of a pair of directory descriptor and string.
    pub(super) fn path(self, directory: u64, string: u64) -> Option<PathBuf> {
        let text = self.string(string)?;
        // The descriptor is an `int`: the upper half of the register is not part of it.
        let base = match directory as i32 {
            libc::AT_FDCWD => std::fs::read_link(self.proc_file("cwd")).ok()?,
            _ if Path::new(&text).is_absolute() => PathBuf::new(),
            _ => self.descriptor(directory)?,
        };
        Some(base.join(text))
    }

    /// Returns a word of the thread's memory.
    pub(super) fn word(self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.memory()?.read_exact_at(&mut word, address).ok()?;
        Some(u64::from_le_bytes(word))
    }

    /// Reads a string that ends with a zero byte.
    fn string(self, address: u64) -> Option<OsString> {
        let memory = self.memory()?;
        let mut text = Vec::new();
        while text.len() < MAX_PATH_BYTES {
            let from = address + text.len() as u64;
            // The read ends with the page, since the next one may be unmapped.
            let mut piece = vec![0; (PAGE_BYTES - from % PAGE_BYTES) as usize];
            let count = memory.read_at(&mut piece, from).ok()?;
            let piece = &piece[..count];
            match piece.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&piece[..end]);
                    return Some(OsString::from_vec(text));
                }
                None if piece.is_empty() => return None,
                None => text.extend_from_slice(piece),
            }
        }
        None
    }

    fn memory(self) -> Option<File> {
        File::open(self.proc_file("mem")).ok()
    }

    /// Returns the path of a file of the thread in /proc.
    fn proc_file(self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.0))
    }
}
