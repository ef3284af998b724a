//! The Qwen2 network on quantised weights, for one sequence on the CPU.
//!
//! Token rows are looked up in the quantised table, keys and values are appended to buffers that never move,
//! and grouped queries read their shared keys in place. No batching, no training, no other architecture.
//! Source: the Qwen2 technical report, section 2 (grouped-query attention, SwiGLU, RoPE, QKV bias, RMSNorm).

use std::io::{Read, Seek};
use std::sync::Arc;

use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use candle_nn::ops::rms_norm;
use candle_nn::rotary_emb::rope_thd;

use crate::hyper::Hyperparameters;
use crate::kv::KvBuffer;

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
    gate: Arc<QTensor>,
    up: Arc<QTensor>,
    down: QMatMul,
    kv: KvBuffer,
}

/// A matrix with a bias.
struct Projection {
    weight: QMatMul,
    bias: Tensor,
}

impl Projection {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.weight.forward(input)?.broadcast_add(&self.bias)
    }
}

impl Qwen2 {
    /// Loads every tensor; room for `capacity` tokens is reserved (touched only as it fills).
    pub(crate) fn load<R: Read + Seek>(
        content: &Content,
        reader: &mut R,
        shape: Hyperparameters,
        capacity: usize,
    ) -> Result<Self> {
        let mut tensors = TensorReader { content, reader };
        let embedding = Arc::new(tensors.quantized("token_embd.weight")?);
        // Small Qwen2 models have no output matrix of their own: the token table serves as both.
        let head = if content.tensor_infos.contains_key("output.weight") {
            QMatMul::from_qtensor(tensors.quantized("output.weight")?)?
        } else {
            QMatMul::from_arc(embedding.clone())?
        };
        let layers = (0..shape.layers)
            .map(|index| Layer::load(&mut tensors, index, &shape, capacity))
            .collect::<Result<_>>()?;
        let (cos, sin) = rotation_tables(&shape, capacity)?;
        Ok(Self { embedding, layers, final_norm: tensors.full("output_norm.weight")?, head, cos, sin, shape })
    }

    /// Appends `tokens` at `position` and returns the logits that follow the last one.
    ///
    /// Everything cached from `position` on is overwritten. `position + tokens.len()` must be within the capacity.
    pub(crate) fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>> {
        let count = tokens.len();
        let cos = self.cos.narrow(0, position, count)?;
        let sin = self.sin.narrow(0, position, count)?;
        let mut state = self.embedding.embedding(&Tensor::new(tokens, &Device::Cpu)?)?;
        for layer in &mut self.layers {
            state = layer.forward(&state, position, (&cos, &sin), &self.shape)?;
        }
        let last = state.narrow(0, count - 1, 1)?;
        let last = rms_norm(&last, &self.final_norm, self.shape.rms_epsilon as f32)?;
        self.head.forward(&last)?.flatten_all()?.to_vec1()
    }

    /// The key/value buffers, first layer first.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = &KvBuffer> {
        self.layers.iter().map(|layer| &layer.kv)
    }
}

impl Layer {
    fn load<R: Read + Seek>(
        tensors: &mut TensorReader<'_, R>,
        index: usize,
        shape: &Hyperparameters,
        capacity: usize,
    ) -> Result<Self> {
        let name = |part: &str| format!("blk.{index}.{part}");
        Ok(Self {
            attention_norm: tensors.full(&name("attn_norm.weight"))?,
            query: tensors.projection(&name("attn_q"))?,
            key: tensors.projection(&name("attn_k"))?,
            value: tensors.projection(&name("attn_v"))?,
            output: QMatMul::from_qtensor(tensors.quantized(&name("attn_output.weight"))?)?,
            ffn_norm: tensors.full(&name("ffn_norm.weight"))?,
            gate: Arc::new(tensors.quantized(&name("ffn_gate.weight"))?),
            up: Arc::new(tensors.quantized(&name("ffn_up.weight"))?),
            down: QMatMul::from_qtensor(tensors.quantized(&name("ffn_down.weight"))?)?,
            kv: KvBuffer::new(capacity, shape.kv_heads, shape.head_size)?,
        })
    }

    fn forward(
        &mut self,
        state: &Tensor,
        position: usize,
        (cos, sin): (&Tensor, &Tensor),
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
        let scale = 1.0 / (shape.head_size as f32).sqrt();
        let mask = AttnMask::Causal { kv_offset: position };
        let mixed = flash_attn::<f32>(&query, &keys, &values, scale, mask, None, None)?;
        let mixed = mixed.transpose(1, 2)?.reshape((count, shape.hidden))?;
        let state = (state + self.output.forward(&mixed)?)?;

        let normed = rms_norm(&state, &self.ffn_norm, epsilon)?;
        let (gate, up) = self.gate_and_up(&normed)?;
        let inner = (gate.silu()? * up)?;
        state + self.down.forward(&inner)?
    }

    /// Both products of one input; in one pass over the threads where the CPU has a kernel for it.
    fn gate_and_up(&self, input: &Tensor) -> Result<(Tensor, Tensor)> {
        if input.dim(0)? == 1
            && let Some(products) = QTensor::gemv_fused_shared_lhs(&[&self.gate, &self.up], input)?
            && let Ok([gate, up]) = <[Tensor; 2]>::try_from(products)
        {
            return Ok((gate, up));
        }
        Ok((input.apply_op1_no_bwd(self.gate.as_ref())?, input.apply_op1_no_bwd(self.up.as_ref())?))
    }
}

/// Cosines and sines of every position, each `(capacity, head_size / 2)`.
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

struct TensorReader<'a, R> {
    content: &'a Content,
    reader: &'a mut R,
}

impl<R: Read + Seek> TensorReader<'_, R> {
    fn quantized(&mut self, name: &str) -> Result<QTensor> {
        self.content.tensor(self.reader, name, &Device::Cpu)
    }

    fn full(&mut self, name: &str) -> Result<Tensor> {
        self.quantized(name)?.dequantize(&Device::Cpu)
    }

    fn projection(&mut self, name: &str) -> Result<Projection> {
        Ok(Projection {
            weight: QMatMul::from_qtensor(self.quantized(&format!("{name}.weight"))?)?,
            bias: self.full(&format!("{name}.bias"))?,
        })
    }
}
