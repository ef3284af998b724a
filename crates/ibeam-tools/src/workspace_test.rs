use std::path::PathBuf;

use rustix::io::Errno;

use super::{PathError, Workspace};
use crate::fixture::Fixture;

fn workspace(fixture: &Fixture) -> Workspace {
    Workspace::new(&fixture.root(), &[]).unwrap()
}

fn fixture() -> Fixture {
    let fixture = Fixture::with("dir/file.txt", "x");
    std::fs::write(fixture.outside("secret"), "s").unwrap();
    fixture.link("dir", "to_dir");
    fixture.link("../secret", "out");
    fixture.link("..", "up");
    fixture.link("gone/deep", "dangling");
    fixture.link("loop_b", "loop_a");
    fixture.link("loop_a", "loop_b");
    fixture.link(fixture.path("dir"), "absolute");
    fixture
}

#[track_caller]
fn inside(requested: &str, expect: &str) {
    let fixture = fixture();
    let found = workspace(&fixture).resolve(requested).unwrap();
    let expect = if expect.is_empty() { fixture.root() } else { fixture.path(expect) };
    assert_eq!((found.real, found.is_inside, found.is_dangling), (expect, true, false));
}

#[track_caller]
fn outside(requested: &str, expect: impl Fn(&Fixture) -> PathBuf) {
    let fixture = fixture();
    let found = workspace(&fixture).resolve(requested).unwrap();
    assert_eq!((found.real, found.is_inside), (expect(&fixture), false));
}

#[track_caller]
fn refused(requested: &str, expect: PathError) {
    assert_eq!(workspace(&fixture()).resolve(requested).unwrap_err(), expect);
}

#[test]
fn relative_paths_start_at_the_root() {
    inside("dir/file.txt", "dir/file.txt");
    inside("./dir//file.txt", "dir/file.txt");
    inside(".", "");
}

#[test]
fn links_are_followed_to_the_real_file() {
    inside("to_dir/file.txt", "dir/file.txt");
    inside("absolute/file.txt", "dir/file.txt");
    inside("to_dir/../dir", "dir");
}

#[test]
fn a_path_that_does_not_exist_yet_is_resolved_as_far_as_it_does() {
    inside("to_dir/new/file.txt", "dir/new/file.txt");
}

#[test]
fn a_tilde_is_a_name() {
    inside("~/x", "~/x");
}

#[test]
fn paths_that_lead_out_are_detected() {
    outside("out", |fixture| fixture.outside("secret"));
    outside("up/secret", |fixture| fixture.outside("secret"));
    outside("../secret", |fixture| fixture.outside("secret"));
    outside("dir/../../secret", |fixture| fixture.outside("secret"));
    outside("/etc/hostname", |_| PathBuf::from("/etc/hostname"));
    outside("../ws-sibling", |fixture| fixture.outside("ws-sibling"));
}

#[test]
fn a_dangling_link_is_reported() {
    let found = workspace(&fixture()).resolve("dangling").unwrap();
    assert!(found.is_dangling && found.is_inside);
}

#[test]
fn an_entry_is_the_link_itself() {
    let fixture = fixture();
    let found = workspace(&fixture).resolve_entry("up/ws/out").unwrap();
    assert_eq!(found.real, fixture.path("out"));
}

#[test]
fn paths_that_do_not_resolve_return_the_reason() {
    refused("", PathError::Empty);
    refused("a\0b", PathError::Nul);
    refused("loop_a", PathError::Unreachable(Errno::LOOP));
    refused("dir/file.txt/x", PathError::Unreachable(Errno::NOTDIR));
    refused(&"n".repeat(300), PathError::Unreachable(Errno::NAMETOOLONG));
    refused("gone/../dir", PathError::Unreachable(Errno::NOENT));
}

#[test]
fn additional_directories_belong_to_the_workspace() {
    let fixture = fixture();
    std::fs::create_dir(fixture.outside("more")).unwrap();
    let workspace = Workspace::new(&fixture.root(), &[fixture.outside("more")]).unwrap();
    let path = fixture.outside("more/new.txt");
    assert!(workspace.resolve(path.to_str().unwrap()).unwrap().is_inside);
    assert!(!workspace.resolve("../secret").unwrap().is_inside);
}

#[test]
fn the_workspace_stays_the_same_when_another_directory_takes_its_name() {
    let fixture = fixture();
    let workspace = workspace(&fixture);
    std::fs::rename(fixture.root(), fixture.outside("moved")).unwrap();
    std::os::unix::fs::symlink("/", fixture.outside("ws")).unwrap();
    let (from, path) = workspace.anchor(workspace.root());
    let stat = rustix::fs::statat(from, path, rustix::fs::AtFlags::empty()).unwrap();
    let moved = rustix::fs::stat(fixture.outside("moved")).unwrap();
    assert_eq!((stat.st_dev, stat.st_ino), (moved.st_dev, moved.st_ino));
    assert!(workspace.resolve("dir/file.txt").unwrap().is_inside);
}
