# Shortcuts for `cargo xtask`, which says more: `cargo xtask` alone lists everything.

_list:
    @just --list

# Every check and every test, after setting up what they need; `--all` with complete sweeps
test *ARGS:
    cargo xtask test {{ARGS}}

# What the compiler does not hold: edges between crates, sizes of files, what must change together
tidy:
    cargo xtask tidy

# Every bench in one table, with ratios; `--quick` for a try, words for some of them
bench *ARGS:
    cargo xtask bench {{ARGS}}

# docs/schema and types, from the wire types
schema:
    cargo xtask schema

# docs/faults.md, from the list of faults and the tests that hold them
faults:
    cargo xtask faults

# The corpus of attacks, played with the real program
attacks *ARGS:
    cargo xtask corpus attacks {{ARGS}}

# Programs that others wrote, starting this one
clients *ARGS:
    cargo xtask clients {{ARGS}}

# Model servers that others wrote, used by this program
servers *ARGS:
    cargo xtask servers {{ARGS}}

# What is distributed, built and held to its size (ten minutes)
size:
    cargo xtask size

# Protections taken out one by one (long)
mutations *ARGS:
    cargo xtask mutations {{ARGS}}

# Time and memory of long sessions and answers
bounds:
    cargo xtask bounds

# Time and memory of endless output
flood *ARGS:
    cargo xtask flood {{ARGS}}
