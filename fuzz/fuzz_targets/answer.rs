//! Any bytes, for every wire protocol: the decoder does not crash, and finishes at most once.
#![no_main]

use ibeam_core::{ModelEvent, ModelRequest};
use ibeam_providers::{PROTOCOLS, Quirks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let request = ModelRequest {
        system: "".into(),
        tools: [].into(),
        messages: Vec::new(),
        max_output_tokens: None,
    };
    for protocol in PROTOCOLS {
        let mut decoder = protocol.decoder(&request, Quirks::DEFAULT);
        let mut parser = protocol.frame_parser();
        let (mut frames, mut out) = (Vec::new(), Vec::new());
        let _ = parser.feed(bytes, &mut frames);
        let failed = frames.iter().any(|frame| decoder.decode_frame(frame, &mut out).is_err());
        if !failed {
            let _ = decoder.finish_stream(None, &mut out);
        }
        let ends = out.iter().filter(|event| matches!(event, ModelEvent::Finished(_))).count();
        assert!(ends <= 1);
    }
});
