//! Ids of models at Amazon Bedrock.
//!
//! An id is `amazon.nova-pro-v1:0`, that of an inference profile such as `eu.anthropic.claude-sonnet-4-5-20250929-v1:0`,
//! or an ARN. The ARN of an application inference profile names no model.

/// Returns a model id as one segment of a path. Ids contain `:`, and ARNs `/`.
pub(in crate::protocols) fn path_segment(id: &str) -> String {
    let mut segment = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_segment_of_a_path() {
        assert_eq!(path_segment("amazon.nova-pro-v1:0"), "amazon.nova-pro-v1%3A0");
        assert_eq!(path_segment("arn:aws:bedrock:x/y"), "arn%3Aaws%3Abedrock%3Ax%2Fy");
    }
}
