//! The grammar of JSON strings and numbers, for text that arrives token by token.

/// The maximum length of a number. Longer ones have more digits than a double can hold.
pub(super) const MAX_NUMBER_LEN: usize = 18;

/// A JSON string without its opening quotation mark.
pub(super) struct JsonString {
    text: Vec<u8>,
    state: StringState,
    min: usize,
    max: usize,
}

impl JsonString {
    /// Creates an empty string that is to have `min` to `max` characters.
    pub(super) fn new(min: usize, max: usize) -> Self {
        Self { text: Vec::new(), state: StringState::default(), min, max }
    }

    /// Whether the string has its maximum length.
    pub(super) fn is_full(&self) -> bool {
        self.state.chars >= self.max && self.state.missing_bytes == 0
    }

    /// Whether a token with these bytes may follow: it continues the string, or ends it if it is long enough.
    pub(super) fn allows(&self, piece: &[u8]) -> bool {
        let mut state = self.state;
        for &byte in piece {
            match state.advance(byte) {
                ByteEffect::Continue => {}
                ByteEffect::End => return (self.min..=self.max).contains(&state.chars),
                ByteEffect::Invalid => return false,
            }
        }
        !piece.is_empty() && state.chars <= self.max
    }

    /// Adds the bytes of an allowed token. Returns `true` if they end the string.
    pub(super) fn push(&mut self, piece: &[u8]) -> bool {
        for &byte in piece {
            match self.state.advance(byte) {
                ByteEffect::Continue => self.text.push(byte),
                ByteEffect::End | ByteEffect::Invalid => return true,
            }
        }
        false
    }

    /// Returns the value of the string. An incomplete escape sequence or character at its end is dropped.
    pub(super) fn finish(mut self) -> String {
        if self.state.is_escaped {
            self.text.pop();
        }
        let text = self.text.utf8_chunks().next().map(|chunk| chunk.valid()).unwrap_or_default();
        serde_json::from_str(&format!("\"{text}\"")).unwrap_or_default()
    }
}

/// The effect of a byte within a string.
enum ByteEffect {
    Continue,
    End,
    Invalid,
}

/// The state of a string after its last byte.
#[derive(Clone, Copy, Default)]
struct StringState {
    /// Whether the last byte is a backslash that begins an escape sequence.
    is_escaped: bool,
    /// The number of bytes that are missing of the last character.
    missing_bytes: u8,
    /// The range of the next of them.
    next_byte: (u8, u8),
    /// The number of characters of the value, with an incomplete one.
    chars: usize,
}

impl StringState {
    fn advance(&mut self, byte: u8) -> ByteEffect {
        if self.missing_bytes > 0 {
            if !(self.next_byte.0..=self.next_byte.1).contains(&byte) {
                return ByteEffect::Invalid;
            }
            (self.missing_bytes, self.next_byte) = (self.missing_bytes - 1, (0x80, 0xbf));
            return ByteEffect::Continue;
        }
        if self.is_escaped {
            // Escapes by number are not allowed, because a character may need two of them.
            if !b"\"\\/bfnrt".contains(&byte) {
                return ByteEffect::Invalid;
            }
            (self.is_escaped, self.chars) = (false, self.chars + 1);
            return ByteEffect::Continue;
        }
        // The ranges of UTF-8: table 3-7 of the Unicode standard.
        (self.missing_bytes, self.next_byte) = match byte {
            b'"' => return ByteEffect::End,
            b'\\' => {
                self.is_escaped = true;
                return ByteEffect::Continue;
            }
            0x20..=0x7f => (0, (0, 0)),
            0xc2..=0xdf => (1, (0x80, 0xbf)),
            0xe0 => (2, (0xa0, 0xbf)),
            0xed => (2, (0x80, 0x9f)),
            0xe1..=0xef => (2, (0x80, 0xbf)),
            0xf0 => (3, (0x90, 0xbf)),
            0xf1..=0xf3 => (3, (0x80, 0xbf)),
            0xf4 => (3, (0x80, 0x8f)),
            0..=0x1f | 0x80..=0xc1 | 0xf5..=0xff => return ByteEffect::Invalid,
        };
        self.chars += 1;
        ByteEffect::Continue
    }
}

/// Whether `text` followed by `piece` is the beginning of a number.
pub(super) fn continues_number(text: &str, piece: &[u8], integer: bool) -> bool {
    if piece.is_empty() || text.len() + piece.len() > MAX_NUMBER_LEN {
        return false;
    }
    let mut bytes = text.bytes().chain(piece.iter().copied()).peekable();
    bytes.next_if_eq(&b'-');
    match bytes.next() {
        Some(b'0') => {}
        Some(b'1'..=b'9') => while bytes.next_if(u8::is_ascii_digit).is_some() {},
        None => return true,
        Some(_) => return false,
    }
    if !integer && bytes.next_if_eq(&b'.').is_some() {
        while bytes.next_if(u8::is_ascii_digit).is_some() {}
    }
    bytes.next().is_none()
}

/// Whether the beginning of a number is a complete number.
pub(super) fn is_number(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit())
}

/// Whether a token with these bytes ends a value before it.
pub(super) fn ends_value(piece: &[u8]) -> bool {
    piece.first().is_some_and(|first| matches!(first, b',' | b'}' | b']' | b' ' | b'\n'))
}
