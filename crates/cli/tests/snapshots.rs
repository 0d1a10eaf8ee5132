//! The command line as its users see it: `tests/cli/*.trycmd` hold commands, their exit codes and all that they print.
//!
//! `TRYCMD=overwrite cargo test -p raidloom` writes the files anew; read the difference before committing it.

#[test]
fn commands_print_what_they_printed() {
    trycmd::TestCases::new().case("../../tests/cli/*.trycmd").env("NO_COLOR", "1").env("COLUMNS", "100");
}
