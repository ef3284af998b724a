# The setup script of nextest: builds the program that end-to-end tests start, and names its directory to them.
test -n "$IBEAM_TEST_PROGRAM$IBEAM_TEST_PROGRAMS" && exit
messages=$(cargo build --workspace --bin ibeam --locked --features ibeam/nats --message-format json-render-diagnostics) || exit
printf '%s\n' "$messages" | sed -n 's|.*"executable":"\(.*\)/ibeam".*|IBEAM_TEST_PROGRAMS=\1|p' >>"$NEXTEST_ENV"
