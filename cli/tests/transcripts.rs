//! What the command line says, on the shipped example. `TRYCMD=overwrite` blesses.

#[test]
fn transcripts_are_as_written() -> std::io::Result<()> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))?;
    trycmd::TestCases::new().case("cli/tests/transcripts/*.md").case("README.md");
    Ok(())
}
