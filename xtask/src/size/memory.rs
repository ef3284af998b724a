//! Measures the memory of the shortest run: the peak of the process, nearly all of which is pages of the program file.

use std::path::Path;

use ibeam_testkit::{Answer, ModelServer, Workspace};

use super::measured_run::{Figure, shortest_run};

/// The largest peak, in KiB. The system reads pages of the file ahead, so the figure varies by 4 %.
const LIMIT: u64 = 9 << 10;

/// Measures the peak when the answer has been printed.
pub(super) fn measure(program: &Path) -> Figure {
    let workspace = Workspace::new();
    let server = ModelServer::start([Answer::new().text("hello").stall()]);
    let run = shortest_run(program, &workspace, &server)
        .args(["--output-format", "stream-json", "--stream-partial-output"])
        .start();
    run.wait_for_stdout("hello\"");
    let measured = run.peak_memory() >> 10;
    // The run ends with the process, when it is dropped.
    Figure { what: "the peak of memory of a prompt and its answer, KiB", measured, limit: LIMIT }
}
