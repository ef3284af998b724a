//! Rule files, skills and slash commands in the formats of other agents, and `ibeam context`.

mod context;
mod documented;
mod foreign_projects;
mod rules;
mod skills;
mod slash_commands;
