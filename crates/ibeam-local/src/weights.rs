//! Tensors out of a model file.
//!
//! One buffer serves all reads: on a system where fresh memory is dear, loading costs as much as it touches.

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
    /// Opens the file at `path`, whose head is `content`.
    pub(crate) fn open(content: &'a Content, path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { content, file, length, buffer: Vec::new() })
    }

    /// The tensor `name` as it is stored.
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

    /// The tensor `name` in full precision.
    pub(crate) fn full(&mut self, name: &str) -> Result<Tensor> {
        self.quantized(name)?.dequantize(&Device::Cpu)
    }

    /// The matrix `name`, laid out for this CPU's kernels.
    pub(crate) fn matrix(&mut self, name: &str) -> Result<QMatMul> {
        let matrix = QMatMul::from_qtensor(self.quantized(name)?)?;
        let width = self.content.tensor_infos.get(name).and_then(|info| info.shape.dims().last().copied());
        // The library lays a matrix out at its first product; two rows are what makes it do so for every kind.
        matrix.forward(&Tensor::zeros((2, width.unwrap_or_default()), DType::F32, &Device::Cpu)?)?;
        Ok(matrix)
    }
}
