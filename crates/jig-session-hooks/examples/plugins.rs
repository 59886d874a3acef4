//! Prints the files of the plugins as one JSON object, path by text: `plugins BRIDGE SKILL`. `cargo xtask plugins` writes
//! them.
#![allow(clippy::disallowed_methods, reason = "a tool of developers")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(bridge), Some(skill)) = (args.next(), args.next()) else {
        return Err("usage: plugins BRIDGE SKILL".into());
    };
    let files = jig_session_hooks::plugin_files(&fs::read_to_string(bridge)?, &fs::read_to_string(skill)?);
    let files: BTreeMap<String, String> = files.into_iter().collect();
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&files)?)?;
    Ok(())
}
