//! One target a parser: bytes of anybody go in, and what must hold of every input is asserted.
//!
//! The first argument names the target. Run by `cargo xtask fuzz`; by hand: `cargo afl run -- TARGET < file`.

mod properties;

use properties::TARGETS;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    if name == "--list" {
        for (name, _) in TARGETS {
            println!("{name}");
        }
        return;
    }
    let Some((_, target)) = TARGETS.iter().find(|(known, _)| *known == name) else {
        eprintln!("no target is called {name:?}; --list names them");
        std::process::exit(2);
    };
    afl::fuzz!(|data: &[u8]| target(data));
}
