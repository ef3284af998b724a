//! Reads the objects of checkpoints from a repository, and compares trees.
//!
//! Commands in the sandbox can write the objects of the repository, so the hash of each object is checked: what is
//! restored is what was saved.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ibeam_process::{PipedProcess, ProcessTree};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::object_id::{HashAlgorithm, hex};
use super::repository::{CheckpointError, GitSetup, Repository};
use crate::helper_process;

/// The size of the largest object that is read, in bytes.
const MAX_OBJECT_BYTES: u64 = 256 << 20;
/// The deepest nesting of directories that is read.
const MAX_DEPTH: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeFile {
    /// The kind of the file and its executable bit.
    pub(super) mode: FileMode,
    pub(super) hash: String,
}

/// The mode of a file as git stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileMode {
    Regular,
    Executable,
    /// The content is the target of the link.
    Link,
}

impl FileMode {
    /// Returns the mode in an index.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Regular => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
        }
    }

    /// Returns the mode in a tree object.
    pub(super) fn digits(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

/// The files that differ between two trees: each with its old and its new state.
pub(super) type TreeChanges = BTreeMap<PathBuf, (Option<TreeFile>, Option<TreeFile>)>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum TreeEntry {
    File(TreeFile),
    Directory(String),
    /// The commit of a submodule, which checkpoints leave alone.
    Submodule,
}

/// Reads objects through one git process.
pub(super) struct ObjectReader {
    /// Ends with this value.
    _tree: ProcessTree,
    stdin: Sender,
    stdout: BufReader<Receiver>,
    /// Stays open for messages, which are not read.
    _stderr: Receiver,
}

impl ObjectReader {
    /// Starts the git process.
    ///
    /// # Errors
    /// `NoGit`, `Git`, and the errors of [`Repository::prepare`].
    pub(super) fn start(repository: &Repository) -> Result<Self, CheckpointError> {
        repository.prepare()?;
        let command = repository.command(GitSetup::Own(None), ["cat-file", "--batch"])?;
        let started = helper_process::start(&command);
        let (PipedProcess { tree, stdout, stderr }, stdin) =
            started.map_err(|detail| failed(std::io::Error::other(detail)))?;
        Ok(Self { _tree: tree, stdin, stdout: BufReader::new(stdout), _stderr: stderr })
    }

    /// Returns the content of the object `hash`, checked against the hash.
    ///
    /// # Errors
    /// `Damaged`, `Git`.
    async fn read(&mut self, hash: &str, kind: &str) -> Result<Vec<u8>, CheckpointError> {
        let damaged = || CheckpointError::Damaged(hash.to_owned());
        if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(damaged());
        }
        self.stdin.write_all(format!("{hash}\n").as_bytes()).await.map_err(failed)?;
        self.stdin.flush().await.map_err(failed)?;
        let mut header = String::new();
        self.stdout.read_line(&mut header).await.map_err(failed)?;
        let words: Vec<&str> = header.split_whitespace().collect();
        let [found, found_kind, size] = words.as_slice() else { return Err(damaged()) };
        let size: u64 = size.parse().map_err(|_| damaged())?;
        if *found != hash || size > MAX_OBJECT_BYTES {
            return Err(damaged());
        }
        let mut content = vec![0; usize::try_from(size).map_err(|_| damaged())? + 1];
        self.stdout.read_exact(&mut content).await.map_err(failed)?;
        content.pop();
        let algorithm = HashAlgorithm::with_digits(hash.len());
        match *found_kind == kind && algorithm.object(kind, &content).hex() == hash {
            true => Ok(content),
            false => Err(damaged()),
        }
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) async fn file(&mut self, file: &TreeFile) -> Result<Vec<u8>, CheckpointError> {
        self.read(&file.hash, "blob").await
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) async fn tree_of(&mut self, commit: &str) -> Result<String, CheckpointError> {
        let content = self.read(commit, "commit").await?;
        let first = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let tree = first.strip_prefix(b"tree ").and_then(|tree| std::str::from_utf8(tree).ok());
        tree.map(str::to_owned).ok_or_else(|| CheckpointError::Damaged(commit.to_owned()))
    }

    /// Returns the files that differ between two trees.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) async fn changes(&mut self, old: &str, new: &str) -> Result<TreeChanges, CheckpointError> {
        let mut changes = TreeChanges::new();
        let mut pending = vec![(PathBuf::new(), Some(old.to_owned()), Some(new.to_owned()))];
        while let Some((path, old, new)) = pending.pop() {
            if old == new {
                continue;
            }
            if path.iter().count() > MAX_DEPTH {
                return Err(CheckpointError::Damaged(old.or(new).unwrap_or_default()));
            }
            let (old, new) = (self.entries(old.as_deref()).await?, self.entries(new.as_deref()).await?);
            let names: std::collections::BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
            for name in names {
                let (before, after) = (old.get(name), new.get(name));
                if before == after {
                    continue;
                }
                let path = path.join(OsStr::from_bytes(name));
                let (old_file, old_tree) = split(before);
                let (new_file, new_tree) = split(after);
                if old_file != new_file {
                    changes.insert(path.clone(), (old_file, new_file));
                }
                if old_tree != new_tree {
                    pending.push((path, old_tree, new_tree));
                }
            }
        }
        Ok(changes)
    }

    /// Returns the files of a tree with this name.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) async fn files_named(
        &mut self,
        tree: &str,
        name: &Path,
    ) -> Result<BTreeMap<PathBuf, TreeFile>, CheckpointError> {
        let mut found = BTreeMap::new();
        let mut pending = vec![(PathBuf::new(), tree.to_owned())];
        while let Some((directory, tree)) = pending.pop() {
            for (entry_name, entry) in self.entries(Some(&tree)).await? {
                let path = directory.join(OsStr::from_bytes(&entry_name));
                match entry {
                    TreeEntry::File(file) if Path::new(OsStr::from_bytes(&entry_name)) == name => {
                        found.insert(path, file);
                    }
                    TreeEntry::Directory(tree) if path.iter().count() <= MAX_DEPTH => {
                        pending.push((path, tree));
                    }
                    TreeEntry::File(_) | TreeEntry::Directory(_) | TreeEntry::Submodule => {}
                }
            }
        }
        Ok(found)
    }

    async fn entries(&mut self, tree: Option<&str>) -> Result<BTreeMap<Vec<u8>, TreeEntry>, CheckpointError> {
        let Some(tree) = tree else { return Ok(BTreeMap::new()) };
        let content = self.read(tree, "tree").await?;
        parse_tree(&content, tree.len() / 2).ok_or_else(|| CheckpointError::Damaged(tree.to_owned()))
    }
}

fn failed(error: std::io::Error) -> CheckpointError {
    CheckpointError::Git { command: "cat-file".to_owned(), detail: error.to_string() }
}

fn split(entry: Option<&TreeEntry>) -> (Option<TreeFile>, Option<String>) {
    match entry {
        Some(TreeEntry::File(file)) => (Some(file.clone()), None),
        Some(TreeEntry::Directory(tree)) => (None, Some(tree.clone())),
        Some(TreeEntry::Submodule) | None => (None, None),
    }
}

/// Parses a tree object whose hashes have `hash_bytes` bytes. Returns `None` for invalid content, and for names with which
/// a path would leave the work tree or enter a git directory.
fn parse_tree(mut content: &[u8], hash_bytes: usize) -> Option<BTreeMap<Vec<u8>, TreeEntry>> {
    let mut entries = BTreeMap::new();
    while !content.is_empty() {
        let space = content.iter().position(|byte| *byte == b' ')?;
        let (mode, rest) = content.split_at(space);
        let rest = rest.get(1..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let name = rest.get(..end)?.to_vec();
        let rest = rest.get(end + 1..)?;
        let hash = hex(rest.get(..hash_bytes)?);
        content = rest.get(hash_bytes..)?;
        let is_unsafe = name.is_empty()
            || name.contains(&b'/')
            || [&b"."[..], b".."].contains(&name.as_slice())
            || name.eq_ignore_ascii_case(b".git");
        if is_unsafe {
            return None;
        }
        let file = |mode| TreeEntry::File(TreeFile { mode, hash: hash.clone() });
        let entry = match mode {
            b"40000" => TreeEntry::Directory(hash),
            b"100644" | b"100664" => file(FileMode::Regular),
            b"100755" => file(FileMode::Executable),
            b"120000" => file(FileMode::Link),
            b"160000" => TreeEntry::Submodule,
            _ => return None,
        };
        entries.insert(name, entry);
    }
    Some(entries)
}
