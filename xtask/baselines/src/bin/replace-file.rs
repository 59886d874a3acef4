//! Replaces a file of 4 KiB N times: create, write, rename.

use std::fs::{self, File};
use std::io::Write;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).expect("a folder");
    let times: usize = std::env::args().nth(2).and_then(|times| times.parse().ok()).expect("how often");
    let (temporary, target) = (format!("{folder}/.s.json.tmp"), format!("{folder}/s.json"));
    for time in 0..times {
        let mut file = File::create(&temporary)?;
        file.write_all(&[b'0' + (time % 10) as u8; 4096])?;
        drop(file);
        fs::rename(&temporary, &target)?;
    }
    Ok(())
}
