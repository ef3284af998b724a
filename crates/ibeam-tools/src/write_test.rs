use std::os::unix::fs::{MetadataExt as _, PermissionsExt};

use ibeam_core::{Access, CallPreview};
use ibeam_protocol::ToolOutput;
use ibeam_protocol::tool_output::WriteOutput;
use serde_json::json;

use super::diff_of_file;
use crate::fixture::{Fixture, failure, is_root, success};

#[track_caller]
fn write(fixture: &Fixture, path: &str, text: &str) -> (WriteOutput, String) {
    match success(fixture.call("write", json!({"path": path, "fileText": text}))) {
        (ToolOutput::Write(output), for_model) => (output, for_model),
        (other, _) => panic!("{other:?}"),
    }
}

#[track_caller]
fn over(old: impl AsRef<[u8]>, text: &str, expect: &[u8]) {
    let fixture = Fixture::with("f", old);
    let (output, _) = write(&fixture, "f", text);
    assert_eq!(fixture.bytes("f"), expect);
    assert_eq!((output.file_size, output.created), (expect.len() as u64, false));
}

#[track_caller]
fn refused(fixture: &Fixture, path: &str, expect: &str) {
    let (_, for_model) = failure(fixture.call("write", json!({"path": path, "fileText": "new"})));
    assert!(for_model.contains(expect), "{for_model}");
    assert_eq!(for_model.lines().count(), 1, "{for_model}");
}

fn names(fixture: &Fixture) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(fixture.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_new_file_is_made_with_its_directories() {
    let fixture = Fixture::new();
    let (output, for_model) = write(&fixture, "a/b/c.txt", "one\ntwo");
    let expect = WriteOutput {
        path: fixture.path("a/b/c.txt"),
        lines_created: 2,
        file_size: 7,
        created: true,
        diff: String::new(),
    };
    assert_eq!(output, expect);
    assert_eq!(for_model, "created `a/b/c.txt`: 2 lines, 7 bytes");
    assert_eq!(fixture.bytes("a/b/c.txt"), b"one\ntwo");
}

#[test]
fn a_replaced_text_file_has_a_diff() {
    let fixture = Fixture::with("f", "a\nb\n");
    let expect = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    // A question shows it before the file is written.
    let proposed = diff_of_file(&fixture.path("f"), "a\nc\n").unwrap();
    assert!(proposed.ends_with(expect), "{proposed}");
    let (output, _) = write(&fixture, "f", "a\nc\n");
    assert!(output.diff.ends_with(expect), "{}", output.diff);
    assert_eq!(write(&fixture, "f", "a\nc\n").0.diff, "", "nothing changed");
    assert_eq!(write(&Fixture::with("f", b"\xff\xfe\0"), "f", "text").0.diff, "");
    assert_eq!(write(&Fixture::with("f", "x".repeat((1 << 20) + 1)), "f", "text").0.diff, "");
    assert_eq!(diff_of_file(&fixture.path("new"), "text"), None);
}

#[test]
fn a_preview_writes_nothing() {
    let fixture = Fixture::with("f", "a\n");
    let preview = |path: &str| fixture.preview("write", json!({"path": path, "fileText": "b\n"}));
    let CallPreview::Change { diff } = preview("f") else { panic!("the file exists") };
    assert!(diff.ends_with("@@ -1 +1 @@\n-a\n+b\n"), "{diff}");
    assert_eq!(preview("new/file"), CallPreview::Unknown);
    assert!(matches!(preview("."), CallPreview::Failure(_)));
    assert!(fixture.bytes("f") == b"a\n" && !fixture.path("new").exists());
}

#[test]
fn a_new_file_follows_the_umask() {
    let fixture = Fixture::with("made by the standard library", "");
    write(&fixture, "f", "x");
    let mode = |name: &str| fixture.path(name).metadata().unwrap().mode();
    assert_eq!(mode("f"), mode("made by the standard library"));
}

#[test]
fn an_existing_file_keeps_its_mode_and_gets_a_new_inode_only() {
    for mode in [0o755, 0o600, 0o4750] {
        let fixture = Fixture::with("f", "old");
        std::fs::set_permissions(fixture.path("f"), PermissionsExt::from_mode(mode)).unwrap();
        write(&fixture, "f", "new");
        assert_eq!(fixture.path("f").metadata().unwrap().mode() & 0o7777, mode);
        assert_eq!(names(&fixture), ["f"], "no temporary file is left");
    }
}

#[test]
fn extended_attributes_stay() {
    let fixture = Fixture::with("f", "old");
    let path = fixture.path("f");
    let set = rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty());
    if let Err(errno) = set {
        eprintln!("SKIP: the file system has no user attributes ({errno})");
        return;
    }
    write(&fixture, "f", "new");
    let mut value = vec![0; 16];
    let length = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
    assert_eq!(&value[..length], b"kept");
}

#[test]
fn the_owner_stays() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIP: only root can give a file to somebody else");
        return;
    }
    let fixture = Fixture::with("f", "old");
    std::os::unix::fs::chown(fixture.path("f"), Some(1234), Some(2345)).unwrap();
    write(&fixture, "f", "new");
    let metadata = fixture.path("f").metadata().unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (1234, 2345));
}

#[test]
fn the_conventions_of_the_old_file_stay() {
    over("old\n", "new\n", b"new\n");
    over("a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n");
    over("a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n");
    over("a\r\nb\n", "x\n", b"x\n");
    over(b"\xef\xbb\xbfold", "new", b"\xef\xbb\xbfnew");
    over(b"\xef\xbb\xbfold", "\u{FEFF}new", b"\xef\xbb\xbfnew");
    over(b"\xff\xfea\0\r\0\n\0", "b\n", b"\xff\xfeb\0\r\0\n\0");
    over(b"caf\xe9 cr\xe8me br\xfbl\xe9e\n", "né\n", b"n\xe9\n");
}

#[test]
fn a_text_that_the_old_encoding_lacks_is_written_in_utf8() {
    over(b"caf\xe9 cr\xe8me br\xfbl\xe9e\n", "né 😀\n", "né 😀\n".as_bytes());
}

#[test]
fn a_binary_file_is_replaced_by_plain_text() {
    over(b"\x7fELF\0", "text", b"text");
}

#[test]
fn a_link_inside_is_followed_and_stays() {
    let fixture = Fixture::with("real", "old");
    fixture.link("real", "link");
    let (output, _) = write(&fixture, "link", "new");
    assert_eq!(output.path, fixture.path("real"));
    assert_eq!(fixture.bytes("real"), b"new");
    assert!(fixture.path("link").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn links_to_nothing_and_out_are_refused() {
    let fixture = Fixture::new();
    std::fs::write(fixture.outside("secret"), "s").unwrap();
    fixture.link("../secret", "out");
    fixture.link("gone", "dangling");
    fixture.link("..", "up");
    refused(&fixture, "out", "goes through a symbolic link out of the workspace");
    refused(&fixture, "up/secret", "out of the workspace");
    refused(&fixture, "up/new", "out of the workspace");
    refused(&fixture, "dangling", "which does not exist");
    refused(&fixture, "dangling/x", "which does not exist");
    assert_eq!(std::fs::read(fixture.outside("secret")).unwrap(), b"s");
    assert!(!fixture.outside("new").exists() && !fixture.path("gone").exists());
}

#[test]
fn anything_but_a_regular_file_is_refused() {
    let fixture = Fixture::with("d/f", "");
    fixture.fifo("pipe");
    refused(&fixture, "d", "is a directory");
    refused(&fixture, ".", "is a directory");
    refused(&fixture, "pipe", "named pipe");
    refused(&fixture, "/dev/full", "is a character device");
    refused(&fixture, "d/f/x", "(ENOTDIR)");
    refused(&fixture, &"n".repeat(256), "(ENAMETOOLONG)");
}

#[test]
fn a_read_only_file_or_directory_is_refused_by_the_system() {
    if is_root() {
        return;
    }
    let fixture = Fixture::with("f", "old");
    fixture.put("d/x", "");
    std::fs::set_permissions(fixture.path("f"), PermissionsExt::from_mode(0o444)).unwrap();
    std::fs::set_permissions(fixture.path("d"), PermissionsExt::from_mode(0o555)).unwrap();
    refused(&fixture, "f", "(EACCES)");
    refused(&fixture, "d/new", "(EACCES)");
    assert_eq!(fixture.bytes("f"), b"old");
}

#[test]
fn a_hard_link_keeps_the_old_content() {
    let fixture = Fixture::with("f", "old");
    std::fs::hard_link(fixture.path("f"), fixture.path("other")).unwrap();
    write(&fixture, "f", "new");
    assert_eq!((fixture.bytes("f"), fixture.bytes("other")), (b"new".to_vec(), b"old".to_vec()));
}

#[test]
fn a_name_that_differs_only_in_case_is_reported() {
    let fixture = Fixture::with("Readme.md", "");
    let (_, for_model) = write(&fixture, "README.md", "x");
    assert!(for_model.ends_with("beware: `Readme.md` exists and differs only in case"), "{for_model}");
}

#[test]
fn names_of_any_kind_are_written() {
    let fixture = Fixture::new();
    let long = "n".repeat(255);
    let deep = format!("{}f", "d/".repeat(200));
    for name in ["new\nline", "quote\"'", "esc\u{1b}[31m", long.as_str(), deep.as_str()] {
        write(&fixture, name, name);
        assert_eq!(fixture.bytes(name), name.as_bytes());
    }
}

#[test]
fn policy_receives_the_real_path() {
    let fixture = Fixture::new();
    fixture.link("../secret", "link");
    let access = |path: &str| fixture.prepare("write", json!({"path": path, "fileText": ""})).access;
    assert_eq!(access("link"), Access::Write(fixture.outside("secret")));
    assert_eq!(access("/etc/../etc/x"), Access::Write("/etc/x".into()));
}
