//! The versions of the output contract.

/// Which promises a stream keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contract {
    /// `assistant` events are deltas.
    #[default]
    One,
    /// `assistant` events are whole segments, and deltas where they were asked for.
    Two,
}

impl Contract {
    /// Each of them.
    pub const ALL: &[Self] = &[Self::One, Self::Two];

    /// As `init.ibeam.contract` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
        }
    }

    /// The contract of that name; `None` where there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|contract| contract.as_str() == name)
    }
}
