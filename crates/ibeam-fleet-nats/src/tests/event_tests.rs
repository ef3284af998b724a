//! The stream of events.

use std::time::Duration;

use ibeam_fleet::{StreamEvent, TaskQueue as _};

use super::server::{Cluster, program};
use crate::connection::QueueOptions;
use crate::events::EventReader;
use crate::nats_queue::NatsQueue;

fn event(task: &str, run: u32, offset: u64) -> StreamEvent {
    let object = format!(r#"{{"task":"{task}","worker":"w","run":{run},"offset":{offset},"event":{{}}}}"#);
    StreamEvent { task: task.to_owned(), id: format!("w:{task}:{run}:{offset}"), object }
}

#[test]
fn each_event_is_read_once_although_its_worker_published_it_again() {
    let Some(program) = program() else { return };
    let server = Cluster::start(program, 1, "");
    server.wait_until_ready();
    let address = server.address("f");
    let options = QueueOptions::default();
    let nothing = EventReader::open(&address, &options, None).unwrap_err().to_string();
    assert!(nothing.contains("no events"), "{nothing}");
    let queue = NatsQueue::create(&address, &options, Duration::from_secs(30)).unwrap();
    let sink = queue.events().unwrap();
    let mut reader = EventReader::open(&address, &options, None).unwrap();
    assert_eq!(reader.read().unwrap(), Vec::<String>::new());
    let events = [event("a", 1, 0), event("a", 1, 40), event("b.c", 1, 0), event("a", 2, 0)];
    sink.publish(&events[..3]).unwrap();
    // After a crash.
    sink.publish(&events[1..]).unwrap();
    let objects = |events: &[&StreamEvent]| -> Vec<String> {
        events.iter().map(|event| event.object.clone()).collect()
    };
    assert_eq!(reader.read().unwrap(), objects(&[&events[0], &events[1], &events[2], &events[3]]));
    assert_eq!(reader.read().unwrap(), Vec::<String>::new());
    let mut of_task = EventReader::open(&address, &options, Some("b.c")).unwrap();
    assert_eq!(of_task.read().unwrap(), objects(&[&events[2]]));
    let count = queue.connection.block_on(async {
        let stream = queue.store.context.get_stream("ibeam-f-events").await.unwrap();
        stream.cached_info().state.messages
    });
    assert_eq!(count, 4, "the server dropped the duplicates");

    // The server has forgotten the ids: what a reader gets is the same.
    queue.connection.block_on(async {
        for event in &events[..2] {
            let mut headers = async_nats::HeaderMap::new();
            headers.insert("Nats-Msg-Id", event.id.as_str());
            let stream = queue.store.context.get_stream("ibeam-f-events").await.unwrap();
            let mut config = stream.cached_info().config.clone();
            config.duplicate_window = Duration::from_millis(100);
            queue.store.context.update_stream(config).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            let subject = queue.store.names.events(&event.task);
            let payload = event.object.clone().into();
            let sent = queue.store.context.publish_with_headers(subject, headers, payload).await.unwrap();
            assert!(!sent.await.unwrap().duplicate);
        }
    });
    assert_eq!(reader.read().unwrap(), Vec::<String>::new());
}
