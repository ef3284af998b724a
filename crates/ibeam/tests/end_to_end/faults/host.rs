//! Faults of the host: signals, disks, descriptors, clocks, other processes.

use ibeam_testkit::{Ibeam, ProgramOutput};

use crate::scene::{Scene, check_journaled};

#[path = "host/clock.rs"]
mod clock;
#[path = "host/damaged_journal.rs"]
mod damaged_journal;
#[path = "host/home_directory.rs"]
mod home_directory;
#[path = "host/other_processes.rs"]
mod other_processes;
#[path = "host/own_files.rs"]
mod own_files;
#[path = "host/resource_limits.rs"]
mod resource_limits;
#[path = "host/signals.rs"]
mod signals;
#[path = "host/standard_streams.rs"]
mod standard_streams;

/// Runs the program and checks that it succeeds, answers and journals what it printed.
#[track_caller]
fn expect_success(scene: &Scene, ibeam: Ibeam) -> ProgramOutput {
    let output = ibeam.run().succeeded();
    assert!(!output.stream().deltas().is_empty(), "{output}");
    check_journaled(scene, &output);
    output
}
