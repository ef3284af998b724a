//! A git that is killed, and a repository that is damaged: neither is an answer.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::tests::{run_git, source, workspaces};
use super::*;

/// Returns a git of which the command with this number is killed before it ends.
fn git_with_killed(home: &Path, killed: usize) -> (Git, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let git = Git::new("git".into(), home.join("views"), move |command, input| {
        let is_killed = counted.fetch_add(1, Ordering::Relaxed) == killed;
        let mut copy = Command::new(if is_killed { "sh" } else { "git" });
        match is_killed {
            true => copy.args(["-c", "kill -KILL $$"]),
            false => copy.args(command.get_args()),
        };
        copy.current_dir(command.get_current_dir().unwrap());
        copy.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let piped = Stdio::piped;
        let mut child = copy.stdin(piped()).stdout(piped()).stderr(piped()).spawn()?;
        // A process that is killed does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output()
    });
    (git, count)
}

/// Without an answer of git, a repository neither lacks its commit nor is a plain directory with secret files.
#[test]
fn a_git_that_is_killed_at_any_command_decides_nothing() {
    let mut killed = 0;
    loop {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (source, path, patch) = (source(&home), home.join("task/workspace"), home.join("patch"));
        run_git(&source, &["init", "--quiet"]);
        run_git(&source, &["add", "--all"]);
        let person = ["-c", "user.name=t", "-c", "user.email=t"];
        run_git(&source, &[&person[..], &["commit", "--quiet", "--message", "one"]].concat());
        fs::write(source.join(".env"), "KEY=secret\n").unwrap();
        let (git, count) = git_with_killed(&home, killed);
        let workspaces = Workspaces::new(git, home.join("fleet"));
        let source = WorkspaceSource::Path(source);
        let mut errors = 0;
        let mut failed = |error: WorkspaceError| {
            errors += 1;
            assert!(
                matches!(error, WorkspaceError::Undecided(_) | WorkspaceError::Unavailable(_)),
                "{error:?}"
            );
        };
        while let Err(error) = workspaces.prepare(&source, &path) {
            failed(error);
        }
        assert!(!path.join(".env").exists() && path.join("a.txt").exists(), "{killed}");
        fs::write(path.join("new.txt"), "new\n").unwrap();
        let changes = loop {
            match workspaces.changes(&source, &path, &patch) {
                Ok(changes) => break changes,
                Err(error) => failed(error),
            }
        };
        assert_eq!(changes.files, ["new.txt"], "{killed}");
        let commands = count.load(Ordering::Relaxed);
        if commands <= killed {
            assert_eq!(errors, 0);
            break;
        }
        assert_eq!(errors, 1, "the command {killed}");
        killed += 1;
    }
    assert!(killed > 8, "{killed}");
}

#[test]
fn a_damaged_repository_is_not_a_directory_without_one() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let (source, path) = (source(&home), home.join("task/workspace"));
    let workspaces = workspaces(&home);
    fs::write(source.join(".git"), "gitdir: /nonexistent\n").unwrap();
    let error = workspaces.prepare(&WorkspaceSource::Path(source.clone()), &path).unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
    fs::remove_file(source.join(".git")).unwrap();
    fs::create_dir(source.join(".git")).unwrap();
    workspaces.prepare(&WorkspaceSource::Path(source), &path).unwrap();
}
