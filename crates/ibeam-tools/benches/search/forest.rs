//! A tree of many files, made once from a fixed seed and kept beside the build: what `grep` and `glob` search.
//!
//! Sources, hidden files, binary files, and directories and files that ignore files name. The same seed gives the same
//! tree on every machine.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

/// Files of the whole tree.
const FILES: usize = 100_000;
/// Files of the tree that is searched where nothing is measured.
const FEW_FILES: usize = 500;
/// Another tree needs another number: it is a part of the name.
const EDITION: u32 = 3;

/// A word that stands in one file of a thousand.
pub(crate) const RARE: &str = "reconcile_ledger";
/// What the names of one file in 800 begin with.
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

/// The tree and how many files it has.
pub(crate) struct Forest {
    pub(crate) root: PathBuf,
    pub(crate) files: usize,
}

impl Forest {
    /// The tree; made if it is not there. Small unless this is a bench that is measured.
    #[allow(clippy::disallowed_methods, reason = "a bench is a program: it is told so by its arguments")]
    pub(crate) fn grown() -> Self {
        let measured = std::env::args().any(|argument| argument == "--bench");
        let files = if measured { FILES } else { FEW_FILES };
        let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("bench-tree");
        let root = beside.join(format!("{EDITION}-{files}"));
        if !root.is_dir() {
            fs::create_dir_all(&beside).unwrap();
            let growing = tempfile::tempdir_in(&beside).unwrap();
            let tree = growing.path().join("tree");
            grow(&tree, files);
            // Who comes second has made it for nothing.
            let _ = fs::rename(tree, &root);
        }
        assert!(root.is_dir());
        Self { root, files }
    }
}

fn grow(root: &Path, files: usize) {
    let mut rng = Rng::with_seed(0x1bea_0001);
    // By this it is a repository to every program that asks.
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::write(root.join(".gitignore"), "/build/\n*.log\nnode_modules/\n").unwrap();
    let mut directories = vec![root.to_owned()];
    for made in 0..files {
        // About 20 files in each directory, eight deep at the most.
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

/// Half a kilobyte to four of lines; the rare word in one of a thousand, a NUL in one of a hundred.
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
