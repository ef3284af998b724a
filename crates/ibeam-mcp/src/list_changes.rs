//! The lists of a server that have changed since they were requested.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use crate::lifecycle::add_request_metadata;

/// The request for the changes of a server without sessions. They arrive as notifications until it is answered.
pub(crate) const LISTEN: &str = "subscriptions/listen";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerList {
    Tools,
    Prompts,
    Resources,
}

impl ServerList {
    const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// Returns the name of the capability.
    fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }
}

/// Returns the filter of a subscription to the changes that `capabilities` announce; `None` if they announce none.
pub(crate) fn subscription_filter(capabilities: &Value) -> Option<Value> {
    let announced = ServerList::ALL.into_iter().filter(|list| {
        let changes = capabilities.get(list.name()).and_then(|capability| capability.get("listChanged"));
        changes.and_then(Value::as_bool).unwrap_or_default()
    });
    let filter: Map<_, _> =
        announced.map(|list| (format!("{}ListChanged", list.name()), Value::Bool(true))).collect();
    (!filter.is_empty()).then_some(Value::Object(filter))
}

/// Returns the parameters of [`LISTEN`] with this filter.
pub(crate) fn listen_params(filter: Value) -> Value {
    let mut params = json!({ "notifications": filter });
    add_request_metadata(&mut params);
    params
}

#[derive(Debug, Default)]
pub(crate) struct ListChanges {
    tools: AtomicBool,
    prompts: AtomicBool,
    resources: AtomicBool,
}

impl ListChanges {
    /// Records the change that a notification reports, if it reports one.
    pub(crate) fn record(&self, method: &str) {
        let name = method.strip_prefix("notifications/").and_then(|rest| rest.strip_suffix("/list_changed"));
        if let Some(list) = ServerList::ALL.into_iter().find(|list| Some(list.name()) == name) {
            self.flag(list).store(true, Ordering::Relaxed);
        }
    }

    /// Records that any list may have changed.
    pub(crate) fn record_all(&self) {
        ServerList::ALL.into_iter().for_each(|list| self.flag(list).store(true, Ordering::Relaxed));
    }

    /// Returns whether the list has changed since the last call.
    pub(crate) fn take(&self, list: ServerList) -> bool {
        self.flag(list).swap(false, Ordering::Relaxed)
    }

    fn flag(&self, list: ServerList) -> &AtomicBool {
        match list {
            ServerList::Tools => &self.tools,
            ServerList::Prompts => &self.prompts,
            ServerList::Resources => &self.resources,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_announced_changes_are_subscribed_to() {
        let filter = |capabilities: Value| subscription_filter(&capabilities);
        assert_eq!(filter(json!({ "tools": {}, "prompts": { "listChanged": false } })), None);
        assert_eq!(
            filter(
                json!({ "tools": { "listChanged": true }, "resources": { "listChanged": true }, "prompts": {} })
            ),
            Some(json!({ "toolsListChanged": true, "resourcesListChanged": true }))
        );
    }

    #[test]
    fn a_change_is_taken_once() {
        let changes = ListChanges::default();
        for method in ["notifications/prompts/list_changed", "notifications/roots/list_changed", "tools/list"]
        {
            changes.record(method);
        }
        assert!(!changes.take(ServerList::Tools) && !changes.take(ServerList::Resources));
        assert!(changes.take(ServerList::Prompts) && !changes.take(ServerList::Prompts));
        changes.record_all();
        assert!(ServerList::ALL.into_iter().all(|list| changes.take(list)));
    }
}
