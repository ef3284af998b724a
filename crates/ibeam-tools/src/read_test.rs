use std::io::{Seek, SeekFrom, Write};

use ibeam_core::Access;
use ibeam_protocol::tool_output::ReadOutput;
use ibeam_protocol::{AcceptedMedia, Media, MediaType, ToolFailure, ToolOutput};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::line_window::LineWindow;
use crate::CommandTimeouts;
use crate::fixture::{Fixture, failure, is_root, success};

#[track_caller]
fn read(fixture: &Fixture, arguments: Value) -> (ReadOutput, String) {
    match success(fixture.call("read", arguments)) {
        (ToolOutput::Read(output), for_model) => (output, for_model),
        (other, _) => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(content: &[u8], arguments: Value, expect: ReadOutput, expect_for_model: &str) {
    let fixture = Fixture::with("f.txt", content);
    let mut arguments = arguments;
    arguments["path"] = json!("f.txt");
    let (output, for_model) = read(&fixture, arguments);
    assert_eq!(output, expect);
    assert_eq!(for_model, expect_for_model);
}

#[track_caller]
fn refused(fixture: &Fixture, path: &str, expect: &str) {
    let (_, for_model) = failure(fixture.call("read", json!({"path": path})));
    assert!(for_model.contains(expect), "{for_model}");
    assert_eq!(for_model.lines().count(), 1, "{for_model}");
}

fn output(content: &str, total_lines: u64, total_chars: u64) -> ReadOutput {
    ReadOutput {
        media: Vec::new(),
        content: content.to_owned(),
        is_empty: total_chars == 0,
        exceeded_limit: false,
        total_lines,
        total_chars,
    }
}

#[test]
fn line_numbers_are_for_the_model_only() {
    check(b"one\ntwo\n", json!({}), output("one\ntwo\n", 2, 8), "    1\tone\n    2\ttwo\n");
}

#[test]
fn an_empty_file_is_a_success() {
    check(b"", json!({}), output("", 0, 0), "(the file is empty)\n");
}

#[test]
fn a_range_starts_at_its_offset() {
    check(
        b"1\n2\n3\n4\n",
        json!({"offset": 2, "limit": 2}),
        output("2\n3\n", 4, 8),
        "    2\t2\n    3\t3\n(lines 2-3 of 4; read on with offset 4)\n",
    );
    check(b"1\n2", json!({"offset": 2}), output("2", 2, 3), "    2\t2\n");
    check(b"1\n2", json!({"offset": 0}), output("1\n2", 2, 3), "    1\t1\n    2\t2\n");
}

#[test]
fn crlf_stays_in_the_content_and_out_of_the_view() {
    check(b"a\r\nb\r\n", json!({}), output("a\r\nb\r\n", 2, 6), "    1\ta\n    2\tb\n");
}

#[test]
fn a_byte_order_mark_is_not_text() {
    check(b"\xef\xbb\xbfa", json!({}), output("a", 1, 1), "    1\ta\n");
    check(b"\xff\xfea\0\n\0", json!({}), output("a\n", 1, 2), "    1\ta\n");
}

#[test]
fn latin1_is_decoded() {
    check(
        b"caf\xe9 cr\xe8me br\xfbl\xe9e\n",
        json!({}),
        output("café crème brûlée\n", 1, 18),
        "    1\tcafé crème brûlée\n",
    );
}

#[test]
fn lines_beyond_the_limit_are_cut_and_reported() {
    let content: String = (1..=2500).map(|n| format!("{n}\n")).collect();
    let (output, for_model) = read(&Fixture::with("f.txt", content), json!({"path": "f.txt"}));
    assert!(output.exceeded_limit);
    assert_eq!((output.content.lines().count(), output.total_lines), (2000, 2500));
    assert!(for_model.ends_with(" 2000\t2000\n(lines 1-2000 of 2500; read on with offset 2001)\n"));
}

#[test]
fn an_offset_beyond_the_end_returns_the_number_of_lines() {
    let fixture = Fixture::with("f.txt", "1\n2\n");
    let (_, for_model) = failure(fixture.call("read", json!({"path": "f.txt", "offset": 9})));
    assert!(for_model.starts_with("`f.txt` has 2 lines, `offset` 9 is beyond"), "{for_model}");
}

#[test]
fn one_endless_line_is_cut_with_its_place() {
    let fixture = Fixture::with("f.txt", "é".repeat(2_000_000));
    let (output, for_model) = read(&fixture, json!({"path": "f.txt"}));
    assert!(output.exceeded_limit);
    assert_eq!((output.content.len(), output.total_lines, output.total_chars), (256 << 10, 1, 2_000_000));
    assert!(
        for_model.contains("(cut inside line 1 after 262144 bytes"),
        "{}",
        &for_model[for_model.len() - 300..]
    );
}

#[test]
fn a_sparse_file_of_10_gb_is_refused_at_once() {
    let fixture = Fixture::with("f.bin", "");
    std::fs::File::options().write(true).open(fixture.path("f.bin")).unwrap().set_len(10 << 30).unwrap();
    refused(&fixture, "f.bin", "`f.bin` is a binary file, not text");
}

#[test]
fn a_text_with_a_huge_hole_is_read_within_limits() {
    let fixture = Fixture::with("f.txt", "line\n".repeat(300_000));
    let mut file = std::fs::File::options().write(true).open(fixture.path("f.txt")).unwrap();
    file.seek(SeekFrom::Start(3 << 30)).unwrap();
    file.write_all(b"end").unwrap();
    let (output, for_model) = read(&fixture, json!({"path": "f.txt", "limit": 1}));
    assert!(output.exceeded_limit && output.total_lines >= 300_000);
    assert!(for_model.contains("(lines 1-1 of at least 300001"), "{for_model}");
}

#[test]
fn files_of_proc_are_read_though_they_have_no_size() {
    let (output, _) = read(&Fixture::new(), json!({"path": "/proc/cpuinfo"}));
    assert!(output.content.contains("processor"));
    refused(&Fixture::new(), "/proc/self/pagemap", "binary");
}

#[test]
fn anything_but_a_regular_file_is_refused_by_its_type() {
    let fixture = Fixture::with("dir/x", "");
    fixture.fifo("pipe");
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
    refused(&fixture, "pipe", "`pipe` is a named pipe (FIFO)");
    refused(&fixture, "socket", "is a socket");
    refused(&fixture, "dir", "`dir` is a directory, not a regular file; `ls` lists it");
    refused(&fixture, ".", "is a directory");
    refused(&fixture, "/", "is a directory");
    refused(&fixture, "/dev/zero", "is a character device");
}

#[test]
fn images_are_named() {
    refused(
        &Fixture::with("a.png", b"\x89PNG\r\n\x1a\n\0"),
        "a.png",
        "is a PNG image; images cannot be shown",
    );
}

#[test]
fn images_and_documents_are_shown_to_models_that_accept_them() {
    let accepted_media = AcceptedMedia { images: true, documents: false };
    let fixture =
        Fixture::set(CommandTimeouts::default(), |settings, _| settings.accepted_media = accepted_media);
    fixture.put("a.txt", b"\x89PNG\r\n\x1a\n");
    fixture.put("b.pdf", b"%PDF-1.7\n");
    fixture.put("large", [b"GIF89a".to_vec(), vec![0; 4 << 20]].concat());
    let (output, view) = read(&fixture, json!({"path": "a.txt"}));
    let media = Media { name: "a.txt".into(), media_type: MediaType::Png, data: "iVBORw0KGgo=".into() };
    assert_eq!((output.media, output.content.as_str()), (vec![media], "image/png, 8 bytes"));
    assert_eq!(view, "`a.txt` (image/png, 8 bytes) is shown to you.");
    refused(&fixture, "b.pdf", "is a PDF document, not text");
    refused(&fixture, "large", "is larger than 3932160 bytes, the limit for an image; make a smaller copy");
    let description = &fixture.tools["read"].spec().description;
    assert!(description.ends_with("are shown to you as they are."), "{description}");
    assert!(!Fixture::new().tools["read"].spec().description.contains("PNG"));
}

#[test]
fn errors_name_the_errno() {
    let fixture = Fixture::with("file", "");
    fixture.link("b", "a");
    fixture.link("a", "b");
    refused(&fixture, "none", "`none` does not exist (ENOENT)");
    refused(&fixture, "a", "(ELOOP)");
    refused(&fixture, "file/x", "(ENOTDIR)");
    refused(&fixture, &"n".repeat(300), "(ENAMETOOLONG)");
    refused(&fixture, "", "the path is empty");
    let (failure, _) = failure(fixture.call("read", json!({"path": "none"})));
    assert_eq!(failure, ToolFailure::FileNotFound { path: "none".into() });
}

#[test]
fn an_unreadable_file_is_denied_by_the_system() {
    if is_root() {
        return;
    }
    let fixture = Fixture::with("f", "x");
    std::fs::set_permissions(fixture.path("f"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    refused(&fixture, "f", "(EACCES)");
}

#[test]
fn policy_receives_the_real_path() {
    let fixture = Fixture::new();
    fixture.link("../secret", "link");
    let access = |path: &str| fixture.prepare("read", json!({"path": path})).access;
    assert_eq!(access("link"), Access::Read(fixture.outside("secret")));
    assert_eq!(access("a/../b"), Access::Read(fixture.path("b")));
}

proptest! {
    #[test]
    fn a_window_is_the_same_however_the_text_is_fed(
        text in "[ab\n\r]{0,60}",
        first in 1u64..8,
        count in 1u64..5,
        cut in 0usize..60,
    ) {
        let cut = cut.min(text.len());
        let mut window = LineWindow::new(first, count, 1 << 20);
        window.feed(&text[..cut]);
        window.feed(&text[cut..]);
        let expect: String = text.split_inclusive('\n').skip(first as usize - 1).take(count as usize).collect();
        prop_assert_eq!(&window.content, &expect);
        prop_assert_eq!(window.total_lines(), text.lines().count() as u64);
        prop_assert_eq!(window.chars, text.chars().count() as u64);
        prop_assert_eq!(window.has_more, text.split_inclusive('\n').count() as u64 >= first + count);
    }
}
