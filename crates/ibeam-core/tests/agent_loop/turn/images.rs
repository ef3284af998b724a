//! Images and documents in the conversation.

use super::*;

fn read_image(which: &str) -> Reply {
    calls_reply(vec![call("1", "look", json!({ "image": which }))])
}

/// Returns the results in the last message of a request.
fn last_results(fixture: &Fixture, request: usize) -> Vec<ToolResult> {
    let requests = fixture.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests[request].messages.last().unwrap().as_ref() else { panic!() };
    results.clone()
}

#[test]
fn the_image_of_a_result_reaches_the_model() {
    let fixture = fixture(vec![read_image("plain"), text_reply(&["ok"])]);
    drop(run_turn(&fixture, &[]));
    assert_eq!(last_results(&fixture, 1)[0].media, [image(PNG)]);
}

#[test]
fn an_image_with_a_secret_reaches_neither_the_journal_nor_the_model() {
    let fixture = fixture(vec![read_image("secret"), text_reply(&["ok"])]);
    let (_, events) = run_turn(&fixture, &[]);
    let results = last_results(&fixture, 1);
    assert_eq!(results[0].media, []);
    assert!(results[0].text.contains("contains a secret of this run"), "{results:?}");
    assert!(!serde_json::to_string(&events).unwrap().contains(SECRET_BASE64));
}

#[test]
fn attached_files_are_parts_of_the_prompt_without_secrets() {
    let text = |name: &str, text: &str| Attachment::Text { name: name.into(), text: text.into() };
    let attachments = vec![
        text("env", &format!("KEY={SECRET}")),
        Attachment::Media(image(PNG)),
        Attachment::Media(image(SECRET_BASE64)),
    ];
    let content = vec!["do it".to_owned()];
    let kind = EventKind::UserMessage { content, attachments };
    let history = History::replay(&[Event { seq: 0, at_ms: 0, kind: kind.clone() }]);
    let Message::User(parts) = history.messages()[0].as_ref() else { panic!() };
    assert_eq!(parts[1], "Attached file `env`:\n\nKEY=sk-0123456789abcdef".into());
    assert_eq!(parts[2..4], ["Attached file `a.png`:".into(), UserPart::Media(image(PNG))]);

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (sender, mut receiver) = mpsc::channel::<ibeam_core::Envelope>(4);
    let clock = Arc::new(Jumping::default());
    let mut journal = Journal::new(ibeam_core::ResumedState::default(), clock, sender)
        .with_redactor(Redactor::new([SECRET.to_owned()]));
    let recorded = runtime.block_on(async {
        let receive = async {
            let envelope = receiver.recv().await.unwrap();
            envelope.receipt.unwrap().send(()).unwrap();
            envelope.event.kind
        };
        futures_util::future::join(journal.record(kind), receive).await.1
    });
    let EventKind::UserMessage { attachments, .. } = recorded else { panic!() };
    let hidden = "(not shown: the file contains a secret of this run)";
    assert_eq!(attachments, [text("env", "KEY=***"), Attachment::Media(image(PNG)), text("a.png", hidden)]);
}

#[test]
fn shortened_results_have_a_line_in_place_of_an_image() {
    let too_long = || {
        let reason = Reason::ContextTooLong { provider: "p".into(), detail: String::new() };
        Reply::Fail(ProviderError::new(reason, Retry::Never))
    };
    let long = json!({ "bytes": 30_000 });
    let mut fixture = fixture(vec![
        read_image("plain"),
        calls_reply(vec![call("2", "repeat", long)]),
        too_long(),
        text_reply(&["ok"]),
    ]);
    fixture.run.context_window = Some(200_000);
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed, "{events:?}");
    let requests = fixture.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests.last().unwrap().messages[2].as_ref() else { panic!() };
    assert_eq!(results[0].text.as_ref(), "done\n[image/png `a.png`, 69 bytes, not shown]");
    assert_eq!(results[0].media, []);
}
