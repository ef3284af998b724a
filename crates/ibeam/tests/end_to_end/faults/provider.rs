//! Faults of the model's side: what a server, a proxy or a network does.
