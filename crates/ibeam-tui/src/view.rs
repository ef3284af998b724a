//! The full-screen views in the alternate screen: what they share, and which one is open.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::Catalogue;

use crate::pager::Pager;
use crate::picker::Picker;
use crate::styled::Line;

/// The rows of a view, from the first row of the screen on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) rows: Vec<Line>,
    /// The row and the cell of the cursor; `None` hides it.
    pub(crate) cursor: Option<(usize, usize)>,
}

/// The size of a screen in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// Whether a view stays open after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewEnd {
    StaysOpen,
    Closes,
}

/// An open view.
pub(crate) enum View {
    Picker(Picker),
    Pager(Pager),
}

impl View {
    /// Returns the rows of the view on a screen of this size.
    pub(crate) fn compose(&mut self, catalogue: &Catalogue, size: Size) -> Frame {
        match self {
            Self::Picker(picker) => picker.compose(catalogue, size),
            Self::Pager(pager) => pager.compose(catalogue, size),
        }
    }

    /// Handles a key.
    pub(crate) fn on_key(&mut self, key: KeyEvent) -> ViewEnd {
        match self {
            Self::Picker(picker) => picker.on_key(key),
            Self::Pager(pager) => pager.on_key(key),
        }
    }

    /// Adds pasted text to the input of the view.
    pub(crate) fn on_paste(&mut self, text: &str) {
        for c in text.chars().filter(|c| !c.is_control()) {
            let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            match self {
                Self::Picker(picker) => drop(picker.on_key(key)),
                Self::Pager(pager) if pager.is_searching() => drop(pager.on_key(key)),
                Self::Pager(_) => {}
            }
        }
    }

    /// Whether the view waits for more content, which the next draws load.
    pub(crate) fn is_loading(&self) -> bool {
        match self {
            Self::Picker(picker) => picker.is_loading(),
            Self::Pager(_) => false,
        }
    }
}

/// Whether the key is `c` with Ctrl.
pub(crate) fn is_control(key: KeyEvent, c: char) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(c)
}
