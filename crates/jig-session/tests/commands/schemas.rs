//! The committed JSON Schemas are what the types say.

use std::path::Path;

use jig_session_schema::formats::FORMATS;
use jig_session_schema::shape::Side;

#[test]
fn the_schemas_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let mut stale = Vec::new();
    for format in FORMATS {
        for side in [Side::Reader, Side::Writer] {
            let file = format.schema_file(side);
            if std::fs::read_to_string(folder.join(&file)).ok() != Some(format.schema_text(side)) {
                stale.push(file);
            }
        }
    }
    assert!(stale.is_empty(), "schemas/ is not what the types say: {stale:?}\nmend it with: cargo xtask schemas");
}
