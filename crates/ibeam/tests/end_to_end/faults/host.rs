//! Faults of the host: signals, disks, descriptors, clocks, other processes.

use ibeam_testkit::scene::{Scene, check_journaled};
use ibeam_testkit::{Ibeam, ProgramOutput};

mod clock;
mod damaged_journal;
mod home_directory;
mod other_processes;
mod own_files;
mod resource_limits;
mod signals;
mod standard_streams;

/// Runs the program and checks that it succeeds, answers and journals what it printed.
#[track_caller]
fn expect_success(scene: &Scene, ibeam: Ibeam) -> ProgramOutput {
    let output = ibeam.run().succeeded();
    assert!(!output.stream().deltas().is_empty(), "{output}");
    check_journaled(scene, &output);
    output
}
