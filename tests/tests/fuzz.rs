//! The fuzzer's targets, built with the workspace so that they cannot rot, and run once over what the fuzzer begins
//! with: the seeds, among which are the minimised inputs that it found.
#![allow(clippy::disallowed_methods, reason = "tests read files of the repository and make their own")]

use std::path::Path;
use std::{fs, panic};

#[path = "../../xtask/fuzz/src/properties.rs"]
mod properties;

/// The target whose fault is there on purpose.
const PLANTED: &str = "planted";

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../xtask/fuzz/seeds").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.map(|path| (path.display().to_string(), fs::read(&path).expect("a readable seed"))).collect()
}

#[test]
fn what_holds_of_every_input_holds_of_every_seed() {
    let mut failed = Vec::new();
    for (name, target) in properties::TARGETS.iter().filter(|(name, _)| *name != PLANTED) {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seed");
        let broken = seeds.iter().filter(|(_, bytes)| panic::catch_unwind(|| target(bytes)).is_err());
        failed.extend(broken.map(|(path, _)| path.clone()));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn the_planted_fault_is_a_fault() {
    let (_, target) = properties::TARGETS.iter().find(|(name, _)| *name == PLANTED).expect("a target");
    assert!(panic::catch_unwind(|| target(b"{!\x9b7")).is_err());
    assert!(seeds(PLANTED).iter().all(|(_, bytes)| panic::catch_unwind(|| target(bytes)).is_ok()));
}
