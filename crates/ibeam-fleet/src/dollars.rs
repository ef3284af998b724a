//! Amounts of US dollars: millionths in memory, dollars in JSON.

use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

/// Returns dollars for millionths of a dollar.
#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53 millionths")]
pub(crate) fn micros_to_usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Returns millionths of a dollar, rounded up; `None` for a negative amount and for no amount at all.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the amount is not negative, and the conversion saturates"
)]
pub(crate) fn usd_to_micros(usd: f64) -> Option<u64> {
    // The binary fraction may lie a little above the decimal one.
    (usd >= 0.0 && usd.is_finite()).then(|| (usd * 1e6 - 1e-6).ceil().max(0.0) as u64)
}

pub(crate) fn serialize<S: Serializer>(micros: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match micros {
        Some(micros) => serializer.serialize_f64(micros_to_usd(*micros)),
        None => serializer.serialize_none(),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(usd) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    match usd_to_micros(usd) {
        Some(micros) => Ok(Some(micros)),
        None => {
            Err(D::Error::custom(ibeam_protocol::sentence!("an amount of dollars should not be negative")))
        }
    }
}
