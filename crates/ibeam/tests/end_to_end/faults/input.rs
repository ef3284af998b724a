//! Faults of the input: prompts, flags, files of the configuration.
