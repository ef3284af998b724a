//! Rule files, skills and slash commands in the formats of other agents, and `ibeam context`.

#[path = "project_texts/context.rs"]
mod context;
#[path = "project_texts/documented.rs"]
mod documented;
#[path = "project_texts/foreign_projects.rs"]
mod foreign_projects;
#[path = "project_texts/rules.rs"]
mod rules;
#[path = "project_texts/skills.rs"]
mod skills;
#[path = "project_texts/slash_commands.rs"]
mod slash_commands;
