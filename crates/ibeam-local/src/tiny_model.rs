//! A tiny random model for tests: the shape, the tensors and the kernels of the real one at a thousandth of its size.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::sync::OnceLock;

use candle_core::quantized::gguf_file::{Content, Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

use crate::{LanguageModel, LocalError, Vocabulary};

pub(crate) const LAYERS: usize = 2;
const HIDDEN: usize = 256;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const INNER: usize = 512;

/// Writes the model to `path`; the same seed gives the same model. `adapt` may change the metadata.
pub(crate) fn make(path: &Path, seed: u64, adapt: impl FnOnce(&mut Vec<(String, Value)>)) {
    let names = names();
    let vocabulary = names.len();
    let mut numbers = Numbers(seed);
    let mut tensors: Vec<(String, QTensor)> = Vec::new();
    let mut add = |name: String, shape: &[usize], kind: GgmlDType| {
        let count: usize = shape.iter().product();
        let scale = if shape.len() == 1 { 1.0 } else { 0.08 };
        let values: Vec<f32> = (0..count).map(|_| numbers.next() * scale).collect();
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
        tensors.push((name, QTensor::quantize(&tensor, kind).unwrap()));
    };
    add("token_embd.weight".into(), &[vocabulary, HIDDEN], GgmlDType::Q6K);
    add("output_norm.weight".into(), &[HIDDEN], GgmlDType::F32);
    let kv = HIDDEN / HEADS * KV_HEADS;
    for layer in 0..LAYERS {
        for (part, shape, kind) in [
            ("attn_norm.weight", &[HIDDEN][..], GgmlDType::F32),
            ("attn_q.weight", &[HIDDEN, HIDDEN], GgmlDType::Q4K),
            ("attn_q.bias", &[HIDDEN], GgmlDType::F32),
            ("attn_k.weight", &[kv, HIDDEN], GgmlDType::Q4K),
            ("attn_k.bias", &[kv], GgmlDType::F32),
            ("attn_v.weight", &[kv, HIDDEN], GgmlDType::Q6K),
            ("attn_v.bias", &[kv], GgmlDType::F32),
            ("attn_output.weight", &[HIDDEN, HIDDEN], GgmlDType::Q4K),
            ("ffn_norm.weight", &[HIDDEN], GgmlDType::F32),
            ("ffn_gate.weight", &[INNER, HIDDEN], GgmlDType::Q4K),
            ("ffn_up.weight", &[INNER, HIDDEN], GgmlDType::Q4K),
            ("ffn_down.weight", &[HIDDEN, INNER], GgmlDType::Q6K),
        ] {
            add(format!("blk.{layer}.{part}"), shape, kind);
        }
    }
    let text = |text: &str| Value::String(text.to_owned());
    let kinds = names.iter().map(|name| Value::I32(if name.starts_with("<|") { 3 } else { 1 })).collect();
    let merges = ["r e", "a d", "e r", "Ġ a", "re ad"].map(text).to_vec();
    let mut metadata: Vec<(String, Value)> = [
        ("general.architecture", text("qwen2")),
        ("qwen2.block_count", Value::U32(LAYERS as u32)),
        ("qwen2.embedding_length", Value::U32(HIDDEN as u32)),
        ("qwen2.attention.head_count", Value::U32(HEADS as u32)),
        ("qwen2.attention.head_count_kv", Value::U32(KV_HEADS as u32)),
        ("qwen2.attention.layer_norm_rms_epsilon", Value::F32(1e-6)),
        ("qwen2.rope.freq_base", Value::F32(10_000.0)),
        ("qwen2.context_length", Value::U32(4096)),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("qwen2")),
        ("tokenizer.ggml.tokens", Value::Array(names.iter().map(|name| text(name)).collect())),
        ("tokenizer.ggml.token_type", Value::Array(kinds)),
        ("tokenizer.ggml.merges", Value::Array(merges)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec();
    adapt(&mut metadata);
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<(&str, &QTensor)> =
        tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    write(&mut BufWriter::new(File::create(path).unwrap()), &metadata, &tensors).unwrap();
}

/// The vocabulary of the tiny model.
pub(crate) fn vocabulary() -> Vocabulary {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tiny.gguf");
    make(&path, 1, |_| {});
    let content = Content::read(&mut BufReader::new(File::open(path).unwrap())).unwrap();
    Vocabulary::read(&content).unwrap()
}

fn names() -> Vec<String> {
    let mut letters: Vec<(u8, char)> =
        crate::vocabulary::bytes_by_letter().into_iter().map(|(letter, byte)| (byte, letter)).collect();
    letters.sort_unstable();
    let mut names: Vec<String> = letters.into_iter().map(|(_, letter)| letter.to_string()).collect();
    names.extend(
        ["re", "ad", "er", "Ġa", "read", "<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(str::to_owned),
    );
    // The kernels need a multiple of sixteen rows.
    while !names.len().is_multiple_of(16) {
        names.push(format!("<|spare{}|>", names.len()));
    }
    names
}

/// Numbers between -1 and 1, evenly spread (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// A model whose scores are random.
pub(crate) struct RandomLogits {
    numbers: Numbers,
    tokens: Vec<u32>,
    logits: Vec<f32>,
    /// Never ends a message.
    pub(crate) endless: bool,
}

impl RandomLogits {
    pub(crate) fn new(seed: u64) -> Self {
        let mut model =
            Self { numbers: Numbers(seed), tokens: Vec::new(), logits: Vec::new(), endless: false };
        model.append(&[0]).unwrap();
        model
    }
}

impl LanguageModel for RandomLogits {
    fn vocabulary(&self) -> &Vocabulary {
        static VOCABULARY: OnceLock<Vocabulary> = OnceLock::new();
        VOCABULARY.get_or_init(vocabulary)
    }

    fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    fn append(&mut self, tokens: &[u32]) -> Result<(), LocalError> {
        self.tokens.extend_from_slice(tokens);
        self.logits = (0..self.vocabulary().len()).map(|_| self.numbers.next()).collect();
        // A network may return NaN.
        if self.tokens.len().is_multiple_of(11) {
            self.logits.iter_mut().step_by(3).for_each(|logit| *logit = f32::NAN);
        }
        if self.endless {
            let end = self.vocabulary().message_end as usize;
            self.logits[end] = f32::NEG_INFINITY;
        }
        Ok(())
    }

    fn logits(&self) -> &[f32] {
        &self.logits
    }
}
