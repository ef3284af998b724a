//! The MCP servers that a host sets with `mcp_set_servers`: each request replaces those of the request before.
//!
//! They start with the session, or before the next run. The servers of the configuration and of `initialize` stay.

use ibeam_agent::claude_call_form::value_at;
use ibeam_agent::mcp::{ServerDeclaration, server_from_json};
use ibeam_agent::run::run_session::ServerChange;
use serde_json::{Map, Value, json};

/// The servers of the last request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionServers {
    /// The servers that ibeam starts.
    pub(crate) declared: Vec<ServerDeclaration>,
    /// The names of those that the host runs.
    pub(crate) of_host: Vec<String>,
}

impl SessionServers {
    /// Reads the servers of a request. Returns them with the mistakes by the names of their servers.
    fn parse(servers: &Map<String, Value>) -> (Self, Map<String, Value>) {
        let (mut parsed, mut errors) = (Self::default(), Map::new());
        for (name, server) in servers {
            if *value_at(server, "/type") == "sdk" {
                parsed.of_host.push(name.clone());
                continue;
            }
            match server_from_json(name, server) {
                Ok(server) => parsed.declared.push(server),
                Err(message) => drop(errors.insert(name.clone(), message.into())),
            }
        }
        (parsed, errors)
    }

    /// Replaces the servers by those of a request, and returns the response.
    pub(super) fn replace(&mut self, servers: &Map<String, Value>) -> Value {
        let (wanted, errors) = Self::parse(servers);
        let ServerChange { removed, declared, of_front_end } = self.change_to(&wanted);
        let mut added: Vec<String> = declared.into_iter().map(|server| server.name).collect();
        added.extend(of_front_end);
        *self = wanted;
        json!({ "added": added, "removed": removed, "errors": errors })
    }

    /// Returns the change that leads to the servers of `wanted`. A server that has changed is removed and added.
    pub(crate) fn change_to(&self, wanted: &Self) -> ServerChange {
        let removed_hosts = self.of_host.iter().filter(|name| !wanted.of_host.contains(name)).cloned();
        let removed = self.declared.iter().filter(|server| !wanted.declared.contains(server));
        let removed = removed.map(|server| server.name.clone()).chain(removed_hosts).collect();
        let is_new = |server: &&ServerDeclaration| !self.declared.contains(server);
        let declared = wanted.declared.iter().filter(is_new).cloned().collect();
        let is_new = |name: &&String| !self.of_host.contains(name);
        let of_front_end = wanted.of_host.iter().filter(is_new).cloned().collect();
        ServerChange { removed, declared, of_front_end }
    }

    /// Whether a server has this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.declared.iter().any(|server| server.name == name) || self.of_host.iter().any(|of| of == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_replaces_the_servers_of_the_one_before() {
        let mut servers = SessionServers::default();
        let mut check = |given: Value, expect: Value| {
            assert_eq!(servers.replace(given.as_object().unwrap()), expect, "{given}");
        };
        let git = json!({ "command": "git-server" });
        check(
            json!({ "git": git, "calc": { "type": "sdk", "name": "calc" } }),
            json!({ "added": ["git", "calc"], "removed": [], "errors": {} }),
        );
        check(json!({ "git": git }), json!({ "added": [], "removed": ["calc"], "errors": {} }));
        check(
            json!({ "git": { "command": "other" }, "web": { "type": "http", "url": "http://localhost/mcp" } }),
            json!({ "added": ["git", "web"], "removed": ["git"], "errors": {} }),
        );
        check(json!({}), json!({ "added": [], "removed": ["git", "web"], "errors": {} }));
        let wrong = json!({ "odd": {}, "old": { "type": "sse", "url": "http://localhost/sse" } });
        let answer = servers.replace(wrong.as_object().unwrap());
        assert_eq!(
            (&answer["added"], answer["errors"].as_object().unwrap().len()),
            (&json!([]), 2),
            "{answer}"
        );
    }
}
