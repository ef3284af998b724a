//! A text and where its lines begin, so that what is wrong in it has a place.

/// A text with its lines.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) text: String,
    /// Where each line begins, in bytes.
    starts: Vec<usize>,
}

/// Line and column, from 1.
pub(super) type Place = (u64, u64);

impl Lines {
    /// The text of `bytes` without a byte order mark; else the place of the first that is not UTF-8.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, Place> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.valid_up_to();
                let before = Self::of(bytes.get(..valid).unwrap_or_default()).unwrap_or_default();
                return Err(before.place(valid));
            }
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(offset, _)| offset + 1)).collect();
        Ok(Self { text, starts })
    }

    /// The line of an offset in bytes.
    pub(super) fn line(&self, offset: usize) -> u64 {
        number(self.lines_until(offset))
    }

    /// The place of an offset in bytes. Counts the characters before it on its line.
    pub(super) fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.lines_until(offset);
        let start = line.checked_sub(1).and_then(|line| self.starts.get(line)).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default().chars().count();
        (number(line), number(before + 1))
    }

    fn lines_until(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}

fn number(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
