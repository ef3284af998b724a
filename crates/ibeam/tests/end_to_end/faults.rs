//! The listed faults, injected for real. The name of each test starts with the id of its fault. See docs/faults.md.

mod host;
mod input;

/// Returns a line of a journal, with its length and checksum.
fn journal_line(kind: &str, payload: &str) -> Vec<u8> {
    let crc = crc32(payload.as_bytes());
    format!("{{\"len\":{},\"crc\":\"{crc:08x}\",\"{kind}\":{payload}}}\n", payload.len()).into_bytes()
}

/// CRC-32 as in zip and PNG.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1)))
    })
}
