//! How much one answer may come to: bounds the memory that a broken or hostile server can fill.

use crate::wire::WireFault;

/// The most bytes of text, thoughts, signatures and arguments in one answer. The longest answers of today's models
/// are a hundredth of it.
pub const ANSWER_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// The most blocks, or calls, in one answer.
pub const ANSWER_LIMIT_PARTS: usize = 4096;

/// The most bytes of a body, unpacked: an answer with its frames. A packed body of a few kilobytes can be endless.
const BODY_LIMIT_BYTES: usize = 4 * ANSWER_LIMIT_BYTES;

/// The most bytes of a body without an event: blanks and comments. Services send a comment now and then while they wait.
const IDLE_LIMIT_BYTES: usize = 1024 * 1024;

/// What the body of an answer may still come to.
#[derive(Debug)]
pub(crate) struct BodyBounds {
    bytes: usize,
    idle_bytes: usize,
}

impl Default for BodyBounds {
    fn default() -> Self {
        Self { bytes: BODY_LIMIT_BYTES, idle_bytes: IDLE_LIMIT_BYTES }
    }
}

impl BodyBounds {
    /// Counts bytes that were read; `has_content` where an event ended in them.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(crate) fn take(&mut self, bytes: usize, has_content: bool) -> Result<(), WireFault> {
        let body_too_large =
            || WireFault::TooLarge(format!("its answer is longer than {BODY_LIMIT_BYTES} bytes"));
        let too_idle = || {
            WireFault::TooLarge(format!("its answer has more than {IDLE_LIMIT_BYTES} bytes without an event"))
        };
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(body_too_large)?;
        if has_content {
            self.idle_bytes = IDLE_LIMIT_BYTES;
        } else {
            self.idle_bytes = self.idle_bytes.checked_sub(bytes).ok_or_else(too_idle)?;
        }
        Ok(())
    }
}

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
    fn a_body_is_bounded_as_a_whole_and_between_its_events() {
        let mut bounds = BodyBounds::default();
        for _ in 0..BODY_LIMIT_BYTES / IDLE_LIMIT_BYTES {
            assert_eq!(bounds.take(IDLE_LIMIT_BYTES, true), Ok(()));
        }
        assert!(matches!(bounds.take(1, true), Err(WireFault::TooLarge(_))));
        let mut bounds = BodyBounds::default();
        assert_eq!(bounds.take(IDLE_LIMIT_BYTES, false), Ok(()));
        assert_eq!(bounds.take(1, true), Ok(()));
        assert_eq!(bounds.take(IDLE_LIMIT_BYTES, false), Ok(()));
        assert!(matches!(bounds.take(1, false), Err(WireFault::TooLarge(_))));
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
