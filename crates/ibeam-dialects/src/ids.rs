//! Ids that the target needs and the source does not have, derived by FNV-1a hashes.
//!
//! Equal streams get equal ids. The hash is not cryptographic, and no secret depends on it.

/// The initial value of a 128-bit FNV-1a hash.
const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
/// The multiplier of a 128-bit FNV-1a hash.
const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;

fn add_bytes(hash: u128, bytes: &[u8]) -> u128 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

/// Returns the UUID (version 8) number `number` of those derived from `name`.
pub(crate) fn derived_uuid(name: &str, number: u64) -> String {
    let parts: [&[u8]; 2] = [name.as_bytes(), &number.to_be_bytes()];
    let hash = parts.iter().fold(OFFSET, |hash, part| (add_bytes(hash, part) ^ 0xff).wrapping_mul(PRIME));
    let marked = hash & !(0xf << 76) & !(0x3 << 62) | (0x8 << 76) | (0x2 << 62);
    format_uuid(&format!("{marked:032x}"))
}

/// Returns the id of a model's answer in the form of Claude Code: number `number` of those derived from `name`.
pub(crate) fn message_id(name: &str, number: u64) -> String {
    let id = derived_uuid(name, number).replace('-', "");
    format!("msg_{}", id.get(..24).unwrap_or_default())
}

/// Returns `id` if it is a UUID, the UUID that an id of opencode was made of, or else a UUID derived from `id`.
pub(crate) fn to_uuid(id: &str) -> String {
    if is_uuid(id) {
        return id.to_owned();
    }
    match id.strip_prefix("ses_").filter(|hex| hex.len() == 32 && hex.bytes().all(is_hex)) {
        Some(hex) => format_uuid(hex),
        None => derived_uuid(id, 0),
    }
}

/// Returns the id of a session in the form of opencode. [`to_uuid`] restores a UUID from the result.
pub(crate) fn to_opencode_id(id: &str) -> String {
    match (is_uuid(id), id.starts_with("ses_")) {
        (true, _) => format!("ses_{}", id.replace('-', "")),
        (false, true) => id.to_owned(),
        (false, false) => format!("ses_{}", derived_uuid(id, 0).replace('-', "")),
    }
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => is_hex(byte),
        })
}

fn format_uuid(hex: &str) -> String {
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    parts.map(|(from, to)| hex.get(from..to).unwrap_or_default()).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_restored_from_the_id_of_opencode() {
        let id = "c6b62c6f-7ead-4fd6-9922-e952131177ff";
        assert_eq!(to_uuid(&to_opencode_id(id)), id);
        assert_eq!(to_opencode_id("ses_494719016ffe85dkDMj0FPRbHK"), "ses_494719016ffe85dkDMj0FPRbHK");
    }

    #[test]
    fn derived_ids_are_uuids_and_differ() {
        let (one, other) = (to_uuid("a"), to_uuid("b"));
        assert!(is_uuid(&one) && one != other && one != derived_uuid("a", 1));
        assert_eq!(&one[14..15], "8");
    }
}
