//! Reads and parses every call record below a folder of day folders.

use std::fs;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args().nth(1).expect("a folder");
    let mut records = 0;
    for day in fs::read_dir(root)? {
        for entry in fs::read_dir(day?.path())? {
            let record: serde_json::Value = serde_json::from_slice(&fs::read(entry?.path())?)?;
            records += usize::from(record["summary"].is_object());
        }
    }
    println!("{records}");
    Ok(())
}
