//! Attention of new positions over all cached ones, causal, with grouped heads.
//!
//! Two algorithms with the same result: a single position streams over the cache without storing scores; many positions
//! are matrix products, which are several times faster than position by position.

use candle_core::{Device, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use candle_nn::ops::softmax_last_dim;

/// Returns the attention output for `query`, whose positions are the last ones of the cache.
///
/// `query` is `(1, count, heads, size)`; `keys` and `values` are `(1, end, kv_heads, size)`, and `heads` is a
/// multiple of `kv_heads`. `mask` is the result of [`causal_mask`] for these positions. The result is `(count, heads * size)`.
pub(crate) fn attend(
    query: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    mask: Option<&Tensor>,
) -> Result<Tensor> {
    let (_, count, heads, size) = query.dims4()?;
    let scale = 1.0 / (size as f32).sqrt();
    let Some(mask) = mask else {
        let mask = AttnMask::Causal { kv_offset: keys.dim(1)? - 1 };
        let mixed = flash_attn::<f32>(query, keys, values, scale, mask, None, None)?;
        return mixed.transpose(1, 2)?.reshape((count, heads * size));
    };
    let (_, end, kv_heads, _) = keys.dims4()?;
    let group = heads / kv_heads;
    // All query heads that share a key head are rows of one matrix: (kv_heads, group * count, size).
    let query = (query * f64::from(scale))?
        .reshape((count, kv_heads, group, size))?
        .permute((1, 2, 0, 3))?
        .reshape((kv_heads, group * count, size))?;
    let keys = keys.squeeze(0)?.permute((1, 2, 0))?;
    let values = values.squeeze(0)?.transpose(0, 1)?;
    let scores = query.matmul(&keys)?.reshape((heads, count, end))?;
    let weights = softmax_last_dim(&scores.broadcast_add(mask)?)?;
    let mixed = weights.reshape((kv_heads, group * count, end))?.matmul(&values)?;
    mixed.reshape((heads, count, size))?.transpose(0, 1)?.reshape((count, heads * size))
}

/// Returns the mask for `count` positions from `first` on, as `(1, count, end)`: zero for a position and those before it, minus
/// infinity for those after it. `None` for a single position, which needs no mask.
pub(crate) fn causal_mask(first: usize, count: usize) -> Result<Option<Tensor>> {
    if count == 1 {
        return Ok(None);
    }
    let end = first + count;
    let rows = (0..count).flat_map(|row| {
        (0..end).map(move |column| if column <= first + row { 0.0_f32 } else { f32::NEG_INFINITY })
    });
    Tensor::from_iter(rows, &Device::Cpu)?.reshape((1, count, end)).map(Some)
}

#[cfg(test)]
mod tests {
    use candle_core::D;

    use super::*;

    #[track_caller]
    fn check(count: usize, end: usize, heads: usize, kv_heads: usize) {
        let device = Device::Cpu;
        let random =
            |positions, heads| Tensor::randn(0_f32, 1.0, (1, positions, heads, 16), &device).unwrap();
        let query = random(count, heads);
        // A cache has capacity beyond its end.
        let keys = random(end + 3, kv_heads).narrow(1, 0, end).unwrap();
        let values = random(end + 3, kv_heads).narrow(1, 0, end).unwrap();
        let mask = causal_mask(end - count, count).unwrap();
        let together = attend(&query, &keys, &values, mask.as_ref()).unwrap();
        for row in 0..count {
            let visible = end - count + row + 1;
            let alone = attend(
                &query.narrow(1, row, 1).unwrap(),
                &keys.narrow(1, 0, visible).unwrap(),
                &values.narrow(1, 0, visible).unwrap(),
                None,
            );
            let difference = (together.narrow(0, row, 1).unwrap() - alone.unwrap()).unwrap().abs().unwrap();
            let largest = difference.max(D::Minus1).unwrap().squeeze(0).unwrap().to_scalar::<f32>().unwrap();
            assert!(largest < 1e-4, "row {row}: {largest}");
        }
    }

    #[test]
    fn many_positions_at_once_equal_single_positions() {
        check(5, 5, 4, 2);
        check(7, 19, 6, 2);
        check(2, 64, 12, 2);
        check(128, 300, 4, 4);
    }
}
