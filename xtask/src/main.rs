//! The project's own tasks: `cargo xtask test`, `schemas`, `faults`, `bench`, `e2e`.

fn main() -> anyhow::Result<()> {
    anyhow::bail!("no task yet")
}
