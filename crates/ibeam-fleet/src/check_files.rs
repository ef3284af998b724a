//! The files that only a check sees. They are copied into the workspace before it, over whatever the run has left there.
//!
//! The run may have put links, files or closed directories in their way. No link of the workspace is followed.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::task::Task;

/// The permissions that are needed to change the files of a directory.
const OPEN_MODE: u32 = 0o700;

/// Copies the files of the check of a task into its workspace.
///
/// # Errors
/// The system's error, with the path.
pub(crate) fn place_check_files(task: &Task, workspace: &Path) -> io::Result<()> {
    if let Some(directory) = &task.check_dir {
        merge(directory, workspace)?;
    }
    for (place, file) in &task.check_files {
        let mut parent = workspace.to_owned();
        for name in place.parent().unwrap_or(Path::new("")) {
            open_directory(&parent)?;
            parent.push(name);
            make_directory(&parent)?;
        }
        open_directory(&parent)?;
        replace(file, &workspace.join(place))?;
    }
    Ok(())
}

/// Copies what a directory has into another one.
fn merge(from: &Path, to: &Path) -> io::Result<()> {
    make_directory(to)?;
    open_directory(to)?;
    for entry in fs::read_dir(from).map_err(at(from))? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true => merge(&path, &target)?,
            false => replace(&path, &target)?,
        }
    }
    Ok(())
}

/// Replaces what is at `target` by a copy of a file or link.
fn replace(file: &Path, target: &Path) -> io::Result<()> {
    match target.symlink_metadata() {
        Ok(found) if found.is_dir() => remove_directory(target)?,
        Ok(_) => fs::remove_file(target).map_err(at(target))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at(target)(error)),
    }
    let copied = match file.symlink_metadata().map_err(at(file))?.is_symlink() {
        true => fs::read_link(file).and_then(|link| symlink(link, target)),
        false => fs::copy(file, target).map(drop),
    };
    copied.map_err(at(target))
}

/// Creates a directory instead of a file or link, unless it exists.
fn make_directory(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => fs::remove_file(path).map_err(at(path))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at(path)(error)),
    }
    fs::create_dir(path).map_err(at(path))
}

/// Lets the user change the files of a directory, which is not a link.
fn open_directory(path: &Path) -> io::Result<()> {
    let mode = path.symlink_metadata().map_err(at(path))?.permissions().mode();
    match mode & OPEN_MODE == OPEN_MODE {
        true => Ok(()),
        false => fs::set_permissions(path, Permissions::from_mode(mode | OPEN_MODE)).map_err(at(path)),
    }
}

/// Removes a directory, also with closed ones in it.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    open_directory(path)?;
    for entry in fs::read_dir(path).map_err(at(path))? {
        let entry = entry?;
        let inner = entry.path();
        match entry.file_type()?.is_dir() {
            true => remove_directory(&inner)?,
            false => fs::remove_file(&inner).map_err(at(&inner))?,
        }
    }
    fs::remove_dir(path).map_err(at(path))
}

/// Returns a function that names `path` in an error.
fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::queue_conformance::task;

    #[test]
    fn files_replace_what_the_run_has_left_and_no_link_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for directory in ["hidden/tests/inner", "outside", "workspace/tests/new.py/x", "workspace/closed"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        for (name, text) in [
            ("hidden/tests/new.py", "new"),
            ("hidden/tests/inner/a.py", "a"),
            ("hidden/run.sh", "run"),
            ("outside/run.sh", "kept"),
            ("file", "file"),
            ("workspace/kept.py", "kept"),
            ("workspace/tests/new.py/x/y", ""),
        ] {
            fs::write(at(name), text).unwrap();
        }
        symlink(at("outside"), at("workspace/tests/inner")).unwrap();
        symlink(at("outside/run.sh"), at("workspace/run.sh")).unwrap();
        symlink(at("outside"), at("workspace/deep")).unwrap();
        fs::set_permissions(at("workspace/tests/new.py/x"), Permissions::from_mode(0o0)).unwrap();
        fs::set_permissions(at("workspace/closed"), Permissions::from_mode(0o500)).unwrap();
        let task = crate::task::Task {
            check_dir: Some(at("hidden")),
            check_files: ["deep/er/file", "closed/file", "file"]
                .map(|place| (PathBuf::from(place), at("file")))
                .into(),
            ..task("a", &[])
        };
        // A repeated check gets them again.
        for _ in 0..2 {
            place_check_files(&task, &at("workspace")).unwrap();
            let text = |name: &str| fs::read_to_string(at("workspace").join(name)).unwrap();
            for (name, expected) in [
                ("tests/new.py", "new"),
                ("tests/inner/a.py", "a"),
                ("run.sh", "run"),
                ("kept.py", "kept"),
                ("deep/er/file", "file"),
                ("closed/file", "file"),
                ("file", "file"),
            ] {
                assert_eq!(text(name), expected, "{name}");
            }
            assert_eq!(fs::read_to_string(at("outside/run.sh")).unwrap(), "kept");
            assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 1);
        }
    }
}
