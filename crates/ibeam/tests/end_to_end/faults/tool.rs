//! Faults of the tools: hostile commands, hostile files.
