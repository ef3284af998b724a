//! Writes objects of checkpoints as files of git, without a process for each, and finds those that exist.
//!
//! Only the git directory of this program is written. As with git itself, the files are not synced to the disk. They are
//! not compressed, which would take longer than everything else: `git repack` does that where they become many.
//!
//! Commands of models can write the objects of the repository. So its files are read without following links and without
//! waiting, and what is found may be damaged: that is noticed when it is read.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ibeam_files::regular_file;
use ibeam_protocol::SessionId;

use super::object_id::{HashAlgorithm, Hasher, ObjectId, object_header};

/// The number of bytes of a file that are read at a time.
const PART_BYTES: usize = 64 << 10;
/// The deepest chain of object directories that borrow from each other, as in git.
const MAX_BORROWED: usize = 5;
/// The size limit of a file that names other object directories, in bytes.
const MAX_ALTERNATES_BYTES: u64 = 64 << 10;
/// The beginning of the index of a pack in version 2.
const PACK_INDEX: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
/// The size of the table of an index of a pack with the number of hashes up to each first byte.
const FAN_OUT_BYTES: u64 = 256 * 4;

/// The objects of the git directory of this program, and those that it borrows.
pub(super) struct ObjectStore {
    pub(super) algorithm: HashAlgorithm,
    /// The object directory that is written.
    own: PathBuf,
    /// All object directories, the own one first.
    directories: Vec<PathBuf>,
    /// The indexes of all packs; listed when the first object is not a file of its own.
    packs: OnceCell<Vec<File>>,
    /// The number of bytes that were written, without compression.
    written: Arc<AtomicU64>,
}

impl ObjectStore {
    /// Returns the objects in the directory `own`, which borrows those in `borrowed`.
    /// Adds the size of each object that is written to `written`.
    pub(super) fn open(
        own: PathBuf,
        borrowed: &Path,
        algorithm: HashAlgorithm,
        written: Arc<AtomicU64>,
    ) -> Self {
        let mut directories = vec![own.clone()];
        add_directories(borrowed, MAX_BORROWED, &mut directories);
        Self { algorithm, own, directories, packs: OnceCell::new(), written }
    }

    /// Whether an object exists.
    pub(super) fn contains(&self, id: &ObjectId) -> bool {
        let name = file_name(id);
        let is_file = |path: PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file());
        self.directories.iter().any(|directory| is_file(directory.join(&name)))
            || self.packs().iter().any(|pack| is_in_pack(pack, id).unwrap_or(false))
    }

    /// Writes an object unless it exists, and returns its hash.
    pub(super) fn write_new(&self, kind: &str, content: &[u8]) -> io::Result<ObjectId> {
        let id = self.algorithm.object(kind, content);
        if self.contains(&id) { Ok(id) } else { self.write(kind, content) }
    }

    /// Writes the content of a file of `size` bytes, unless it exists, and returns its hash.
    ///
    /// # Errors
    /// The error of the system; `UnexpectedEof` if the file has become shorter.
    pub(super) fn write_file(&self, file: &File, size: u64) -> io::Result<ObjectId> {
        let mut hasher = Hasher::new(self.algorithm);
        hasher.update(object_header("blob", size).as_bytes());
        read_parts(file, size, |part| {
            hasher.update(part);
            Ok(())
        })?;
        let id = hasher.finish();
        if self.contains(&id) {
            return Ok(id);
        }
        // The file may have changed since, so what is written is hashed again.
        self.write_object("blob", size, |object| read_parts(file, size, |part| object.write(part)))
    }

    /// Writes an object and returns its hash.
    pub(super) fn write(&self, kind: &str, content: &[u8]) -> io::Result<ObjectId> {
        self.write_object(kind, content.len() as u64, |object| object.write(content))
    }

    /// Writes an object under a temporary name, and renames the file to the name that follows from the content.
    fn write_object(
        &self,
        kind: &str,
        size: u64,
        write: impl FnOnce(&mut ObjectWriter) -> io::Result<()>,
    ) -> io::Result<ObjectId> {
        let temporary = temporary_path(&self.own);
        let written = (|| {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(&temporary)?;
            let mut object = ObjectWriter::start(file, kind, size, self.algorithm)?;
            write(&mut object)?;
            let id = object.finish()?;
            let path = self.own.join(file_name(&id));
            match fs::rename(&temporary, &path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let directory = path.parent().ok_or(ErrorKind::InvalidInput)?;
                    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
                    fs::rename(&temporary, &path)?;
                }
                renamed => renamed?,
            }
            self.written.fetch_add(size, Relaxed);
            Ok(id)
        })();
        written.inspect_err(|_| {
            // The error that is returned matters more.
            let _ = fs::remove_file(&temporary);
        })
    }

    fn packs(&self) -> &[File] {
        self.packs.get_or_init(|| {
            let lists = self.directories.iter().map(|directory| fs::read_dir(directory.join("pack")));
            let entries = lists.flatten().flatten().flatten().map(|entry| entry.path());
            let indexes = entries.filter(|path| path.extension().is_some_and(|name| name == "idx"));
            indexes.filter_map(|path| open_pack_index(&path)).collect()
        })
    }
}

/// Adds an object directory and those from which it borrows.
fn add_directories(directory: &Path, depth: usize, directories: &mut Vec<PathBuf>) {
    if depth == 0 || directories.iter().any(|known| known == directory) {
        return;
    }
    directories.push(directory.to_owned());
    let listed = regular_file::read(&directory.join("info/alternates"), MAX_ALTERNATES_BYTES);
    for line in listed.unwrap_or_default().split(|byte| *byte == b'\n') {
        // A name in quotes is not read: its objects are saved again.
        if !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"\"") {
            let path = directory.join(std::ffi::OsStr::from_bytes(line));
            add_directories(&path, depth - 1, directories);
        }
    }
}

/// Returns the path of an object relative to its object directory.
fn file_name(id: &ObjectId) -> String {
    let mut name = id.hex();
    name.insert(2, '/');
    name
}

/// Returns a new path for a file in this directory. `git prune` removes old files with this prefix, which killed processes
/// leave.
pub(super) fn temporary_path(directory: &Path) -> PathBuf {
    directory.join(format!("tmp_obj_{}", SessionId::random()))
}

/// Opens the index of a pack that exists.
fn open_pack_index(path: &Path) -> Option<File> {
    let pack = path.with_extension("pack").symlink_metadata().ok()?;
    let file = regular_file::open(path, false).ok().filter(|_| pack.is_file())?;
    let mut start = [0; PACK_INDEX.len()];
    file.read_exact_at(&mut start, 0).ok()?;
    (start == PACK_INDEX).then_some(file)
}

/// Whether the index of a pack has a hash.
fn is_in_pack(index: &File, id: &ObjectId) -> io::Result<bool> {
    let Some(first) = id.as_bytes().first() else { return Ok(false) };
    let table = PACK_INDEX.len() as u64;
    let number = |position: u8| -> io::Result<u64> {
        let mut bytes = [0; 4];
        index.read_exact_at(&mut bytes, table + u64::from(position) * 4)?;
        Ok(u32::from_be_bytes(bytes).into())
    };
    let (mut start, mut end) = (first.checked_sub(1).map_or(Ok(0), number)?, number(*first)?);
    let mut hash = vec![0; id.as_bytes().len()];
    while start < end {
        let middle = start + (end - start) / 2;
        let position = table + FAN_OUT_BYTES + middle * hash.len() as u64;
        index.read_exact_at(&mut hash, position)?;
        match hash.as_slice().cmp(id.as_bytes()) {
            Ordering::Less => start = middle + 1,
            Ordering::Equal => return Ok(true),
            Ordering::Greater => end = middle,
        }
    }
    Ok(false)
}

/// Reads the first `size` bytes of a file in parts.
fn read_parts(file: &File, size: u64, mut use_part: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let length = usize::try_from(size).unwrap_or(PART_BYTES).min(PART_BYTES);
    let mut buffer = vec![0; length];
    let mut position = 0;
    while position < size {
        let left = usize::try_from(size - position).unwrap_or(PART_BYTES).min(length);
        let part = buffer.get_mut(..left).unwrap_or_default();
        file.read_exact_at(part, position)?;
        use_part(part)?;
        position += left as u64;
    }
    Ok(())
}

/// Writes the file of an object: a zlib stream of stored blocks (RFC 1950, RFC 1951 section 3.2.4).
struct ObjectWriter {
    file: BufWriter<File>,
    hasher: Hasher,
    /// The two sums of Adler-32.
    sums: (u32, u32),
}

impl ObjectWriter {
    /// The number of bytes after which the sums of Adler-32 must be reduced.
    const ADLER_PART: usize = 5552;
    /// The number of bytes of the largest stored block.
    const MAX_BLOCK: usize = 65_535;

    fn start(file: File, kind: &str, size: u64, algorithm: HashAlgorithm) -> io::Result<Self> {
        let mut file = BufWriter::new(file);
        file.write_all(&[0x78, 0x01])?;
        let mut writer = Self { file, hasher: Hasher::new(algorithm), sums: (1, 0) };
        writer.write(object_header(kind, size).as_bytes())?;
        Ok(writer)
    }

    fn write(&mut self, content: &[u8]) -> io::Result<()> {
        self.hasher.update(content);
        for part in content.chunks(Self::ADLER_PART) {
            let (mut low, mut high) = self.sums;
            for byte in part {
                low += u32::from(*byte);
                high += low;
            }
            self.sums = (low % 65_521, high % 65_521);
        }
        content.chunks(Self::MAX_BLOCK).try_for_each(|block| self.write_block(0, block))
    }

    /// Writes a stored block.
    fn write_block(&mut self, is_last: u8, block: &[u8]) -> io::Result<()> {
        let length = u16::try_from(block.len()).map_err(io::Error::other)?;
        let [a, b] = length.to_le_bytes();
        let [c, d] = (!length).to_le_bytes();
        self.file.write_all(&[is_last, a, b, c, d])?;
        self.file.write_all(block)
    }

    fn finish(mut self) -> io::Result<ObjectId> {
        self.write_block(1, &[])?;
        let (low, high) = self.sums;
        self.file.write_all(&(high << 16 | low).to_be_bytes())?;
        self.file.flush()?;
        Ok(self.hasher.finish())
    }
}
