//! The request to end a fleet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end, shared by all its clones. It cannot be taken back.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_requested: AtomicBool,
    parent: Option<StopFlag>,
}

impl StopFlag {
    /// Returns another request, which is also made when this one is made.
    pub fn child(&self) -> Self {
        Self(Arc::new(Inner { is_requested: AtomicBool::new(false), parent: Some(self.clone()) }))
    }

    /// Requests the end.
    pub fn request(&self) {
        self.0.is_requested.store(true, Ordering::SeqCst);
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.is_requested.load(Ordering::SeqCst) || self.0.parent.as_ref().is_some_and(Self::is_requested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reaches_the_children_and_not_the_parent() {
        let parent = StopFlag::default();
        let (first, second) = (parent.child(), parent.child());
        first.request();
        assert_eq!([&parent, &first, &second].map(StopFlag::is_requested), [false, true, false],);
        parent.request();
        assert!(second.is_requested());
    }
}
