//! How much one answer may come to: bounds the memory that a broken or hostile server can fill.

use crate::wire::WireFault;

/// The most bytes of text, thoughts, signatures and arguments in one answer. The longest answers of today's models
/// are a hundredth of it.
pub const ANSWER_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// The most blocks, or calls, in one answer.
pub const ANSWER_LIMIT_PARTS: usize = 4096;

/// What an answer may still come to.
#[derive(Debug)]
pub(crate) struct Bounds {
    bytes: usize,
    parts: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: ANSWER_LIMIT_BYTES, parts: ANSWER_LIMIT_PARTS }
    }
}

impl Bounds {
    /// Counts content that is about to be kept.
    pub(crate) fn take(&mut self, content: &str) -> Result<(), WireFault> {
        let left = self.bytes.checked_sub(content.len());
        let too_large =
            || WireFault::TooLarge(format!("its answer is longer than {ANSWER_LIMIT_BYTES} bytes"));
        self.bytes = left.ok_or_else(too_large)?;
        Ok(())
    }

    /// The same for content that may be missing.
    pub(crate) fn take_any(&mut self, content: Option<&str>) -> Result<(), WireFault> {
        self.take(content.unwrap_or_default())
    }

    /// Counts a block or a call that begins.
    pub(crate) fn take_part(&mut self) -> Result<(), WireFault> {
        let too_large =
            || WireFault::TooLarge(format!("its answer has more than {ANSWER_LIMIT_PARTS} parts"));
        self.parts = self.parts.checked_sub(1).ok_or_else(too_large)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_up_to_the_limit_is_taken() {
        let mut bounds = Bounds::default();
        let quarter = "x".repeat(ANSWER_LIMIT_BYTES / 4);
        for _ in 0..4 {
            assert_eq!(bounds.take(&quarter), Ok(()));
        }
        assert!(matches!(bounds.take("x"), Err(WireFault::TooLarge(_))));
    }

    #[test]
    fn parts_are_counted_too_for_empty_ones_take_memory() {
        let mut bounds = Bounds::default();
        for _ in 0..ANSWER_LIMIT_PARTS {
            assert_eq!(bounds.take_part(), Ok(()));
        }
        assert!(matches!(bounds.take_part(), Err(WireFault::TooLarge(_))));
    }
}
