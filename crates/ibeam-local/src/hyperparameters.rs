//! The hyperparameters of the network, from the model file.
//!
//! Rejects every architecture except `qwen2`, and values that the engine does not support.

use candle_core::quantized::gguf_file::{Content, Value};

/// Sizes and constants of a Qwen2 network.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hyperparameters {
    pub(crate) layers: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    /// Key/value heads; each serves `heads / kv_heads` query heads.
    pub(crate) kv_heads: usize,
    pub(crate) head_size: usize,
    pub(crate) rms_epsilon: f64,
    pub(crate) rope_base: f64,
    /// The longest context the network was trained for, in tokens.
    pub(crate) context: usize,
}

impl Hyperparameters {
    /// Reads the metadata of a GGUF file.
    ///
    /// # Errors
    /// One sentence that names the key and what is wrong with it.
    pub(crate) fn read(content: &Content) -> Result<Self, String> {
        let architecture = value(content, "general.architecture")?
            .to_string()
            .map_err(|_| "`general.architecture` is not text".to_owned())?;
        if architecture != "qwen2" {
            return Err(format!("its architecture is `{architecture}`, only `qwen2` is supported"));
        }
        let this = Self {
            layers: count(content, "qwen2.block_count")?,
            hidden: count(content, "qwen2.embedding_length")?,
            heads: count(content, "qwen2.attention.head_count")?,
            kv_heads: count(content, "qwen2.attention.head_count_kv")?,
            head_size: 0,
            rms_epsilon: number(content, "qwen2.attention.layer_norm_rms_epsilon")?,
            rope_base: number(content, "qwen2.rope.freq_base")?,
            context: count(content, "qwen2.context_length")?,
        };
        if !this.hidden.is_multiple_of(this.heads) || !this.heads.is_multiple_of(this.kv_heads) {
            return Err(format!(
                "{} dimensions, {} heads and {} key heads do not divide evenly",
                this.hidden, this.heads, this.kv_heads
            ));
        }
        let head_size = this.hidden / this.heads;
        if !head_size.is_multiple_of(2) {
            return Err(format!("a head size of {head_size} cannot be rotated in pairs"));
        }
        Ok(Self { head_size, ..this })
    }
}

fn value<'a>(content: &'a Content, key: &str) -> Result<&'a Value, String> {
    content.metadata.get(key).ok_or_else(|| format!("`{key}` is missing"))
}

fn count(content: &Content, key: &str) -> Result<usize, String> {
    match value(content, key)?.to_u32() {
        Ok(number) if number > 0 => Ok(number as usize),
        Ok(_) => Err(format!("`{key}` is zero")),
        Err(_) => Err(format!("`{key}` is not a whole number")),
    }
}

fn number(content: &Content, key: &str) -> Result<f64, String> {
    match value(content, key)?.to_f32() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(f64::from(number)),
        Ok(number) => Err(format!("`{key}` is {number}")),
        Err(_) => Err(format!("`{key}` is not a number")),
    }
}
