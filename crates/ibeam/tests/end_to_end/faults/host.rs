//! Faults of the host: signals, disks, descriptors, clocks, neighbours.
