//! Loading of tensors from a model file.
//!
//! All reads share one buffer, because the cost of new memory dominates the loading time on some systems.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{DType, Device, Error, Module, Result, Tensor};

/// A model file, open for one thread.
pub(crate) struct Weights<'a> {
    content: &'a Content,
    file: File,
    length: u64,
    buffer: Vec<u8>,
}

impl<'a> Weights<'a> {
    /// Opens the file at `path`, whose header is `content`.
    pub(crate) fn open(content: &'a Content, path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { content, file, length, buffer: Vec::new() })
    }

    /// Returns the tensor `name` in its stored form.
    pub(crate) fn quantized(&mut self, name: &str) -> Result<QTensor> {
        let known = self.content.tensor_infos.get(name);
        let info = known.ok_or_else(|| Error::msg(format!("the tensor `{name}` is missing")))?;
        let (count, block) = (info.shape.elem_count(), info.ggml_dtype.block_size());
        let bytes = count / block * info.ggml_dtype.type_size();
        let start = self.content.tensor_data_offset.saturating_add(info.offset);
        if !count.is_multiple_of(block) || start.saturating_add(bytes as u64) > self.length {
            return Err(Error::msg(format!("the tensor `{name}` does not fit the file")));
        }
        self.buffer.resize(self.buffer.len().max(bytes), 0);
        let buffer = self.buffer.get_mut(..bytes).unwrap_or_default();
        self.file.seek(SeekFrom::Start(start))?;
        self.file.read_exact(buffer)?;
        qtensor_from_ggml(info.ggml_dtype, buffer, info.shape.dims().to_vec(), &Device::Cpu)
    }

    /// Returns the tensor `name` in full precision.
    pub(crate) fn dequantized(&mut self, name: &str) -> Result<Tensor> {
        self.quantized(name)?.dequantize(&Device::Cpu)
    }

    /// Returns the matrix `name` in the layout of the kernels for this CPU.
    pub(crate) fn matrix(&mut self, name: &str) -> Result<QMatMul> {
        let matrix = QMatMul::from_qtensor(self.quantized(name)?)?;
        let width = self.content.tensor_infos.get(name).and_then(|info| info.shape.dims().last().copied());
        // The library converts a matrix at its first product. Two rows trigger that for every kind of matrix.
        matrix.forward(&Tensor::zeros((2, width.unwrap_or_default()), DType::F32, &Device::Cpu)?)?;
        Ok(matrix)
    }
}
