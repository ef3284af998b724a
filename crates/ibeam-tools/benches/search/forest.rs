//! A tree of many files for `grep` and `glob`, generated once from a fixed seed and stored in the target directory.
//!
//! It has source files, hidden files, binary files, and files and directories that ignore files name. The same seed
//! generates the same tree on every machine.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

/// Files of the whole tree.
const FILES: usize = 100_000;
/// Files of the tree where nothing is measured.
const FEW_FILES: usize = 500;
/// A part of the tree's name, which changes whenever the tree does.
const EDITION: u32 = 3;

/// A word that occurs in one of a thousand files.
pub(crate) const RARE: &str = "reconcile_ledger";
/// The prefix of the names of one file in 800.
pub(crate) const NAMED: &str = "handler_";

const WORDS: [&str; 24] = [
    "let", "fn", "value", "return", "self", "index", "buffer", "match", "error", "result", "config",
    "request", "state", "count", "next", "path", "write", "read", "line", "token", "impl", "struct", "mut",
    "None",
];
const SYLLABLES: [&str; 16] = [
    "core", "net", "ui", "data", "auth", "log", "test", "io", "model", "view", "util", "api", "db", "job",
    "sync", "web",
];
const EXTENSIONS: [&str; 8] = ["rs", "rs", "rs", "toml", "md", "ts", "py", "json"];

/// The tree, and the number of its files.
pub(crate) struct Forest {
    pub(crate) root: PathBuf,
    pub(crate) files: usize,
}

impl Forest {
    /// Returns the tree, generating it if it does not exist. Small unless the bench measures.
    #[allow(clippy::disallowed_methods, reason = "a bench is a program, which reads its arguments")]
    pub(crate) fn grown() -> Self {
        let measured = std::env::args().any(|argument| argument == "--bench");
        let files = if measured { FILES } else { FEW_FILES };
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("bench-tree");
        let root = parent.join(format!("{EDITION}-{files}"));
        if !root.is_dir() {
            fs::create_dir_all(&parent).unwrap();
            let growing = tempfile::tempdir_in(&parent).unwrap();
            let tree = growing.path().join("tree");
            grow(&tree, files);
            // Another process has generated the same tree meanwhile.
            let _ = fs::rename(tree, &root);
        }
        assert!(root.is_dir());
        Self { root, files }
    }
}

fn grow(root: &Path, files: usize) {
    let mut rng = Rng::with_seed(0x1bea_0001);
    // This makes it a repository for every program.
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::write(root.join(".gitignore"), "/build/\n*.log\nnode_modules/\n").unwrap();
    let mut directories = vec![root.to_owned()];
    for made in 0..files {
        // About 20 files in each directory, at most eight directories deep.
        if made % 20 == 0 {
            let parent =
                rng.choice(&directories).filter(|at| at.strip_prefix(root).unwrap().iter().count() < 8);
            let name = format!("{}_{}", rng.choice(SYLLABLES).unwrap(), directories.len());
            let name = match directories.len() % 50 {
                17 => "node_modules".to_owned(),
                33 => format!(".{name}"),
                _ => name,
            };
            let directory = parent.unwrap_or(&directories[0]).join(name);
            fs::create_dir_all(&directory).unwrap();
            directories.push(directory);
        }
        let directory = rng.choice(&directories).unwrap();
        let (first, extension) = match (made % 800, made % 25) {
            (0, _) => (NAMED, "rs"),
            (_, 3) => (rng.choice(SYLLABLES).unwrap(), "log"),
            _ => (rng.choice(SYLLABLES).unwrap(), rng.choice(EXTENSIONS).unwrap()),
        };
        fs::write(directory.join(format!("{first}{made}.{extension}")), content(&mut rng, made)).unwrap();
    }
}

/// Returns lines of half a kilobyte to four kilobytes; one file of a thousand has the rare word, one of a hundred a
/// NUL.
fn content(rng: &mut Rng, number: usize) -> Vec<u8> {
    let size = rng.usize(500..4000);
    let mut text = String::with_capacity(size + 100);
    while text.len() < size {
        text.push_str("    ");
        for _ in 0..rng.usize(3..12) {
            text.push_str(rng.choice(WORDS).unwrap());
            text.push(' ');
        }
        text.push_str(&format!("{};\n", rng.u32(..)));
    }
    if number % 1000 == 7 {
        text.push_str(&format!("    {RARE}(value_{number});\n"));
    }
    let mut bytes = text.into_bytes();
    if number % 100 == 50 {
        bytes.insert(size / 2, 0);
    }
    bytes
}
