//! The Qwen2 network with quantised weights, for one sequence on the CPU.
//!
//! Token embeddings are read from the quantised table, keys and values are appended to buffers that never move, and grouped
//! queries read their shared keys in place. No batching, no training, no other architecture.
//! Source: the Qwen2 technical report, section 2 (grouped-query attention, SwiGLU, RoPE, QKV bias, RMSNorm).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{DType, Device, Error, Module, Result, Tensor};
use candle_nn::ops::rms_norm;
use candle_nn::rotary_emb::rope_thd;

use crate::attention::{attend, causal_mask};
use crate::hyperparameters::Hyperparameters;
use crate::kv_buffer::KvBuffer;
use crate::weights::Weights;

/// The network, its rotation tables and the keys and values of the current sequence.
pub(crate) struct Qwen2 {
    embedding: Arc<QTensor>,
    layers: Vec<Layer>,
    final_norm: Tensor,
    head: QMatMul,
    cos: Tensor,
    sin: Tensor,
    shape: Hyperparameters,
}

struct Layer {
    attention_norm: Tensor,
    query: Projection,
    key: Projection,
    value: Projection,
    output: QMatMul,
    ffn_norm: Tensor,
    gate: QMatMul,
    up: QMatMul,
    down: QMatMul,
    kv: KvBuffer,
}

/// A matrix with a bias.
struct Projection {
    weight: QMatMul,
    bias: Tensor,
}

impl Projection {
    fn load(weights: &mut Weights<'_>, name: &str) -> Result<Self> {
        let weight = weights.matrix(&format!("{name}.weight"))?;
        Ok(Self { weight, bias: weights.dequantized(&format!("{name}.bias"))? })
    }

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.weight.forward(input)?.broadcast_add(&self.bias)
    }
}

impl Qwen2 {
    /// Loads all tensors, on all cores, and reserves memory for `capacity` tokens.
    pub(crate) fn load(
        content: &Content,
        path: &Path,
        shape: Hyperparameters,
        capacity: usize,
    ) -> Result<Self> {
        let next = AtomicUsize::new(0);
        let load_layers = || {
            let mut weights = Weights::open(content, path)?;
            let mut loaded = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= shape.layers {
                    return Ok(loaded);
                }
                loaded.push((index, Layer::load(&mut weights, index, &shape, capacity)?));
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(shape.layers);
        let mut layers = std::thread::scope(|scope| {
            // If no more threads can start, this one loads the rest.
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, load_layers).ok();
            let loaders: Vec<_> = (1..threads).map_while(spawn).collect();
            let own = load_layers()?;
            loaders.into_iter().try_fold(own, |mut layers, loader| {
                let loaded: Result<Vec<_>> =
                    loader.join().unwrap_or_else(|_| Err(Error::msg("a loading thread panicked")));
                layers.extend(loaded?);
                Ok::<_, Error>(layers)
            })
        })?;
        layers.sort_by_key(|(index, _)| *index);

        let mut weights = Weights::open(content, path)?;
        let embedding = Arc::new(weights.quantized("token_embd.weight")?);
        // Small Qwen2 models have no output matrix and use the token table instead.
        let head = if content.tensor_infos.contains_key("output.weight") {
            QMatMul::from_qtensor(weights.quantized("output.weight")?)?
        } else {
            QMatMul::from_arc(Arc::clone(&embedding))?
        };
        let (cos, sin) = rotation_tables(&shape, capacity)?;
        let layers = layers.into_iter().map(|(_, layer)| layer).collect();
        Ok(Self {
            embedding,
            layers,
            final_norm: weights.dequantized("output_norm.weight")?,
            head,
            cos,
            sin,
            shape,
        })
    }

    /// Appends `tokens` at `position` and returns the logits that follow the last one.
    ///
    /// Overwrites the cache from `position` on. `position + tokens.len()` must be within the capacity.
    pub(crate) fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>> {
        let count = tokens.len();
        let cos = self.cos.narrow(0, position, count)?;
        let sin = self.sin.narrow(0, position, count)?;
        let mask = causal_mask(position, count)?;
        let mut state = self.embedding.embedding(&Tensor::new(tokens, &Device::Cpu)?)?;
        for layer in &mut self.layers {
            state = layer.forward(&state, position, (&cos, &sin), mask.as_ref(), &self.shape)?;
        }
        let last = state.narrow(0, count - 1, 1)?;
        let last = rms_norm(&last, &self.final_norm, self.shape.rms_epsilon as f32)?;
        self.head.forward(&last)?.flatten_all()?.to_vec1()
    }

    /// Returns the key/value buffers, first layer first.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = &KvBuffer> {
        self.layers.iter().map(|layer| &layer.kv)
    }
}

impl Layer {
    fn load(
        weights: &mut Weights<'_>,
        index: usize,
        shape: &Hyperparameters,
        capacity: usize,
    ) -> Result<Self> {
        let name = |part: &str| format!("blk.{index}.{part}");
        Ok(Self {
            attention_norm: weights.dequantized(&name("attn_norm.weight"))?,
            query: Projection::load(weights, &name("attn_q"))?,
            key: Projection::load(weights, &name("attn_k"))?,
            value: Projection::load(weights, &name("attn_v"))?,
            output: weights.matrix(&name("attn_output.weight"))?,
            ffn_norm: weights.dequantized(&name("ffn_norm.weight"))?,
            gate: weights.matrix(&name("ffn_gate.weight"))?,
            up: weights.matrix(&name("ffn_up.weight"))?,
            down: weights.matrix(&name("ffn_down.weight"))?,
            kv: KvBuffer::new(capacity, shape.kv_heads, shape.head_size)?,
        })
    }

    fn forward(
        &mut self,
        state: &Tensor,
        position: usize,
        (cos, sin): (&Tensor, &Tensor),
        mask: Option<&Tensor>,
        shape: &Hyperparameters,
    ) -> Result<Tensor> {
        let count = state.dim(0)?;
        let epsilon = shape.rms_epsilon as f32;
        let normed = rms_norm(state, &self.attention_norm, epsilon)?;
        let query = self.query.forward(&normed)?.reshape((1, count, shape.heads, shape.head_size))?;
        let key = self.key.forward(&normed)?.reshape((1, count, shape.kv_heads, shape.head_size))?;
        let value = self.value.forward(&normed)?.reshape((1, count, shape.kv_heads, shape.head_size))?;
        let query = rope_thd(&query, cos, sin)?;
        let (keys, values) = self.kv.append(position, &rope_thd(&key, cos, sin)?, &value)?;
        let mixed = attend(&query, &keys, &values, mask)?;
        let state = (state + self.output.forward(&mixed)?)?;

        let normed = rms_norm(&state, &self.ffn_norm, epsilon)?;
        let (gate, up) = self.gate_and_up(&normed)?;
        let inner = (gate.silu()? * up)?;
        state + self.down.forward(&inner)?
    }

    /// Returns both products of one input, in one pass if the CPU has a kernel for that.
    fn gate_and_up(&self, input: &Tensor) -> Result<(Tensor, Tensor)> {
        if input.dim(0)? == 1
            && let (QMatMul::QTensor(gate), QMatMul::QTensor(up)) = (&self.gate, &self.up)
            && let Some(products) = QTensor::gemv_fused_shared_lhs(&[gate, up], input)?
            && let Ok([gate, up]) = <[Tensor; 2]>::try_from(products)
        {
            return Ok((gate, up));
        }
        Ok((self.gate.forward(input)?, self.up.forward(input)?))
    }
}

/// Returns the cosines and sines of all positions, each `(capacity, head_size / 2)`.
fn rotation_tables(shape: &Hyperparameters, capacity: usize) -> Result<(Tensor, Tensor)> {
    let half = shape.head_size / 2;
    let frequencies: Vec<f32> =
        (0..half).map(|pair| shape.rope_base.powf(-(pair as f64) / half as f64) as f32).collect();
    let frequencies = Tensor::from_vec(frequencies, (1, half), &Device::Cpu)?;
    let positions =
        Tensor::arange(0, capacity as u32, &Device::Cpu)?.to_dtype(DType::F32)?.reshape((capacity, 1))?;
    let angles = positions.matmul(&frequencies)?;
    Ok((angles.cos()?, angles.sin()?))
}
