//! The versions of the output contract.

/// A version of the output contract: docs/output-format.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contract {
    /// The published page and the additions of ibeam: `assistant` events are deltas.
    #[default]
    One,
    /// The output of later releases of the original program: `assistant` events are complete segments, and deltas only
    /// with `--stream-partial-output`.
    Two,
}

impl Contract {
    /// Every version, oldest first.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// Returns the value of `init.ibeam.contract`, of `--contract` and of `IBEAM_CONTRACT`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
        }
    }

    /// Returns the contract with this name, or `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|contract| contract.as_str() == name)
    }
}
