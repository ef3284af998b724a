//! Size limits of an answer. They bound the memory that a broken or hostile server can fill.

use crate::response_error::ResponseError;

/// The maximum size of the text, thinking, signatures and arguments of one answer. The longest answers of today's models
/// are a hundredth of it.
pub const ANSWER_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// The maximum number of content blocks, or calls, in one answer.
pub const ANSWER_LIMIT_PARTS: usize = 4096;

/// The maximum size of a decompressed body. A compressed body of a few kilobytes can expand without end.
const BODY_LIMIT_BYTES: usize = 4 * ANSWER_LIMIT_BYTES;

/// The maximum number of bytes without an event: blanks and comments. Services send comments while they wait.
const IDLE_LIMIT_BYTES: usize = 1024 * 1024;

/// Counts the bytes of a response body down from its limits.
#[derive(Debug)]
pub(crate) struct BodyLimits {
    remaining_bytes: usize,
    remaining_idle_bytes: usize,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { remaining_bytes: BODY_LIMIT_BYTES, remaining_idle_bytes: IDLE_LIMIT_BYTES }
    }
}

impl BodyLimits {
    /// Counts bytes that were read. `has_content` is whether they complete an event or are within its data.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(crate) fn count(&mut self, bytes: usize, has_content: bool) -> Result<(), ResponseError> {
        let body_too_large =
            || ResponseError::TooLarge(format!("its answer is longer than {BODY_LIMIT_BYTES} bytes"));
        let too_idle = || {
            ResponseError::TooLarge(format!(
                "its answer has more than {IDLE_LIMIT_BYTES} bytes without an event"
            ))
        };
        self.remaining_bytes = self.remaining_bytes.checked_sub(bytes).ok_or_else(body_too_large)?;
        if has_content {
            self.remaining_idle_bytes = IDLE_LIMIT_BYTES;
        } else {
            self.remaining_idle_bytes = self.remaining_idle_bytes.checked_sub(bytes).ok_or_else(too_idle)?;
        }
        Ok(())
    }
}

/// Counts the content of an answer down from its limits.
#[derive(Debug)]
pub(crate) struct AnswerLimits {
    remaining_bytes: usize,
    remaining_parts: usize,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self { remaining_bytes: ANSWER_LIMIT_BYTES, remaining_parts: ANSWER_LIMIT_PARTS }
    }
}

impl AnswerLimits {
    /// Returns the bytes and parts that were counted.
    pub(crate) fn content_size(&self) -> usize {
        ANSWER_LIMIT_BYTES - self.remaining_bytes + ANSWER_LIMIT_PARTS - self.remaining_parts
    }

    /// Counts content before it is stored.
    pub(crate) fn count(&mut self, content: &str) -> Result<(), ResponseError> {
        let left = self.remaining_bytes.checked_sub(content.len());
        let too_large =
            || ResponseError::TooLarge(format!("its answer is longer than {ANSWER_LIMIT_BYTES} bytes"));
        self.remaining_bytes = left.ok_or_else(too_large)?;
        Ok(())
    }

    /// Counts optional content before it is stored.
    pub(crate) fn count_optional(&mut self, content: Option<&str>) -> Result<(), ResponseError> {
        self.count(content.unwrap_or_default())
    }

    /// Counts a block or a call that starts.
    pub(crate) fn count_part(&mut self) -> Result<(), ResponseError> {
        let too_large =
            || ResponseError::TooLarge(format!("its answer has more than {ANSWER_LIMIT_PARTS} parts"));
        self.remaining_parts = self.remaining_parts.checked_sub(1).ok_or_else(too_large)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_up_to_the_limit_is_accepted() {
        let mut limits = AnswerLimits::default();
        let quarter = "x".repeat(ANSWER_LIMIT_BYTES / 4);
        for _ in 0..4 {
            assert_eq!(limits.count(&quarter), Ok(()));
        }
        assert!(matches!(limits.count("x"), Err(ResponseError::TooLarge(_))));
    }

    #[test]
    fn a_body_is_limited_in_total_and_between_its_events() {
        let mut limits = BodyLimits::default();
        for _ in 0..BODY_LIMIT_BYTES / IDLE_LIMIT_BYTES {
            assert_eq!(limits.count(IDLE_LIMIT_BYTES, true), Ok(()));
        }
        assert!(matches!(limits.count(1, true), Err(ResponseError::TooLarge(_))));
        let mut limits = BodyLimits::default();
        assert_eq!(limits.count(IDLE_LIMIT_BYTES, false), Ok(()));
        assert_eq!(limits.count(1, true), Ok(()));
        assert_eq!(limits.count(IDLE_LIMIT_BYTES, false), Ok(()));
        assert!(matches!(limits.count(1, false), Err(ResponseError::TooLarge(_))));
    }

    #[test]
    fn parts_are_counted_because_empty_ones_take_memory() {
        let mut limits = AnswerLimits::default();
        for _ in 0..ANSWER_LIMIT_PARTS {
            assert_eq!(limits.count_part(), Ok(()));
        }
        assert!(matches!(limits.count_part(), Err(ResponseError::TooLarge(_))));
    }
}
