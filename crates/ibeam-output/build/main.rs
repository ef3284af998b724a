//! Compression of the translations into the program, and types of the messages. The English texts are read by every run, so
//! they stay as they are.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script reads and writes files, and prints to cargo"
)]

mod line_types;

use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let locales = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("locales");
    let out = std::env::var("OUT_DIR")?;
    println!("cargo::rerun-if-changed={}", locales.display());
    for entry in fs::read_dir(&locales)? {
        let path = entry?.path();
        let Some(name) = path.file_stem().filter(|name| *name != "en") else { continue };
        println!("cargo::rerun-if-changed={}", path.display());
        let compressed = File::create(Path::new(&out).join(name).with_extension("deflate"))?;
        let mut encoder = DeflateEncoder::new(compressed, Compression::best());
        encoder.write_all(&fs::read(&path)?)?;
        encoder.finish()?;
    }
    let english = fs::read_to_string(locales.join("en.ftl"))?;
    fs::write(Path::new(&out).join("line_types.rs"), line_types::line_types(&english)?)?;
    Ok(())
}
