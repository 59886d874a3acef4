//! One operation on a private folder, as a program of its own, so that it can be interrupted, starved and raced from
//! outside: `act write DIR NAME TEXT`, `create`, `take DIR NAME`, `remove`, `read`, `sweep DIR`, and `hammer DIR NAME`,
//! which writes one version after the other until its input ends (`--in-place` is the control: it overwrites).

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use jig_session_atomic::{PrivateDir, Sync};

/// No document here is larger.
const LIMIT: usize = 1 << 20;

/// What the hammer writes: large enough that a torn version shows, one letter throughout, so that it is easily told.
const HAMMERED: usize = 16 * 1024;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match act(&args) {
        Ok(done) => {
            let _ = writeln!(io::stdout(), "{done}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn act(args: &[&str]) -> Result<String, Failure> {
    Ok(match args {
        ["write", dir, name, text] => {
            PrivateDir::open(dir)?.write(name, text.as_bytes())?;
            "written".to_owned()
        }
        ["create", dir, name, text] => {
            let made = PrivateDir::open(dir)?.create_new_synced(name, text.as_bytes(), Sync::FileAndName)?;
            if made.is_some() { "made" } else { "there" }.to_owned()
        }
        ["take", dir, name] => {
            let taken = PrivateDir::open(dir)?.take(name)?;
            taken.map_or_else(|| "none".to_owned(), |name| name.to_string_lossy().into_owned())
        }
        ["remove", dir, name] => {
            let dir = PrivateDir::open(dir)?;
            match dir.stamp(name)? {
                Some(stamp) => format!("{:?}", dir.remove_judged(name, &stamp)?),
                None => "none".to_owned(),
            }
        }
        ["read", dir, name] => {
            let Some(dir) = PrivateDir::open_existing(dir)? else { return Ok("none".to_owned()) };
            let read = dir.read(name, LIMIT);
            let read = read.map_err(|problem| format!("cannot read {}: {problem}", dir.path().join(name).display()))?;
            String::from_utf8_lossy(&read.bytes).into_owned()
        }
        ["sweep", dir] => {
            let gone = |pid: u32| !std::path::Path::new(&format!("/proc/{pid}")).exists();
            let swept = PrivateDir::open(dir)?.sweep(0, gone)?;
            format!("{} swept", swept.len())
        }
        ["hammer", dir, name] => hammer(dir, name, false)?,
        ["hammer", dir, name, "--in-place"] => hammer(dir, name, true)?,
        _ => return Err("not an operation".into()),
    })
}

fn hammer(dir: &str, name: &str, in_place: bool) -> Result<String, Failure> {
    let dir = PrivateDir::open(dir)?;
    let ended = AtomicBool::new(false);
    let mut rounds: u64 = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = io::stdin().read_to_end(&mut Vec::new());
            ended.store(true, Ordering::Relaxed);
        });
        while !ended.load(Ordering::Relaxed) {
            let content = vec![b'a' + (rounds % 26) as u8; HAMMERED];
            if in_place {
                let mut file = std::fs::File::create(dir.path().join(name))?;
                for part in content.chunks(1024) {
                    file.write_all(part)?;
                }
            } else {
                dir.write(name, &content)?;
            }
            rounds += 1;
        }
        Ok(format!("{rounds} written"))
    })
}
