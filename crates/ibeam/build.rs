//! Compresses the pages of `docs/` and the generated types of `types/` into the program.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Pages for contributors, and lists of results, which users of the program do not need.
const LEFT_OUT: [&str; 4] = ["README", "conformance", "faults", "performance"];

/// Sections for contributors.
const LEFT_OUT_SECTIONS: [&str; 2] = ["## How it is built", "## How it is tested"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::var("CARGO_MANIFEST_DIR")?;
    let out = std::env::var("OUT_DIR")?;
    let docs = Path::new(&root).join("../../docs");
    println!("cargo::rerun-if-changed={}", docs.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(&docs)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.extension().is_some_and(|extension| extension == "md") && !LEFT_OUT.contains(&name.as_str()) {
            println!("cargo::rerun-if-changed={}", path.display());
            pages.push((name, for_users(&fs::read_to_string(&path)?)));
        }
    }
    pages.sort();
    // Each page is its name, a zero byte, its text and a zero byte.
    let pages: String = pages.iter().map(|(name, text)| format!("{name}\0{text}\0")).collect();
    compress(&pages, &Path::new(&out).join("pages.deflate"))?;
    for name in ["ibeam.d.ts", "ibeam_events.py"] {
        let path = Path::new(&root).join("../../types").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        compress(&fs::read_to_string(&path)?, &Path::new(&out).join(format!("{name}.deflate")))?;
    }
    Ok(())
}

/// Returns a page without what helps only on the web or in the repository: sections for contributors, the tests of a
/// promise, comments, and paragraphs that begin with a picture.
fn for_users(page: &str) -> String {
    let mut is_left_out = false;
    let lines = page.lines().filter(|line| {
        if line.starts_with("## ") {
            is_left_out = LEFT_OUT_SECTIONS.contains(line);
        }
        !is_left_out && !line.starts_with("  Tests: ")
    });
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let is_shown = |paragraph: &&str| !paragraph.starts_with("![") && !paragraph.starts_with("<!--");
    let paragraphs: Vec<&str> = text.trim_end().split("\n\n").filter(is_shown).collect();
    paragraphs.join("\n\n") + "\n"
}

/// Writes the compressed text to a file.
fn compress(text: &str, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut encoder = DeflateEncoder::new(File::create(path)?, Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()?;
    Ok(())
}
