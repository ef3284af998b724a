//! Thinking that is bound to what came before it: system prompt, set of tools, messages without thinking and cache marks.
//!
//! A signature contains what it is bound to, so any server of the same account can check it. Thinking may be missing from
//! the start of a conversation. A block whose predecessor is missing, while earlier ones are there, is refused too.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};

use super::Refusal;
use crate::request::Request;

/// The parts of a request to which the thinking of its answer is bound, as hashes.
pub(super) struct Prefix {
    /// The hash of the account, the instructions, the tools and the messages.
    hash: u64,
    /// The hash of the signature of the previous thinking; 0 if there is none.
    previous: u64,
}

impl Prefix {
    /// Returns what the thinking of the answer to a request is bound to.
    pub(super) fn from_request(account: &str, request: &Request) -> Self {
        let mut hasher = start(account, request);
        let mut previous = 0;
        for message in request.messages() {
            for block in content(message) {
                match signature(block) {
                    Some(signature) => previous = hash_of(signature),
                    None => add_block(&mut hasher, &message["role"], block),
                }
            }
        }
        Self { hash: hasher.finish(), previous }
    }

    /// Returns the signature of the thinking.
    pub(super) fn signature(&self) -> String {
        format!("bound-{:016x}-{:016x}", self.hash, self.previous)
    }

    fn parse(signature: &str) -> Option<Self> {
        let (hash, previous) = signature.strip_prefix("bound-")?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Self { hash: number(hash)?, previous: number(previous)? })
    }
}

/// Returns the error for the first thinking that is not where the model wrote it.
pub(super) fn refusal(account: &str, request: &Request) -> Option<Refusal> {
    let mut hasher = start(account, request);
    let mut previous = None;
    for (at, message) in request.messages().iter().enumerate() {
        for (position, block) in content(message).iter().enumerate() {
            let Some(signature) = signature(block) else {
                add_block(&mut hasher, &message["role"], block);
                continue;
            };
            let refused = |reason: &str| {
                let path = format!("messages.{at}.content.{position}");
                Some(Refusal::invalid(format!("{path}: Invalid `signature` in `thinking` block{reason}")))
            };
            let Some(bound) = Prefix::parse(signature) else { return refused("") };
            let follows = previous.is_none_or(|previous| previous == bound.previous);
            if bound.hash != hasher.finish() || !follows {
                return refused(
                    ". The block is bound to a different conversation. Remove the block, or set \
                     `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".",
                );
            }
            previous = Some(hash_of(signature));
        }
    }
    None
}

/// Returns the signature of a block of thinking; `None` for any other block.
fn signature(block: &Value) -> Option<&str> {
    (block["type"] == "thinking").then(|| block["signature"].as_str().unwrap_or_default())
}

/// Returns the content of a message: its blocks, or the one text.
fn content(message: &Value) -> &[Value] {
    match &message["content"] {
        Value::Array(blocks) => blocks,
        text => std::slice::from_ref(text),
    }
}

/// Returns a hash of what comes before the messages. The order of the tools does not count.
fn start(account: &str, request: &Request) -> DefaultHasher {
    let tools = request.body["tools"].as_array().into_iter().flatten();
    let mut tools: Vec<String> = tools.map(|tool| without_marks(tool).to_string()).collect();
    tools.sort_unstable();
    let mut hasher = DefaultHasher::new();
    (account, without_marks(&request.body["system"]).to_string(), tools).hash(&mut hasher);
    hasher
}

/// Adds a block. The service combines consecutive messages of one role, so the ends of messages do not count.
fn add_block(hasher: &mut DefaultHasher, role: &Value, block: &Value) {
    let block = match block {
        Value::String(text) => json!({ "type": "text", "text": text }),
        block => without_marks(block),
    };
    (role.to_string(), block.to_string()).hash(hasher);
}

fn hash_of(signature: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    signature.hash(&mut hasher);
    hasher.finish()
}

/// Returns a value without the marks of caches.
fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "cache_control");
            Value::Object(kept.map(|(name, value)| (name.clone(), without_marks(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_marks).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
