//! Ids that a dialect wants and another does not have. Always the same for the same stream.

/// A hash of 128 bits (FNV-1a); no secret depends on it.
fn hash(parts: &[&[u8]]) -> u128 {
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for byte in *part {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
        hash = (hash ^ 0xff).wrapping_mul(PRIME);
    }
    hash
}

/// A UUID (version 8) that stands for `name`, the `number`th of it.
pub(crate) fn uuid(name: &str, number: u64) -> String {
    let hash = hash(&[name.as_bytes(), &number.to_be_bytes()]);
    let marked = hash & !(0xf << 76) & !(0x3 << 62) | (0x8 << 76) | (0x2 << 62);
    dashed(&format!("{marked:032x}"))
}

/// The id of an answer as Claude Code writes them: the `number`th of `name`.
pub(crate) fn message(name: &str, number: u64) -> String {
    let id = uuid(name, number).replace('-', "");
    format!("msg_{}", id.get(..24).unwrap_or_default())
}

/// `id` itself if it is a UUID, the UUID that it was made of, or one that stands for it.
pub(crate) fn uuid_of(id: &str) -> String {
    if is_uuid(id) {
        return id.to_owned();
    }
    match id.strip_prefix("ses_").filter(|hex| hex.len() == 32 && hex.bytes().all(is_hex)) {
        Some(hex) => dashed(hex),
        None => uuid(id, 0),
    }
}

/// A session's id as opencode writes them; a UUID can be read back from it.
pub(crate) fn opencode_of(id: &str) -> String {
    match (is_uuid(id), id.starts_with("ses_")) {
        (true, _) => format!("ses_{}", id.replace('-', "")),
        (false, true) => id.to_owned(),
        (false, false) => format!("ses_{}", uuid(id, 0).replace('-', "")),
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

fn dashed(hex: &str) -> String {
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    parts.map(|(from, to)| hex.get(from..to).unwrap_or_default()).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_comes_back_from_opencode() {
        let id = "c6b62c6f-7ead-4fd6-9922-e952131177ff";
        assert_eq!(uuid_of(&opencode_of(id)), id);
        assert_eq!(opencode_of("ses_494719016ffe85dkDMj0FPRbHK"), "ses_494719016ffe85dkDMj0FPRbHK");
    }

    #[test]
    fn what_stands_for_an_id_is_a_uuid_and_differs() {
        let (one, other) = (uuid_of("a"), uuid_of("b"));
        assert!(is_uuid(&one) && one != other && one != uuid("a", 1));
        assert_eq!(&one[14..15], "8");
    }
}
