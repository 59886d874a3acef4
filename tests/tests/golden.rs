//! The golden documents under `schemas/examples/`, read by our reader and judged by the JSON Schemas.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::fs;
use std::path::{Path, PathBuf};

use jig_session_schema::formats::{FORMATS, Format};
use jig_session_schema::json;
use jig_session_schema::shape::Side;
use jsonschema::Validator;
use serde_json::Value;

fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas")
}

/// The folder's documents by their names.
fn documents(format: &Format, kind: &str) -> Vec<(String, Vec<u8>)> {
    let name = format.name.strip_suffix(".v1").expect("version 1");
    let folder = schemas().join("examples").join(name).join("v1").join(kind);
    let mut out: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (format!("{name}/{kind}/{stem}"), fs::read(&path).expect("a readable document"))
        })
        .collect();
    out.sort();
    out
}

fn validator(format: &Format, side: Side) -> Validator {
    jsonschema::draft202012::new(&Value::Object(format.schema(side))).expect("a schema")
}

#[test]
fn every_valid_document_is_valid_to_both() {
    for format in FORMATS {
        let reader = validator(format, Side::Reader);
        let documents = documents(format, "valid");
        assert!(!documents.is_empty(), "{} has no example", format.name);
        for (name, bytes) in documents {
            let value: Value = json::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            let errors: Vec<String> =
                reader.iter_errors(&value).map(|error| format!("{} {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
            assert_eq!(format.check(value), Ok(vec![]), "{name}");
        }
    }
}

#[test]
fn every_invalid_document_is_invalid_to_both() {
    for format in FORMATS {
        let reader = validator(format, Side::Reader);
        let documents = documents(format, "invalid");
        assert!(!documents.is_empty(), "{} has no counter-example", format.name);
        for (name, bytes) in documents {
            let value: Value = json::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!reader.is_valid(&value), "{name}: the schema takes it");
            assert!(format.check(value).map_or(true, |problems| !problems.is_empty()), "{name}: the reader takes it");
        }
    }
}

/// What our writer makes of each valid document is what the sharp schema asks for.
#[test]
fn what_is_written_fits_the_writer_schema() {
    for format in FORMATS {
        let writer = validator(format, Side::Writer);
        for (name, bytes) in documents(format, "valid") {
            // A line of an unknown word, and a document with unknown basics, are read but never written.
            if name.contains("unknown") && format.lines || name.contains("null-where") || name.contains("identity-only")
            {
                continue;
            }
            let value: Value = json::parse(&bytes).expect("read before");
            let written = format.as_written(value).expect("read before");
            let errors: Vec<String> =
                writer.iter_errors(&written).map(|error| format!("{} {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
    }
}

/// A document that our writer wrote comes back key for key: nothing is lost, nothing is invented.
#[test]
fn a_written_document_is_written_the_same_again() {
    for format in FORMATS {
        for (name, bytes) in documents(format, "valid") {
            let Some(once) = format.as_written(json::parse(&bytes).expect("read before")) else { continue };
            assert_eq!(
                format.as_written(once.clone()).map(|twice| twice.to_string()),
                Some(once.to_string()),
                "{name}"
            );
        }
    }
}

/// Documents are told apart by their fields.
#[test]
fn each_valid_document_is_recognised() {
    for format in FORMATS {
        for (name, bytes) in documents(format, "valid") {
            let value = json::parse(&bytes).expect("read before");
            assert_eq!(Format::of(&value).map(|format| format.name), Some(format.name), "{name}");
        }
    }
}
