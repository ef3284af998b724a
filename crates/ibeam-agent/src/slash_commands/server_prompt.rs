//! The prompts of MCP servers as slash commands: `/SERVER:PROMPT ARGUMENTS`, or as Claude Code names them,
//! `/mcp__SERVER__PROMPT ARGUMENTS`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ibeam_core::Redactor;
use ibeam_mcp::{ListedPrompt, Server};
use ibeam_output::{escape_invisible, escape_to_one_line};
use ibeam_protocol::{Notice, UserPrompt};

use super::template::split_words;
use super::{CommandSource, SlashCommand, invocation};
use crate::instructions::shorten_description;
use crate::mcp::McpServers;
use crate::skills::is_name;

/// The longest wait for the prompts of a server, so that a list of commands does not delay a session.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the prompts of these servers as commands. A server that does not answer in time has none.
pub(crate) async fn available(servers: Vec<Arc<Server>>) -> Vec<SlashCommand> {
    join_all(servers.into_iter().map(commands_of)).await.into_iter().flatten().collect()
}

async fn commands_of(server: Arc<Server>) -> Vec<SlashCommand> {
    let prompts = tokio::time::timeout(LIST_TIMEOUT, server.prompts()).await;
    let Ok(Ok(prompts)) = prompts else { return Vec::new() };
    prompts.iter().filter_map(|prompt| command(server.name(), prompt)).collect()
}

/// Returns the command for a prompt; `None` if its name cannot be written as one.
fn command(server: &str, prompt: &ListedPrompt) -> Option<SlashCommand> {
    let arguments = prompt.arguments.iter().map(|argument| match argument.required {
        true => argument.name.clone(),
        false => format!("[{}]", argument.name),
    });
    let hint = arguments.collect::<Vec<_>>().join(" ");
    (is_name(server) && is_name(&prompt.name)).then(|| SlashCommand {
        name: format!("{server}:{}", prompt.name),
        description: escape_to_one_line(&shorten_description(
            prompt.description.as_deref().unwrap_or_default(),
        )),
        argument_hint: (!hint.is_empty()).then(|| escape_to_one_line(&hint)),
        source: CommandSource::Server(server.to_owned()),
    })
}

/// Returns the name of the server and of its prompt in the name of a command.
fn split_name(name: &str) -> Option<(&str, &str)> {
    name.split_once(':').or_else(|| name.strip_prefix("mcp__")?.split_once("__"))
}

/// Adds the text of a server's prompt, without secrets, to a prompt that names one. Returns the notices about it.
///
/// Only a server that the user names is asked.
pub(crate) async fn expand(
    servers: &McpServers,
    redactor: &Redactor,
    prompt: &mut UserPrompt,
) -> Vec<Notice> {
    let text = prompt.texts.first().cloned().unwrap_or_default();
    let Some((name, arguments)) = invocation(&text) else { return Vec::new() };
    let Some((server, prompt_name)) = split_name(name) else { return Vec::new() };
    let Some(server) = servers.find(server).filter(|server| server.has_prompts()) else { return Vec::new() };
    match prompt_text(server, prompt_name, arguments).await {
        Ok(Some(content)) => {
            let content = escape_invisible(&content);
            let mut text = format!(
                "The text of the prompt `/{name}`, from the MCP server `{}`, not words of the user:\n\n{content}",
                server.name()
            );
            redactor.redact_value(&mut text);
            prompt.texts.insert(1, text);
            Vec::new()
        }
        Ok(None) => Vec::new(),
        Err(detail) => vec![Notice::TextFileIgnored { path: format!("/{name}"), detail }],
    }
}

/// Returns the text of a prompt; `None` if the server has none of this name.
async fn prompt_text(server: &Server, name: &str, arguments: &str) -> Result<Option<String>, String> {
    let prompts = server.prompts().await?;
    let Some(listed) = prompts.iter().find(|listed| listed.name == name) else { return Ok(None) };
    server.prompt_text(name, &assign(listed, arguments)?).await.map(Some)
}

/// Assigns words to the arguments of a prompt in their order. The last argument gets all words that are left.
///
/// # Errors
/// The names of the arguments that are missing.
fn assign(prompt: &ListedPrompt, text: &str) -> Result<BTreeMap<String, String>, String> {
    let words = split_words(text);
    let mut words = words.iter().map(String::as_str);
    let mut assigned = BTreeMap::new();
    let count = prompt.arguments.len();
    for (number, argument) in (1..).zip(&prompt.arguments) {
        let value = match number == count {
            true => words.by_ref().collect::<Vec<_>>().join(" "),
            false => words.next().unwrap_or_default().to_owned(),
        };
        if !value.is_empty() {
            assigned.insert(argument.name.clone(), value);
        }
    }
    let missing = prompt.arguments.iter().filter(|argument| argument.required);
    let missing: Vec<&str> =
        missing.map(|argument| argument.name.as_str()).filter(|name| !assigned.contains_key(*name)).collect();
    match missing.as_slice() {
        [] => Ok(assigned),
        missing => Err(format!("its arguments are missing: {}", missing.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use ibeam_mcp::PromptArgument;

    use super::*;

    fn prompt(arguments: &[(&str, bool)]) -> ListedPrompt {
        let argument = |(name, required): &(&str, bool)| PromptArgument {
            name: (*name).to_owned(),
            required: *required,
        };
        ListedPrompt {
            name: "p".to_owned(),
            description: None,
            arguments: arguments.iter().map(argument).collect(),
        }
    }

    #[track_caller]
    fn check(arguments: &[(&str, bool)], text: &str, expect: Result<&[(&str, &str)], &str>) {
        let expect: Result<BTreeMap<String, String>, &str> = expect.map(|pairs| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        });
        assert_eq!(assign(&prompt(arguments), text), expect.map_err(str::to_owned));
    }

    #[test]
    fn a_prompt_is_a_command_if_its_name_can_be_written() {
        let listed = prompt(&[("file", true), ("aim", false)]);
        let found = command("test", &listed).unwrap();
        assert_eq!((found.name.as_str(), found.argument_hint.as_deref()), ("test:p", Some("file [aim]")));
        assert_eq!(split_name(&found.name), Some(("test", "p")));
        assert_eq!(split_name("mcp__test__p"), Some(("test", "p")));
        assert_eq!(command("test", &ListedPrompt { name: "two words".to_owned(), ..listed }), None);
    }

    #[test]
    fn words_are_assigned_in_order() {
        check(&[("a", true), ("b", false)], "x y z", Ok(&[("a", "x"), ("b", "y z")]));
        check(&[("a", true), ("b", false)], "\"x y\"", Ok(&[("a", "x y")]));
        check(&[], "x", Ok(&[]));
        check(&[("a", true), ("b", true)], "x", Err("its arguments are missing: b"));
    }
}
