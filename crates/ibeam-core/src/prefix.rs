//! Fingerprints of what comes before an answer in its request: instructions, tools, messages.
//!
//! Some models bind their thinking to that prefix, and their services refuse it after any other. Pure. Journals store
//! the fingerprints, so they depend neither on the process nor on the platform. The thinking itself is not part of a
//! prefix, because it may be left out of later requests.

use std::sync::Arc;

use ibeam_protocol::{Block, Media, Message, RequestUpdate, ToolSpec, UserPart};
use serde_json::Value;

use crate::ports::ModelRequest;

/// The fingerprints of the prefixes of a conversation that grows. The cost of a request depends on its new messages only.
#[derive(Default)]
pub(crate) struct PrefixChain {
    last: Option<Links>,
}

/// The fingerprints of the last request, and the parts of it that they depend on.
struct Links {
    provider: String,
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    messages: Vec<Arc<Message>>,
    /// The fingerprint before each message, and the one after the last message.
    fingerprints: Vec<u64>,
}

impl PrefixChain {
    /// Returns the fingerprint before each message of a request, and the one after the last message. The name of the
    /// provider is part of them: thinking may be bound to the account too.
    pub(crate) fn fingerprints(&mut self, provider: &str, request: &ModelRequest) -> &[u64] {
        let mut links = match self.last.take().filter(|links| links.may_continue(provider, request)) {
            Some(links) => links,
            None => Links::new(provider, request),
        };
        links.extend(&request.messages);
        &self.last.insert(links).fingerprints
    }
}

impl Links {
    fn new(provider: &str, request: &ModelRequest) -> Self {
        Self {
            provider: provider.to_owned(),
            system: Arc::clone(&request.system),
            tools: Arc::clone(&request.tools),
            messages: Vec::new(),
            fingerprints: vec![seed(provider, request)],
        }
    }

    fn may_continue(&self, provider: &str, request: &ModelRequest) -> bool {
        self.provider == provider
            && Arc::ptr_eq(&self.system, &request.system)
            && Arc::ptr_eq(&self.tools, &request.tools)
    }

    /// Continues after the messages that are the same as before. Returns how many messages were read.
    fn extend(&mut self, messages: &[Arc<Message>]) -> usize {
        let is_same = |(known, new): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(known, new) || known == new;
        let same = self.messages.iter().zip(messages).take_while(is_same).count();
        self.messages.truncate(same);
        self.fingerprints.truncate(same + 1);
        let new = messages.get(same..).unwrap_or_default();
        for message in new {
            let mut hash = Fnv(self.fingerprints.last().copied().unwrap_or_default());
            hash.add_message(message);
            self.messages.push(Arc::clone(message));
            self.fingerprints.push(hash.0);
        }
        new.len()
    }
}

/// Returns the fingerprint before the first message. The order of the tools does not matter.
fn seed(provider: &str, request: &ModelRequest) -> u64 {
    let mut hash = Fnv::EMPTY;
    hash.add_text(provider);
    hash.add_text(&request.system);
    hash.add_tools(&request.tools);
    hash.0
}

fn tool_hash(tool: &ToolSpec) -> u64 {
    let mut hash = Fnv::EMPTY;
    hash.add_text(&tool.name);
    hash.add_text(&tool.description);
    hash.add_json(&tool.parameters);
    hash.0
}

/// Returns the fingerprint of the content of an image or document.
pub fn media_fingerprint(media: &Media) -> u64 {
    let mut hash = Fnv::EMPTY;
    hash.add_text(media.media_type.name());
    hash.add_text(&media.data);
    hash.0
}

/// FNV-1a with 64 bits. Each part has a tag or a length, so that different messages are different bytes.
#[derive(Clone, Copy)]
struct Fnv(u64);

impl Fnv {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(Self::PRIME);
        }
    }

    fn add_text(&mut self, text: &str) {
        self.add(&(text.len() as u64).to_le_bytes());
        self.add(text.as_bytes());
    }

    /// Adds a value as JSON, which has no NUL.
    fn add_json(&mut self, value: &Value) {
        self.add(value.to_string().as_bytes());
        self.add(b"\0");
    }

    fn add_message(&mut self, message: &Message) {
        match message {
            Message::User(parts) => {
                self.add(b"U");
                parts.iter().for_each(|part| self.add_part(part));
            }
            Message::Instructions(parts) => {
                self.add(b"I");
                parts.iter().for_each(|part| self.add_part(part));
            }
            // No request shows an empty one.
            Message::Update(update) if update.is_empty() => {}
            Message::Update(RequestUpdate { tools, effort }) => {
                self.add(b"C");
                self.add_tools(tools);
                self.add_text(effort.as_deref().unwrap_or_default());
            }
            Message::Assistant(blocks) => {
                // A message of thinking alone disappears from requests when its thinking is left out.
                if blocks.iter().any(|block| !matches!(block, Block::Thinking { original: None, .. })) {
                    self.add(b"A");
                }
                blocks.iter().for_each(|block| self.add_block(block));
            }
            Message::ToolResults(results) => {
                self.add(b"R");
                for result in results {
                    self.add(if result.is_error { b"e" } else { b"r" });
                    self.add_text(result.call_id.as_str());
                    self.add_text(&result.name);
                    self.add_text(&result.text);
                    result.media.iter().for_each(|media| self.add_media(media));
                }
            }
        }
    }

    /// Adds tools, whose order does not matter.
    fn add_tools(&mut self, tools: &[ToolSpec]) {
        let mut hashes: Vec<u64> = tools.iter().map(tool_hash).collect();
        hashes.sort_unstable();
        hashes.iter().for_each(|hash| self.add(&hash.to_le_bytes()));
    }

    fn add_part(&mut self, part: &UserPart) {
        match part {
            UserPart::Text(text) => {
                self.add(b"t");
                self.add_text(text);
            }
            UserPart::Media(media) => self.add_media(media),
        }
    }

    fn add_media(&mut self, media: &Media) {
        self.add(b"m");
        self.add_text(media.media_type.name());
        self.add_text(&media.name);
        self.add_text(&media.data);
    }

    fn add_block(&mut self, block: &Block) {
        match block {
            Block::Text(text) => {
                self.add(b"t");
                self.add_text(text);
            }
            Block::ToolCall(call) => {
                self.add(b"c");
                self.add_text(call.id.as_str());
                self.add_text(&call.name);
                self.add_json(&call.arguments);
            }
            Block::Opaque(original) => {
                self.add(b"o");
                self.add_text(&original.wire);
                self.add_json(&original.raw);
            }
            Block::Thinking { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ibeam_protocol::{MediaType, OriginalBlock, ToolCall, ToolResult};
    use serde_json::json;

    use super::*;

    fn tool(name: &'static str) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: "d".into(),
            parameters: json!({ "type": "object" }).into(),
        }
    }

    fn image(data: &str) -> Media {
        Media { name: "a.png".to_owned(), media_type: MediaType::Png, data: data.into() }
    }

    fn thinking(signature: &str) -> Block {
        let original = OriginalBlock { wire: "w".to_owned(), raw: json!({ "signature": signature }) };
        Block::Thinking { text: "hm".to_owned(), original: Some(original) }
    }

    fn call(id: &str, path: &str) -> Block {
        let arguments = json!({ "path": path });
        Block::ToolCall(ToolCall { id: id.into(), name: "read".to_owned(), arguments })
    }

    fn result(id: &str, text: &str, media: Vec<Media>) -> Message {
        let (call_id, name) = (id.into(), "read".to_owned());
        Message::ToolResults(vec![ToolResult { call_id, name, text: text.into(), is_error: false, media }])
    }

    fn user(text: &str) -> Message {
        Message::User(vec![text.into()])
    }

    fn request(messages: Vec<Message>) -> ModelRequest {
        ModelRequest {
            system: "be good".into(),
            tools: Arc::new([tool("a"), tool("b")]),
            messages: messages.into_iter().map(Arc::new).collect(),
            max_output_tokens: None,
            answer_schema: None,
            effort: None,
        }
    }

    /// Returns the fingerprint after all messages.
    fn fingerprint(request: &ModelRequest) -> u64 {
        *PrefixChain::default().fingerprints("p", request).last().unwrap()
    }

    fn conversation() -> ModelRequest {
        let opaque = Block::Opaque(OriginalBlock { wire: "w".to_owned(), raw: json!([1.5]) });
        request(vec![
            Message::User(vec!["do it".into(), UserPart::Media(image("iVBO"))]),
            Message::Assistant(vec![thinking("s"), Block::Text("yes".to_owned()), call("1", "a"), opaque]),
            result("1", "content", vec![image("iVBO")]),
        ])
    }

    /// Journals of earlier versions have these numbers.
    #[test]
    fn a_fingerprint_is_the_same_in_every_version() {
        let found = PrefixChain::default().fingerprints("p", &conversation()).to_vec();
        let expect = [
            14_267_924_157_874_251_253,
            15_582_209_426_063_896_355,
            650_484_944_453_268_378,
            12_522_467_395_145_527_534,
        ];
        assert_eq!(found, expect);
    }

    #[test]
    fn every_part_of_a_prefix_counts() {
        let same = fingerprint(&conversation());
        let part = |index: usize, message: Message| {
            let mut request = conversation();
            request.messages[index] = Arc::new(message);
            request
        };
        let opaque = |wire: &str, raw: Value| Block::Opaque(OriginalBlock { wire: wire.to_owned(), raw });
        let answer = |text: &str, call: Block, opaque: Block| {
            Message::Assistant(vec![thinking("s"), Block::Text(text.to_owned()), call, opaque])
        };
        let others = [
            ModelRequest { system: "be better".into(), ..conversation() },
            ModelRequest { tools: Arc::new([tool("a")]), ..conversation() },
            ModelRequest { tools: Arc::new([tool("a"), tool("c")]), ..conversation() },
            part(0, Message::User(vec!["do it".into(), UserPart::Media(image("iVBP"))])),
            part(0, Message::User(vec!["do it now".into(), UserPart::Media(image("iVBO"))])),
            part(0, Message::User(vec![UserPart::Media(image("iVBO")), "do it".into()])),
            part(0, user("do it")),
            part(1, answer("no", call("1", "a"), opaque("w", json!([1.5])))),
            part(1, answer("yes", call("2", "a"), opaque("w", json!([1.5])))),
            part(1, answer("yes", call("1", "b"), opaque("w", json!([1.5])))),
            part(1, answer("yes", call("1", "a"), opaque("v", json!([1.5])))),
            part(1, answer("yes", call("1", "a"), opaque("w", json!([1.6])))),
            part(2, result("1", "other content", vec![image("iVBO")])),
            part(2, result("1", "content", vec![])),
            part(2, result("2", "content", vec![image("iVBO")])),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(fingerprint(other), same, "{index}");
        }
        assert_ne!(PrefixChain::default().fingerprints("q", &conversation()).last(), Some(&same));
    }

    #[test]
    fn thinking_and_the_order_of_tools_do_not_count() {
        let same = fingerprint(&conversation());
        let reordered = ModelRequest { tools: Arc::new([tool("b"), tool("a")]), ..conversation() };
        assert_eq!(fingerprint(&reordered), same);
        let mut without = conversation();
        crate::thinking::omit_thinking(without.messages.iter_mut());
        assert_ne!(without.messages, conversation().messages);
        assert_eq!(fingerprint(&without), same);
    }

    #[test]
    fn an_answer_of_thinking_alone_counts_until_it_is_left_out() {
        let with = |blocks| fingerprint(&request(vec![user("a"), Message::Assistant(blocks), user("b")]));
        let without = fingerprint(&request(vec![user("a"), user("b")]));
        assert_ne!(with(vec![thinking("s")]), without);
        assert_eq!(with(vec![]), without);
        assert_eq!(with(vec![Block::Thinking { text: "hm".to_owned(), original: None }]), without);
    }

    #[test]
    fn a_request_costs_only_its_new_messages() {
        let mut request = conversation();
        let mut links = Links::new("p", &request);
        assert_eq!(links.extend(&request.messages), 3);
        for _ in 0..10 {
            request.messages.push(Arc::new(user("more")));
            // The preface makes another message of the first one at each request.
            request.messages[0] = Arc::new(Message::clone(&request.messages[0]));
            assert_eq!(links.extend(&request.messages), 1);
            assert_eq!(links.fingerprints.last(), Some(&fingerprint(&request)));
        }
        request.messages[2] = Arc::new(result("1", "short", vec![]));
        assert_eq!(links.extend(&request.messages), 11);
        assert_eq!(links.fingerprints.last(), Some(&fingerprint(&request)));
    }
}
