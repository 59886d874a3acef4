//! Thirty-two members under one process, as a dispatcher runs its workers: each is a session of its own.

use std::path::Path;
use std::sync::Mutex;

use jig_session_bus::path::ClaimPath;
use jig_session_bus::{Claimed, Release, System};

use crate::claims::{Held, paths, violations};
use crate::worker::{Dice, bus, folder, full, me, nanos, say};

const MEMBERS: usize = 32;

/// Lets as many members claim and release at once, all in this process, and gives who held what when.
fn crowd(folder: &Path, attempts: usize, id: impl Fn(usize) -> String + Sync) -> Vec<Held> {
    let held = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for member in 0..MEMBERS {
            let (held, id, paths) = (&held, &id, paths());
            scope.spawn(move || {
                let system = System::new();
                let bus = bus(folder, &system);
                let me = me(&system, &id(member));
                let mut dice = Dice::new(member as u64 + 7);
                for _ in 0..attempts {
                    let path = paths[dice.roll(paths.len() as u64) as usize].clone();
                    let outcome = bus.claim(&me, &[ClaimPath { path, dir: true }], None).expect("the bus works");
                    let Claimed::Held { claimed, .. } = outcome else { continue };
                    let from = nanos();
                    std::thread::yield_now();
                    let to = nanos();
                    let who = member.to_string();
                    let notes = claimed.into_iter().map(|path| Held { path, from, to, who: who.clone() });
                    held.lock().expect("unpoisoned").extend(notes);
                    bus.release(&me, &Release::All).expect("released");
                }
            });
        }
    });
    held.into_inner().expect("unpoisoned")
}

#[test]
fn no_two_members_under_one_process_hold_overlapping_paths() {
    let attempts = if full() { 2_000 } else { 10 };
    let folder = folder();
    let held = crowd(folder.path(), attempts, |member| format!("worker-{member}"));
    let about = format!("{} grants of {} by {MEMBERS} members of one process", held.len(), MEMBERS * attempts);
    assert!(held.len() >= MEMBERS / 4, "somebody wins: {about}");
    assert_eq!(violations(&held), 0, "{about}");
    say(&format!("{about}, 0 overlaps"));
    let system = System::new();
    let look = bus(folder.path(), &system).look().expect("read");
    assert_eq!(look.members.len(), MEMBERS, "nobody has taken another's place");
}

/// The control: taken for one session, as by their process, the same members hold each other's paths.
#[test]
fn the_check_sees_members_that_are_taken_for_one() {
    for _ in 0..20 {
        let folder = folder();
        if violations(&crowd(folder.path(), 10, |_| "worker".to_owned())) > 0 {
            return;
        }
    }
    panic!("members of one id never held what another held: the check is blind");
}
