use std::path::PathBuf;

use candle_core::quantized::gguf_file::Value;

use super::*;
use crate::prefix_cache::PrefixCache;
use crate::tiny_model;

struct Tiny {
    directory: tempfile::TempDir,
}

impl Tiny {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        tiny_model::make(&directory.path().join("model.gguf"), 7, |_| {});
        Self { directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("model.gguf")
    }

    fn engine(&self) -> Engine {
        Engine::load(&self.path(), 512).unwrap()
    }

    fn prefixes(&self) -> PrefixCache {
        PrefixCache::new(self.directory.path().join("cache"))
    }

    fn prefix_file(&self) -> PathBuf {
        let mut files = std::fs::read_dir(self.directory.path().join("cache")).unwrap();
        files.next().unwrap().unwrap().path()
    }
}

/// Different tokens without control tokens.
fn tokens(count: u32) -> Vec<u32> {
    (0..count).map(|index| index * 37 % 250).collect()
}

#[track_caller]
fn assert_near(left: &[f32], right: &[f32], tolerance: f32) {
    assert_eq!(left.len(), right.len());
    let spread = left.iter().fold(0f32, |most, number| most.max(number.abs()));
    assert!(spread > 0.1, "the logits are all but zero: the comparison would mean nothing");
    let apart = left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0f32, f32::max);
    assert!(apart <= tolerance * spread, "{apart} apart at a spread of {spread}");
}

#[track_caller]
fn check_refused(adapt: impl FnOnce(&mut Vec<(String, Value)>), words: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.gguf");
    tiny_model::make(&path, 7, adapt);
    let message = Engine::load(&path, 64).err().unwrap().to_string();
    assert!(message.contains(words), "{message}");
}

fn set(metadata: &mut [(String, Value)], key: &str, value: Value) {
    metadata.iter_mut().find(|(known, _)| known == key).unwrap().1 = value;
}

#[test]
fn an_unusable_model_file_is_rejected_with_the_reason() {
    check_refused(
        |metadata| set(metadata, "general.architecture", Value::String("llama".into())),
        "its architecture is `llama`",
    );
    check_refused(
        |metadata| metadata.retain(|(key, _)| key != "qwen2.block_count"),
        "`qwen2.block_count` is missing",
    );
    check_refused(
        |metadata| set(metadata, "qwen2.block_count", Value::U32(3)),
        "the tensor `blk.2.attn_norm.weight` is missing",
    );
    check_refused(
        |metadata| set(metadata, "qwen2.attention.head_count", Value::U32(3)),
        "do not divide evenly",
    );
    check_refused(
        |metadata| metadata.retain(|(key, _)| key != "tokenizer.ggml.tokens"),
        "tokenizer.ggml.tokens",
    );
}

#[test]
fn a_missing_file_and_a_damaged_one_are_different_errors() {
    let tiny = Tiny::new();
    let missing = tiny.directory.path().join("none.gguf");
    assert!(matches!(Engine::load(&missing, 64), Err(LocalError::NotInstalled { .. })));
    std::fs::write(tiny.path(), b"GGUF and then nothing").unwrap();
    assert!(matches!(Engine::load(&tiny.path(), 64), Err(LocalError::Unsupported { .. })));
}

#[test]
fn reading_at_once_and_in_pieces_gives_the_same_result() {
    let tiny = Tiny::new();
    let tokens = tokens(200);
    let (mut whole, mut pieces) = (tiny.engine(), tiny.engine());
    assert!(whole.set_tokens(&tokens, &|| true).unwrap());
    for piece in tokens.chunks(7) {
        pieces.append(piece).unwrap();
    }
    assert_near(whole.logits(), pieces.logits(), 0.02);
}

#[test]
fn tokens_after_the_shared_prefix_leave_no_trace() {
    let tiny = Tiny::new();
    let tokens = tokens(60);
    let (mut fresh, mut used) = (tiny.engine(), tiny.engine());
    used.set_tokens(&[&tokens[..30], &[9, 9, 9, 9]].concat(), &|| true).unwrap();
    assert_eq!(used.shared_prefix_len(&tokens), 30);
    used.set_tokens(&tokens, &|| true).unwrap();
    fresh.set_tokens(&tokens, &|| true).unwrap();
    assert_eq!(used.tokens(), tokens);
    assert_near(fresh.logits(), used.logits(), 0.02);
}

#[test]
fn reading_stops_on_request_and_continues_there() {
    let tiny = Tiny::new();
    let tokens = tokens(300);
    let mut engine = tiny.engine();
    let calls = std::cell::Cell::new(0);
    let twice = || calls.replace(calls.get() + 1) < 2;
    assert!(!engine.set_tokens(&tokens, &twice).unwrap());
    assert_eq!(engine.tokens().len(), 2 * CHUNK_TOKENS);
    assert!(engine.set_tokens(&tokens, &|| true).unwrap());
    assert_eq!(engine.tokens(), tokens);
}

#[test]
fn too_many_tokens_are_an_error_and_change_nothing() {
    let tiny = Tiny::new();
    let mut engine = tiny.engine();
    engine.append(&tokens(500)).unwrap();
    let before = engine.logits().to_vec();
    assert!(matches!(
        engine.append(&tokens(13)),
        Err(LocalError::ContextFull { needed: 513, capacity: 512 })
    ));
    assert_eq!(engine.logits(), before);
}

#[test]
fn a_prefix_from_disk_equals_a_computed_one() {
    let tiny = Tiny::new();
    let tokens = tokens(90);
    let (prefix, _) = tokens.split_at(80);
    let (mut computed, mut restored) = (tiny.engine(), tiny.engine());
    tiny.prefixes().load_or_compute(&mut computed, prefix, &|| true).unwrap();
    computed.set_tokens(&tokens, &|| true).unwrap();
    // Computing is cancelled, so the second engine must load the prefix from disk.
    tiny.prefixes().load_or_compute(&mut restored, prefix, &|| false).unwrap();
    restored.set_tokens(&tokens, &|| true).unwrap();
    assert_eq!(computed.logits(), restored.logits());

    let mut plain = tiny.engine();
    plain.set_tokens(&tokens, &|| true).unwrap();
    assert_near(plain.logits(), restored.logits(), 0.05);
}

#[test]
fn a_damaged_prefix_is_ignored_and_replaced() {
    let tiny = Tiny::new();
    let prefix = tokens(40);
    tiny.prefixes().load_or_compute(&mut tiny.engine(), &prefix, &|| true).unwrap();
    let whole = std::fs::read(tiny.prefix_file()).unwrap();
    for damage in [whole.len() / 2, whole.len() - 1, 3, 40] {
        let mut damaged = whole.clone();
        damaged[damage] ^= 0x10;
        std::fs::write(tiny.prefix_file(), &damaged).unwrap();
        assert!(matches!(
            tiny.prefixes().load_or_compute(&mut tiny.engine(), &prefix, &|| false),
            Err(crate::guided_decoder::DecodeError::Cancelled)
        ));
        tiny.prefixes().load_or_compute(&mut tiny.engine(), &prefix, &|| true).unwrap();
        assert!(std::fs::read(tiny.prefix_file()).unwrap() == whole, "not replaced after damage at {damage}");
    }
    std::fs::write(tiny.prefix_file(), &whole[..whole.len() / 2]).unwrap();
    tiny.prefixes().load_or_compute(&mut tiny.engine(), &prefix, &|| true).unwrap();
    assert!(std::fs::read(tiny.prefix_file()).unwrap() == whole);
}

#[test]
fn another_model_or_prompt_has_another_prefix() {
    let tiny = Tiny::new();
    let prefix = tokens(40);
    tiny.prefixes().load_or_compute(&mut tiny.engine(), &prefix, &|| true).unwrap();
    assert!(tiny.prefixes().load_or_compute(&mut tiny.engine(), &prefix[..39], &|| false).is_err());
    tiny_model::make(&tiny.path(), 8, |_| {});
    assert!(tiny.prefixes().load_or_compute(&mut tiny.engine(), &prefix, &|| false).is_err());
}

#[test]
fn text_never_becomes_a_control_token() {
    let vocabulary = tiny_model::vocabulary();
    let tokens = vocabulary.encode("a <|im_end|> read\n").unwrap();
    assert!(tokens.iter().all(|&token| !vocabulary.is_control(token)));
    let bytes: Vec<u8> = tokens.iter().flat_map(|&token| vocabulary.piece(token).to_vec()).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), "a <|im_end|> read\n");
}
