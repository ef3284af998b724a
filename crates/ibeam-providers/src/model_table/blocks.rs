//! The packed lines of the table. A block is decompressed when a model of it is looked up for the first time.

use std::io::Read as _;
use std::sync::OnceLock;

use flate2::bufread::DeflateDecoder;

/// Compressed lines of one provider, sorted by id.
struct Block {
    provider: &'static str,
    first_id: &'static str,
    /// Whether the lines are those of retired models.
    is_retired: bool,
    /// The compressed bytes, as a range of `DATA`.
    start: u32,
    end: u32,
    /// The size of the lines in bytes.
    size: u32,
}

include!(concat!(env!("OUT_DIR"), "/model_blocks.rs"));

static DATA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/models.deflate"));

static TEXTS: [OnceLock<String>; BLOCKS.len()] = [const { OnceLock::new() }; BLOCKS.len()];

/// Returns the line of an id with its provider, without the line feed.
pub(super) fn find_line(provider: &str, id: &str, is_retired: bool) -> Option<(&'static str, &'static str)> {
    let in_provider = BLOCKS.iter().enumerate().filter(|(_, block)| block.matches(provider, is_retired));
    let (index, block) = in_provider.take_while(|(_, block)| block.first_id <= id).last()?;
    let has_id = |line: &&str| line.strip_prefix(id).is_some_and(|rest| rest.starts_with('\t'));
    Some((block.provider, text(index)?.lines().find(has_id)?))
}

/// Returns the lines of the current models of a provider, with the provider.
pub(super) fn current_lines(provider: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let blocks = BLOCKS.iter().enumerate().filter(move |(_, block)| block.matches(provider, false));
    blocks.flat_map(|(index, block)| {
        text(index).into_iter().flat_map(str::lines).map(|line| (block.provider, line))
    })
}

impl Block {
    fn matches(&self, provider: &str, is_retired: bool) -> bool {
        self.provider == provider && self.is_retired == is_retired
    }
}

/// Returns the lines of a block. A test decompresses every block.
fn text(index: usize) -> Option<&'static str> {
    let (block, text) = (BLOCKS.get(index)?, TEXTS.get(index)?);
    let lines = text.get_or_init(|| {
        let mut lines = String::with_capacity(block.size as usize);
        let bytes = DATA.get(block.start as usize..block.end as usize).unwrap_or_default();
        let _ = DeflateDecoder::new(bytes).read_to_string(&mut lines);
        lines
    });
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_takes_at_most_30_kilobytes_of_the_program() {
        let index: usize = BLOCKS.iter().map(|block| block.first_id.len() + size_of::<Block>()).sum();
        assert!(DATA.len() + index <= 30_000, "{} + {index} bytes", DATA.len());
    }

    #[test]
    fn every_line_is_found_in_its_block() {
        let mut count = 0;
        for (index, block) in BLOCKS.iter().enumerate() {
            let lines = text(index).unwrap();
            assert_eq!(lines.len(), block.size as usize);
            for line in lines.lines() {
                let id = line.split('\t').next().unwrap();
                assert_eq!(find_line(block.provider, id, block.is_retired), Some((block.provider, line)));
                count += 1;
            }
        }
        assert_eq!(count, include_str!("../../data/models.jsonl").lines().count());
    }

    #[test]
    fn an_id_that_is_between_two_others_is_not_found() {
        for id in ["", "a", "claude-sonnet-5-", "claude-sonnet-5-55", "zzz"] {
            assert_eq!(find_line("anthropic", id, false), None, "{id}");
        }
        assert_eq!(find_line("no-provider", "claude-sonnet-5-5", false), None);
    }
}
