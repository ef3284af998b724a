//! Memory of the parent process that the fork server discards.
//!
//! The copy would keep every page alive that the parent changes, and would show the parent's command line and
//! environment, with keys in them, in /proc. Discarding it also makes later forks cheaper.

use std::ops::Range;

use memchr::memmem;
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::raw;

/// Addresses of the arguments and the environment of this process: the start of the arguments, their end, and the end
/// of the environment, which follows. `None` if the system does not report them.
pub(crate) struct ArgumentArea(Option<[usize; 3]>);

impl ArgumentArea {
    /// Reads the addresses from /proc. Allocates, so it must be called before the fork.
    pub(crate) fn locate() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // The process name may contain any character, so fields are counted after it. The first one here is the third
        // of proc(5).
        let fields: Vec<usize> = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.split_ascii_whitespace().map(|field| field.parse().unwrap_or(0)).collect())
            .unwrap_or_default();
        Self(match fields.get(45..49) {
            Some(&[start, arguments_end, environment, end])
                if start != 0
                    && start <= arguments_end
                    && arguments_end <= environment
                    && environment <= end =>
            {
                Some([start, arguments_end, end])
            }
            _ => None,
        })
    }

    /// Returns the addresses of the arguments without the environment.
    pub(crate) fn arguments(&self) -> Option<Range<usize>> {
        self.0.map(|[start, arguments_end, _]| start..arguments_end)
    }
}

/// Overwrites each of `secrets` in the command line of this process, as /proc and `ps` show it.
///
/// Must be called while the process has one thread, after the arguments were copied. Does nothing where the system does
/// not report their address. Another user may have read the secrets before; a variable or a file is safer for a key.
pub fn redact_arguments<'a>(secrets: impl IntoIterator<Item = &'a str>) {
    let mut secrets = secrets.into_iter().filter(|secret| !secret.is_empty()).peekable();
    if secrets.peek().is_none() {
        return;
    }
    let Some(arguments) = ArgumentArea::locate().arguments() else { return };
    let Ok(shown) = std::fs::read("/proc/self/cmdline") else { return };
    for secret in secrets {
        for place in memmem::find_iter(&shown, secret) {
            let start = arguments.start + place;
            if start + secret.len() <= arguments.end {
                raw::wipe(start..start + secret.len());
            }
        }
    }
}

/// Overwrites arguments and environment and unmaps the heap. Only for a child whose code uses neither.
pub(crate) fn discard_inherited_memory(area: &ArgumentArea) {
    if let Some([start, _, end]) = area.0 {
        raw::wipe(start..end);
    }
    let local = 0_u8;
    let spared = [&raw const local as usize, raw::errno_address()];
    let Ok(maps) = openat(CWD, c"/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    let mut buffer = [0; 4096];
    let mut line = MapsLine::default();
    while let Ok(count @ 1..) = rustix::io::read(&maps, &mut buffer) {
        for byte in buffer.get(..count).unwrap_or_default() {
            if line.feed(*byte)
                && line.is_anonymous_memory()
                && !spared.iter().any(|address| line.range().contains(address))
            {
                raw::unmap(&line.range());
            }
        }
    }
}

/// One line of /proc/self/maps: `start-end rwxp offset device inode  name`.
#[derive(Default)]
struct MapsLine {
    field: usize,
    start: usize,
    end: usize,
    writable: bool,
    private: bool,
    inode: usize,
    /// First character of the name.
    name: Option<u8>,
    is_stack: bool,
    /// End of the last mapping of a file; a mapping that follows without a gap is the file's zeroed data.
    file_end: usize,
    is_complete: bool,
}

impl MapsLine {
    /// Reads the next byte. Returns whether the line is complete.
    fn feed(&mut self, byte: u8) -> bool {
        if self.is_complete {
            // The zeroed data of a program follows its private mapping. Memory shared with children has an inode too.
            let is_of_file = self.private && (self.inode != 0 || self.start == self.file_end);
            let file_end = if is_of_file { self.end } else { self.file_end };
            *self = Self { file_end, ..Self::default() };
        }
        match (byte, self.field) {
            (b'\n', _) => self.is_complete = true,
            (b'-', 0) | (b' ', 1..=5) => self.field += 1,
            (b' ', _) => {}
            (digit, 0) => self.start = self.start << 4 | nibble(digit),
            (digit, 1) => self.end = self.end << 4 | nibble(digit),
            (b'w', 2) => self.writable = true,
            (b'p', 2) => self.private = true,
            (digit, 5) => self.inode = self.inode << 4 | nibble(digit),
            (first, 6..) if self.name.is_none() => self.name = Some(first),
            (b's', 6..) => self.is_stack = true,
            (_, _) => {}
        }
        self.is_complete
    }

    fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether the line is about private memory without a file: the heap, arenas, stacks of other threads.
    fn is_anonymous_memory(&self) -> bool {
        // `[heap]` and nameless memory count; the stack and special mappings of the kernel do not.
        let is_special = self.name == Some(b'[') && self.is_stack;
        self.writable && self.private && self.inode == 0 && self.start != self.file_end && !is_special
    }
}

fn nibble(digit: u8) -> usize {
    match digit {
        b'0'..=b'9' => usize::from(digit - b'0'),
        b'a'..=b'f' => usize::from(digit - b'a') + 10,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::MapsLine;

    #[test]
    fn only_anonymous_memory_is_heap() {
        let maps = "\
55d0c000-55d0d000 rw-p 00003000 fe:00 1234                       /usr/bin/ibeam
55d0d000-55d0e000 rw-p 00000000 00:00 0 
55d10000-55d31000 rw-p 00000000 00:00 0                          [heap]
7f000000-7f100000 rw-p 00000000 00:00 0 
7f100000-7f200000 r--p 00000000 fe:00 99                         /usr/lib/libc.so.6
7f300000-7f400000 rw-s 00000000 00:01 55                         /dev/zero (deleted)
7f400000-7f500000 rw-p 00000000 00:00 0 
7ffc0000-7ffd0000 rw-p 00000000 00:00 0                          [stack]
7ffe0000-7ffe1000 r-xp 00000000 00:00 0                          [vdso]
";
        let mut line = MapsLine::default();
        let mut heap = Vec::new();
        for byte in maps.bytes() {
            if line.feed(byte) && line.is_anonymous_memory() {
                heap.push((line.range().start, line.range().end));
            }
        }
        let expected = [(0x55d1_0000, 0x55d3_1000), (0x7f00_0000, 0x7f10_0000), (0x7f40_0000, 0x7f50_0000)];
        assert_eq!(heap, expected);
    }
}
