//! The ids of calls, in the form that a service accepts.
//!
//! Pure. A session keeps the id that the first service gave a call. When it goes on at another service, requests contain
//! another id in its place: always the same one, so that calls and results stay pairs and the bytes of earlier messages
//! stay the same.

use std::borrow::Cow;

/// The length of `_` and a checksum.
const CHECKSUM_BYTES: usize = 9;
/// The letters and digits of ids with nine characters.
const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The ids of calls that a service accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallIdForm {
    /// Any text of at most so many bytes.
    UpTo(usize),
    /// At most 64 letters, digits, `_` and `-`.
    Word,
    /// Exactly nine letters and digits. Every service accepts such an id.
    NineAlphanumeric,
}

impl CallIdForm {
    /// The form of a service that accepts any id.
    pub(crate) const ANY: Self = Self::UpTo(usize::MAX);
    /// The maximum length of a [`Self::Word`].
    const MAX_WORD_BYTES: usize = 64;

    /// Returns the id with which a request names the call `id`: the same one if the service accepts it.
    pub(crate) fn accepted(self, id: &str) -> Cow<'_, str> {
        if self.accepts(id) {
            return Cow::Borrowed(id);
        }
        let limit = match self {
            Self::UpTo(limit) => limit,
            Self::Word => Self::MAX_WORD_BYTES,
            Self::NineAlphanumeric => return Cow::Owned(nine_alphanumeric(id)),
        };
        // A checksum keeps ids different that are equal in the accepted characters.
        let mut replaced = id.replace(|c: char| !is_word(c), "_");
        replaced.truncate(limit.saturating_sub(CHECKSUM_BYTES).min(Self::MAX_WORD_BYTES - CHECKSUM_BYTES));
        Cow::Owned(format!("{replaced}_{:08x}", crc32fast::hash(id.as_bytes())))
    }

    fn accepts(self, id: &str) -> bool {
        match self {
            Self::UpTo(limit) => !id.is_empty() && id.len() <= limit,
            Self::Word => !id.is_empty() && id.len() <= Self::MAX_WORD_BYTES && id.chars().all(is_word),
            Self::NineAlphanumeric => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns the FNV-1a hash of an id, in nine letters and digits.
fn nine_alphanumeric(id: &str) -> String {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let digits = std::iter::successors(Some(hash), |rest| Some(rest / 62)).take(9);
    digits
        .filter_map(|rest| ALPHANUMERIC.get(usize::try_from(rest % 62).ok()?))
        .map(|&digit| char::from(digit))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMS: [CallIdForm; 4] =
        [CallIdForm::UpTo(40), CallIdForm::UpTo(64), CallIdForm::Word, CallIdForm::NineAlphanumeric];

    #[test]
    fn an_accepted_id_is_unchanged_and_another_one_is_replaced() {
        let check =
            |form: CallIdForm, id: &str, expect: &str| assert_eq!(form.accepted(id), expect, "{form:?}");
        check(CallIdForm::UpTo(40), "functions.read:0", "functions.read:0");
        check(CallIdForm::Word, "toolu_01A-b", "toolu_01A-b");
        check(CallIdForm::Word, "t:2", "t_2_41c79667");
        check(CallIdForm::NineAlphanumeric, "abcDEF123", "abcDEF123");
        check(CallIdForm::NineAlphanumeric, "toolu_01A", "5hJXTcYN8");
        check(CallIdForm::ANY, &"x".repeat(100), &"x".repeat(100));
    }

    proptest! {
        #[test]
        fn every_id_is_accepted_and_stays_different(ids in prop::collection::hash_set(".{0,90}|[a-c.:]{1,3}", 1..20)) {
            for form in FORMS {
                let replaced: std::collections::HashSet<_> = ids.iter().map(|id| form.accepted(id)).collect();
                prop_assert_eq!(replaced.len(), ids.len());
                for id in replaced {
                    prop_assert!(form.accepts(&id), "{:?}: {}", form, id);
                    prop_assert_eq!(form.accepted(&id), id.clone());
                }
            }
        }
    }
}
