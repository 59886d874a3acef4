//! A second opinion on the compatibility of JSON Schemas, by jsoncompat.
//!
//! Reads a JSON list of `{ name, oldReader, oldWriter, newReader, newWriter }` from the file that is named, and prints
//! one line each: `{ name, readers, files }`, both `compatible`, `incompatible` or `unknown`.

use std::io::Write;

use jsoncompat::{CompatibilityResult, Role, SchemaDocument, analyze_compat};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: schema-compat PAIRS")?;
    let pairs: Vec<Value> = serde_json::from_slice(&std::fs::read(file)?)?;
    let mut out = std::io::stdout().lock();
    for pair in &pairs {
        let readers = verdict(&pair["oldReader"], &pair["newWriter"], Role::Serializer);
        let files = verdict(&pair["oldWriter"], &pair["newReader"], Role::Deserializer);
        writeln!(out, "{}", json!({ "name": pair["name"], "readers": readers, "files": files }))?;
    }
    Ok(())
}

fn verdict(old: &Value, new: &Value, role: Role) -> String {
    let documents = SchemaDocument::from_json(old).and_then(|old| Ok((old, SchemaDocument::from_json(new)?)));
    let (old, new) = match documents {
        Ok(documents) => documents,
        Err(error) => return format!("unknown: {error}"),
    };
    match analyze_compat(&old, &new, role) {
        Ok(CompatibilityResult::Compatible) => "compatible".into(),
        Ok(CompatibilityResult::Incompatible { .. }) => "incompatible".into(),
        Ok(CompatibilityResult::Unknown { .. }) => "unknown".into(),
        Err(error) => format!("unknown: {error}"),
    }
}
