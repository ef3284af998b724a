//! Prints the answer of a run: `ibeam -p PROMPT | cargo run -p ibeam-wire --example answer`.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use ibeam_wire::{Event, ReadError, Reader};

fn main() -> Result<(), ReadError> {
    for event in Reader::new(std::io::stdin().lock()) {
        if let Event::Result(end) = event? {
            println!("{}", end.result);
        }
    }
    Ok(())
}
