//! The keys and values of one layer, in a buffer of fixed size.

use half::f16;

use candle_core::{DType, Device, Result, Tensor};

/// Keys and values of shape `(1, capacity, kv_heads, head_size)`.
pub(crate) struct KvBuffer {
    keys: Tensor,
    values: Tensor,
    capacity: usize,
}

impl KvBuffer {
    /// Reserves memory for `capacity` positions. Pages are used only as they fill.
    pub(crate) fn new(capacity: usize, kv_heads: usize, head_size: usize) -> Result<Self> {
        let shape = (1, capacity, kv_heads, head_size);
        Ok(Self {
            keys: Tensor::zeros(shape, DType::F32, &Device::Cpu)?,
            values: Tensor::zeros(shape, DType::F32, &Device::Cpu)?,
            capacity,
        })
    }

    /// Writes at `position` and returns views of all positions up to the new end.
    pub(crate) fn append(&self, position: usize, key: &Tensor, value: &Tensor) -> Result<(Tensor, Tensor)> {
        let end = position + key.dim(1)?;
        self.keys.slice_set(key, 1, position)?;
        self.values.slice_set(&value.contiguous()?, 1, position)?;
        self.first_positions(end)
    }

    /// Appends the first `count` keys, then values, to `bytes` as little-endian f16.
    pub(crate) fn export(&self, count: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let (keys, values) = self.first_positions(count)?;
        for part in [keys, values] {
            let numbers = part.to_dtype(DType::F16)?.flatten_all()?.to_vec1::<f16>()?;
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        Ok(())
    }

    /// Returns the number of bytes that [`Self::export`] appends for `count` positions.
    pub(crate) fn export_size(&self, count: usize) -> usize {
        let per_position = self.keys.elem_count() / self.capacity.max(1);
        2 * count * per_position * size_of::<f16>()
    }

    /// Overwrites the first `count` positions with the result of [`Self::export`].
    pub(crate) fn restore(&self, count: usize, bytes: &[u8]) -> Result<()> {
        let (keys, values) = bytes.split_at(bytes.len() / 2);
        for (buffer, part) in [(&self.keys, keys), (&self.values, values)] {
            let numbers: Vec<f16> = part
                .chunks_exact(size_of::<f16>())
                .filter_map(|bytes| bytes.try_into().ok().map(f16::from_le_bytes))
                .collect();
            let (_, _, heads, size) = buffer.dims4()?;
            let part =
                Tensor::from_vec(numbers, (1, count, heads, size), &Device::Cpu)?.to_dtype(DType::F32)?;
            buffer.slice_set(&part, 1, 0)?;
        }
        Ok(())
    }

    /// Returns views of the first `count` positions.
    pub(crate) fn first_positions(&self, count: usize) -> Result<(Tensor, Tensor)> {
        Ok((self.keys.narrow(1, 0, count)?, self.values.narrow(1, 0, count)?))
    }
}
