//! Six sessions race for nested paths from one barrier: never two, always one.

use std::sync::{Barrier, Mutex};
use std::time::Duration;

use jig_session_bus::path::ClaimPath;
use jig_session_bus::{Bus, Claimed, Me, Moment, Release, System, World, find_repo, overlap};
use jig_session_liveness::Processes;
use jig_session_liveness::fake::Table;
use jig_session_schema::status::{AgentName, Process};

use crate::worker::{folder, full};

/// Every session is a process of its own, and all of them run.
struct AllAlive(System, Table);

impl World for AllAlive {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn processes(&self) -> &dyn Processes {
        &self.1
    }

    fn this(&self) -> (u32, String) {
        self.0.this()
    }
}

#[test]
fn six_racers_for_nested_paths_never_overlap_and_one_always_wins() {
    // bus-v1 111, 112
    const SETS: [&[&str]; 6] =
        [&["src"], &["src/api"], &["src/api/routes.ts"], &["docs", "src/api"], &["src/api", "zz"], &["src/ui", "src"]];
    let rounds = if full() { 1000 } else { 60 };
    let folder = folder();
    let place = folder.path().join("place");
    std::fs::create_dir(&place).expect("a folder");
    let barrier = Barrier::new(SETS.len());
    let held: Mutex<Vec<(usize, usize, String)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (racer, set) in SETS.iter().enumerate() {
            let (barrier, held, folder, place) = (&barrier, &held, folder.path(), &place);
            scope.spawn(move || {
                let world = AllAlive(System::new(), Table::new());
                let repo = find_repo(place, None).expect("a place");
                let bus = Bus::open(&folder.join("bus"), repo, &world).expect("the bus");
                let bus = bus.with_lock_wait(Duration::from_secs(60));
                let process = Process::new().start(Some(format!("linux:{racer}")));
                let pid = u32::try_from(racer + 1).expect("a pid");
                let id = format!("s-{racer}");
                let me = Me {
                    owner: Me::owner_of(&id, Some(pid), Some(&process), 0),
                    id,
                    agent: AgentName::PI,
                    model: None,
                    pid: Some(pid),
                    process: Some(process),
                    name: None,
                    source: jig_session_bus::who::IdSource::Given,
                    timer: true,
                };
                let asked: Vec<ClaimPath> =
                    set.iter().map(|path| ClaimPath { path: (*path).to_owned(), dir: true }).collect();
                for round in 0..rounds {
                    barrier.wait();
                    if let Claimed::Held { claimed, .. } = bus.claim(&me, &asked, None).expect("the bus works") {
                        held.lock().expect("unpoisoned").extend(claimed.into_iter().map(|path| (round, racer, path)));
                    }
                    barrier.wait();
                    bus.release(&me, &Release::All).expect("released");
                }
            });
        }
    });
    let held = held.into_inner().expect("unpoisoned");
    for round in 0..rounds {
        let winners: Vec<_> = held.iter().filter(|(when, ..)| *when == round).collect();
        assert!(!winners.is_empty(), "round {round}: nobody");
        for (i, (_, a, first)) in winners.iter().enumerate() {
            for (_, b, second) in &winners[i + 1..] {
                assert!(a == b || !overlap(first, second), "round {round}: {a} holds {first}, {b} holds {second}");
            }
        }
    }
}
