//! The versions of the output contract.

/// Which promises the output keeps: docs/output-format.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contract {
    /// The published page, and what ibeam adds to it.
    #[default]
    One,
    /// What later releases of the original program print.
    Two,
}

impl Contract {
    /// Each of them.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// The word for it, on the wire and in flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
        }
    }

    /// The contract of that name; `None` where there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|contract| contract.name() == name)
    }
}
