//! Parts of requests that a service refuses, or is known not to accept.

use super::*;

/// The header of an image with so many pixels on a side, and some data.
fn image_with_side(side: u32) -> String {
    use base64::Engine;
    let chunk = |kind: &[u8], data: &[u8]| {
        [&u32::try_from(data.len()).unwrap().to_be_bytes()[..], kind, data, &[0; 4]].concat()
    };
    let header = [&side.to_be_bytes()[..], &1_u32.to_be_bytes(), &[1, 0, 0, 0, 0]].concat();
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &header), &chunk(b"IDAT", b"x")].concat();
    base64::engine::general_purpose::STANDARD.encode(png)
}

fn refusal(part: RefusedPart) -> Reply {
    let reason = Reason::BadRequest { provider: "p".into(), detail: "no".into(), part: RequestPart::Media };
    Reply::Fail(ProviderError::new(reason, Retry::without(part)))
}

fn too_large(part: RefusedPart) -> Reply {
    let reason = Reason::ContextTooLong { provider: "p".into(), detail: "no".into() };
    Reply::Fail(ProviderError::new(reason, Retry::without(part)))
}

/// Returns an answer that reads images, by their content.
fn read_images(id: &str, images: &[&str]) -> Reply {
    let calls = images.iter().enumerate();
    let calls = calls.map(|(index, data)| call(&format!("{id}{index}"), "look", json!({ "image": data })));
    calls_reply(calls.collect())
}

fn with_server_tools(replies: Vec<Reply>) -> Fixture {
    let mut fixture = fixture(replies);
    for name in ["mcp_s_one", "mcp_s_two", "mcp_s_three"] {
        let (running, max_running) = Default::default();
        let probe = Probe { name, access: Access::Nothing, running, max_running };
        fixture.run.tools.insert(name.to_owned(), Arc::new(probe));
    }
    fixture
}

/// Returns the number of images, and the number of lines in place of one, in each request.
fn sent_media(fixture: &Fixture) -> Vec<(usize, usize)> {
    let count = |request: &Arc<ModelRequest>| {
        let json =
            serde_json::to_string(&request.messages.iter().map(|m| m.as_ref()).collect::<Vec<_>>()).unwrap();
        (json.matches("\"media_type\"").count(), json.matches("left out: ").count())
    };
    fixture.provider.requests.lock().unwrap().iter().map(count).collect()
}

/// Returns how many tools of the server each request offers.
fn sent_tools(fixture: &Fixture) -> Vec<Vec<String>> {
    let server_tools = |request: &Arc<ModelRequest>| {
        let names = request.tools.iter().map(|tool| tool.name.to_string());
        names.filter_map(|name| Some(name.strip_prefix("mcp_s_")?.to_owned())).collect()
    };
    fixture.provider.requests.lock().unwrap().iter().map(server_tools).collect()
}

fn notices(events: &[Event]) -> Vec<Notice> {
    let notice = |event: &Event| match &event.kind {
        EventKind::Notice(notice) => Some(notice.clone()),
        _ => None,
    };
    events.iter().filter_map(notice).collect()
}

#[test]
fn a_refused_image_is_left_out_for_the_rest_of_the_session() {
    let fixture = fixture(vec![
        read_images("a", &["plain"]),
        refusal(RefusedPart::Media(Vec::new())),
        // The model reads the same file again.
        read_images("b", &["plain"]),
        text_reply(&["ok"]),
    ]);
    let events = check(
        &fixture,
        "Started User Answer Call(a0) Allowed(a0) Done(a0) PartsOmitted(media) FilesRefused Answer Call(b0) \
         Allowed(b0) Done(b0) Text(ok) Answer Completed",
    );
    assert_eq!(sent_media(&fixture), [(0, 0), (1, 0), (0, 1), (0, 2)]);
    assert_eq!(notices(&events), [Notice::FilesRefused { provider: "p".into(), files: "a.png".into() }]);
    let resumed = super::fixture(vec![text_reply(&["ok"])]);
    assert_eq!(run_turn(&resumed, &events).0, RunOutcome::Completed);
    assert_eq!(sent_media(&resumed), [(0, 2)]);
}

/// Without a position, only what the last accepted request did not have can be meant.
#[test]
fn an_image_that_was_accepted_before_stays() {
    let other = image_with_side(7);
    for part in [RefusedPart::Media(Vec::new()), RefusedPart::Unknown] {
        let fixture = fixture(vec![
            read_images("a", &["plain"]),
            read_images("b", &[&other]),
            refusal(part),
            text_reply(&["ok"]),
        ]);
        assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Completed);
        assert_eq!(sent_media(&fixture), [(0, 0), (1, 0), (2, 0), (1, 1)]);
    }
    let named = ibeam_core::media_fingerprint(&image(PNG));
    let replies = vec![
        read_images("a", &["plain", &other]),
        refusal(RefusedPart::Media(vec![named])),
        text_reply(&["ok"]),
    ];
    let fixture = fixture(replies);
    assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Completed);
    assert_eq!(sent_media(&fixture), [(0, 0), (2, 0), (1, 1)]);
}

#[test]
fn a_request_that_is_too_large_loses_its_oldest_images_before_it_is_shortened() {
    let images = [7, 8, 9, 10].map(image_with_side);
    let fixture = fixture(vec![
        read_images("a", &images.each_ref().map(String::as_str)),
        too_large(RefusedPart::MediaSize),
        text_reply(&["ok"]),
    ]);
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed, "{events:?}");
    assert_eq!(sent_media(&fixture), [(0, 0), (4, 0), (2, 2)]);
}

#[test]
fn a_refusal_that_is_about_nothing_in_the_request_ends_the_run() {
    for part in [
        RefusedPart::Media(vec![1]),
        RefusedPart::Tools(Vec::new()),
        RefusedPart::Unknown,
        RefusedPart::ToolsBeyond(50),
        RefusedPart::Thinking,
    ] {
        let fixture = fixture(vec![refusal(part.clone())]);
        let (outcome, events) = run_turn(&fixture, &[]);
        assert!(matches!(outcome, RunOutcome::Failed(_)), "{part:?}");
        assert_eq!(notices(&events), [], "{part:?}");
    }
}

#[test]
fn each_refused_tool_is_left_out_and_named_as_its_server_names_it() {
    let tool = |name: &str| refusal(RefusedPart::Tools(vec![name.to_owned()]));
    let fixture = with_server_tools(vec![tool("mcp_s_two"), tool("mcp_s_one"), text_reply(&["ok"])]);
    let events = check(
        &fixture,
        "Started User PartsOmitted(mcp_s_two) ToolsRefused PartsOmitted(mcp_s_one) ToolsRefused Text(ok) Answer \
         Completed",
    );
    let all = vec!["one".to_owned(), "three".into(), "two".into()];
    assert_eq!(sent_tools(&fixture), [all, vec!["one".into(), "three".into()], vec!["three".into()]]);
    assert_eq!(notices(&events)[0], Notice::ToolsRefused { provider: "p".into(), tools: "s:two".into() });
    let resumed = with_server_tools(vec![text_reply(&["ok"])]);
    assert_eq!(run_turn(&resumed, &events).0, RunOutcome::Completed);
    assert_eq!(sent_tools(&resumed), [["three"]]);
}

#[test]
fn tools_that_the_service_does_not_name_are_those_of_servers() {
    let fixture = with_server_tools(vec![refusal(RefusedPart::Tools(Vec::new())), text_reply(&["ok"])]);
    assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Completed);
    assert_eq!(sent_tools(&fixture).last().unwrap(), &Vec::<String>::new());
    assert!(fixture.provider.requests.lock().unwrap()[1].tools.len() > 3, "the own tools stay");
}

#[test]
fn of_too_many_tools_the_last_ones_of_servers_are_left_out() {
    let beyond = "Started User PartsOmitted(mcp_s_three,mcp_s_two) ToolsRefused Text(ok) Answer Completed";
    let refused = with_server_tools(vec![refusal(RefusedPart::ToolsBeyond(8)), text_reply(&["ok"])]);
    check(&refused, beyond);
    let mut known = with_server_tools(vec![text_reply(&["ok"])]);
    known.run.request_limits.tools = Some(8);
    let events = check(&known, "Started User ToolsBeyondLimit Text(ok) Answer Completed");
    for fixture in [&refused, &known] {
        assert_eq!(sent_tools(fixture).last().unwrap(), &["one"]);
    }
    let tools = "s:three, s:two".to_owned();
    assert_eq!(notices(&events), [Notice::ToolsBeyondLimit { provider: "p".into(), limit: 8, tools }]);
}

/// Returns the requests of a run whose tool returns these images, and its notices.
fn with_limits(images: &[&str], limits: RequestLimits) -> (Vec<(usize, usize)>, Vec<Notice>) {
    let mut fixture = fixture(vec![read_images("a", images), text_reply(&["ok"])]);
    fixture.run.request_limits = limits;
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    (sent_media(&fixture), notices(&events))
}

#[test]
fn a_damaged_image_is_never_sent() {
    let cut = &PNG[..48];
    let (sent, notices) = with_limits(&[cut, "plain"], RequestLimits::default());
    assert_eq!(sent, [(0, 0), (1, 1)]);
    assert_eq!(notices, [Notice::ImagesDamaged { files: "a.png".into() }]);
}

#[test]
fn images_beyond_the_limits_of_the_service_are_left_out() {
    let (large, small) = (image_with_side(5000), image_with_side(2000));
    let side =
        RequestLimits { image_side: Some(4000), image_side_of_many: Some((2, 1000)), ..Default::default() };
    let (sent, found) = with_limits(&[&large, &small], side);
    assert_eq!(sent, [(0, 0), (1, 1)]);
    assert_eq!(found, [Notice::ImagesTooLarge { provider: "p".into(), limit: 4000, files: "a.png".into() }]);
    assert_eq!(with_limits(&[&large, &small, "plain"], side).0, [(0, 0), (1, 2)]);
    let count = RequestLimits { images: Some(2), documents: Some(0), ..Default::default() };
    let (sent, found) = with_limits(&[&large, &small, "plain"], count);
    assert_eq!(sent, [(0, 0), (2, 1)]);
    assert_eq!(found, [Notice::FilesBeyondLimit { provider: "p".into(), limit: 2, files: "a.png".into() }]);
}

#[test]
fn a_service_that_refuses_everything_is_not_asked_for_ever() {
    let images: Vec<String> = (1..20).map(image_with_side).collect();
    let mut replies: Vec<Reply> = images
        .iter()
        .map(|data| {
            let named = ibeam_core::media_fingerprint(&image(data));
            refusal(RefusedPart::Media(vec![named]))
        })
        .collect();
    replies.insert(0, read_images("a", &images.iter().map(String::as_str).collect::<Vec<_>>()));
    let fixture = fixture(replies);
    assert!(matches!(run_turn(&fixture, &[]).0, RunOutcome::Failed(_)));
    assert_eq!(fixture.provider.requests.lock().unwrap().len(), 10);
}

/// Google's services sign calls: without the thinking, the signatures go too.
#[test]
fn refused_thinking_is_left_out_with_its_signatures() {
    let original = |raw: Value| OriginalBlock { wire: "w".to_owned(), raw };
    let signature = Block::Opaque(original(json!({ "thoughtSignature": "s" })));
    let kept = Block::Opaque(original(json!({ "executableCode": { "code": "1" } })));
    let blocks = vec![kept, signature, Block::ToolCall(call("1", "look", json!({})))];
    let signed = Reply::Complete(vec![finished(blocks, StopReason::ToolUse)]);
    let fixture = fixture(vec![signed, refusal(RefusedPart::Thinking), text_reply(&["ok"])]);
    assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Completed);
    let requests = fixture.provider.requests.lock().unwrap();
    let sent = |request: usize| format!("{:?}", requests[request].messages);
    assert!(sent(1).contains("thoughtSignature"));
    assert!(!sent(2).contains("thoughtSignature") && sent(2).contains("executableCode"), "{}", sent(2));
}
