//! Which sessions there are.

use std::fs;
use std::path::Path;

use ibeam_protocol::SessionId;
use ibeam_session::list;

use super::store::{Store, prompt, text, texts};

#[test]
fn a_list_tells_titles_and_keeps_to_a_workspace() {
    let first = Store::holding(&[prompt(0, "first prompt")]);
    let second = Store { home: first.home, id: SessionId::random(), ..Store::new() };
    second.keep(&[]);
    let home = second.home.path();
    fs::write(home.join("stray"), "").unwrap();
    let all = list(home, Some(Path::new("/work"))).unwrap();
    let mut titles: Vec<_> = all.iter().map(|summary| (summary.id, summary.title.as_deref())).collect();
    titles.sort();
    let mut expected = vec![(first.id, Some("first prompt")), (second.id, None)];
    expected.sort();
    assert_eq!(titles, expected);
    assert!(list(home, Some(Path::new("/elsewhere"))).unwrap().is_empty());
}

#[test]
fn a_large_first_prompt_is_a_title_too() {
    let long = format!("sum this up {}", "x".repeat(70_000));
    let store = Store::holding(&[text(0, "head"), prompt(1, &long)]);
    let all = list(store.home.path(), None).unwrap();
    assert_eq!(all[0].title.as_deref(), Some(long.as_str()));
}

#[test]
fn the_last_segment_tells_when_a_session_was_written_to() {
    let store = Store::rolling(500);
    store.keep(&texts(50));
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    fs::File::options().append(true).open(store.journal()).unwrap().set_modified(old).unwrap();
    let all = list(store.home.path(), None).unwrap();
    assert!(all[0].updated_ms > 1_000_000);
}

#[test]
fn no_directory_holds_no_sessions() {
    let store = Store::new();
    assert!(list(&store.home.path().join("none"), None).unwrap().is_empty());
}
