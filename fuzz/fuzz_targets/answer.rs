//! Any stream, on both wires: the decoder neither crashes nor gives two ends.
#![no_main]

use ibeam_core::{ModelEvent, ModelRequest};
use ibeam_providers::provider_table::DEFAULT_QUIRKS;
use ibeam_providers::sse::SseParser;
use ibeam_providers::Wire;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let request = ModelRequest {
        system: "".into(),
        tools: [].into(),
        messages: Vec::new(),
        max_output_tokens: None,
    };
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let mut decoder = wire.decoder(&request, DEFAULT_QUIRKS);
        let mut parser = SseParser::default();
        let (mut events, mut out) = (Vec::new(), Vec::new());
        let _ = parser.feed(bytes, &mut events);
        let failed = events.iter().any(|event| decoder.event(event, &mut out).is_err());
        if !failed {
            let _ = decoder.end(None, &mut out);
        }
        let ends = out.iter().filter(|event| matches!(event, ModelEvent::Finished(_))).count();
        assert!(ends <= 1);
    }
});
