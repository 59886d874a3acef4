use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use jig_session_bus::{NotQueued, Outgoing, System};

use crate::worker::{BEAT, Dice, bus, die, folder, full, job_folder, me, start, variable, was_killed};

#[test]
fn a_crowd_of_senders_and_dying_readers_loses_nothing() {
    // bus-v1 68, 69, 71, 78, 79
    let (senders, each, inboxes, readers) = if full() { (64, 1000, 8, 4) } else { (5, 40, 2, 2) };
    let folder = folder();
    fs::create_dir(folder.path().join("notes")).expect("a folder");
    let end = Instant::now() + Duration::from_secs(if full() { 14_400 } else { 120 });
    // The inboxes belong to sessions of this process: they are there as long as it is.
    let system = System::new();
    let here = bus(folder.path(), &system);
    for inbox in 0..inboxes {
        here.ensure_joined(&me(&system, &format!("to-{inbox}"))).expect("joined");
    }
    let job = |kind: &str, name: String, more: u64| {
        [
            ("JIG_CROWD", folder.path().display().to_string()),
            ("JIG_CROWD_MAIL", kind.to_owned()),
            ("JIG_CROWD_NAME", name),
            ("JIG_CROWD_COUNT", more.to_string()),
            ("JIG_CROWD_INBOXES", inboxes.to_string()),
        ]
    };
    let mut sending: Vec<_> =
        (0..senders).map(|sender| start("mail::mail_worker", &job("send", format!("{sender}"), each))).collect();
    let begin = |inbox: usize, reader: usize, life: u64| {
        start("mail::mail_worker", &job("read", format!("{inbox}-{reader}"), life))
    };
    let mut reading: Vec<_> = (0..inboxes)
        .flat_map(|inbox| (0..readers).map(move |reader| (inbox, reader, 0)))
        .map(|(inbox, reader, life)| (inbox, reader, life, begin(inbox, reader, life)))
        .collect();
    // Readers that died come back while the senders are still at it: with nobody to read, full inboxes stay full.
    let (mut kills, mut beaten) = (0, Instant::now());
    while !reading.is_empty() {
        let was_sending = !sending.is_empty();
        if beaten.elapsed() > BEAT {
            // Their inboxes are theirs as long as they count as live.
            for inbox in 0..inboxes {
                here.beat(&me(&system, &format!("to-{inbox}"))).expect("beaten");
            }
            beaten = Instant::now();
        }
        sending.retain_mut(|child| match child.try_wait().expect("ours") {
            Some(status) => {
                assert!(status.success(), "a sender: {status}");
                false
            }
            None => true,
        });
        if was_sending && sending.is_empty() {
            fs::write(folder.path().join("all-sent"), "").expect("a file");
        }
        reading.retain_mut(|(inbox, reader, life, child)| match child.try_wait().expect("ours") {
            Some(status) if was_killed(status) => {
                kills += 1;
                *life += 1;
                *child = begin(*inbox, *reader, *life);
                true
            }
            Some(status) => {
                assert!(status.success(), "reader {inbox}-{reader}: {status}");
                false
            }
            None => true,
        });
        if Instant::now() > end {
            sending.iter_mut().chain(reading.iter_mut().map(|(.., child)| child)).for_each(|child| {
                let _ = child.kill();
            });
            panic!("{} senders and {} readers do not end", sending.len(), reading.len());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut sent: Vec<String> = Vec::new();
    let mut got: HashMap<String, usize> = HashMap::new();
    for entry in fs::read_dir(folder.path().join("notes")).expect("notes") {
        let path = entry.expect("an entry").path();
        let lines = fs::read_to_string(&path).expect("a file");
        let is_sender = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("send-"));
        if is_sender {
            let mut last: HashMap<&str, &str> = HashMap::new();
            for line in lines.lines() {
                let (inbox, id) = line.split_once(' ').expect("two words");
                let before = last.insert(inbox, id);
                assert!(before.is_none_or(|before| before < id), "one sender's messages are in order");
            }
            sent.extend(lines.lines().map(str::to_owned));
        } else {
            for line in lines.lines() {
                *got.entry(line.to_owned()).or_default() += 1;
            }
        }
    }
    assert_eq!(sent.len() as u64, senders * each);
    let lost: Vec<_> = sent.iter().filter(|line| !got.contains_key(*line)).collect();
    assert!(lost.is_empty(), "{} of {} lost, {kills} kills: {lost:?}", lost.len(), sent.len());
    let again: usize = got.values().map(|count| count - 1).sum();
    assert!(again <= kills, "{again} messages came twice, with {kills} kills");
    assert_eq!(got.len(), sent.len(), "nothing came that was not sent");
    let mut ids: Vec<&str> = sent.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), sent.len(), "no two messages share an id");
}

/// A worker's job; nothing without one.
#[test]
fn mail_worker() {
    let (Some(folder), Some(kind)) = (job_folder(), variable("JIG_CROWD_MAIL")) else { return };
    let (Some(name), Some(count)) = (variable("JIG_CROWD_NAME"), variable("JIG_CROWD_COUNT")) else { return };
    let inboxes: u64 = variable("JIG_CROWD_INBOXES").and_then(|inboxes| inboxes.parse().ok()).unwrap_or(1);
    let count: u64 = count.parse().expect("a number");
    let system = System::new();
    let bus = bus(&folder, &system);
    let notes = folder.join("notes").join(format!("{kind}-{name}"));
    // A reader that comes back goes on in its notes.
    let mut notes = fs::File::options().create(true).append(true).open(notes).expect("a file");
    let mut dice = Dice::new(name.bytes().fold(count + 11, |seed, byte| seed * 31 + u64::from(byte)));
    if kind == "send" {
        let me = me(&system, &format!("from-{name}"));
        bus.ensure_joined(&me).expect("joined");
        for message in 0..count {
            let to = format!("to-{}", dice.roll(inboxes));
            let text = format!("{name} {message}");
            // Who asks a full inbox all the time keeps its readers from the processor.
            let mut pause = Duration::from_millis(5);
            loop {
                let outgoing = Outgoing { to: &to, text: &text, kind: "message", ..Outgoing::default() };
                let sent = bus.send(&me, &outgoing).expect("the bus works");
                match sent.recipients[0].reason {
                    None => {
                        notes.write_all(format!("{to} {}\n", sent.id).as_bytes()).expect("noted");
                        break;
                    }
                    Some(NotQueued::InboxFull) => {
                        std::thread::sleep(pause);
                        pause = (pause * 2).min(Duration::from_secs(1));
                    }
                    Some(other) => panic!("{other:?}: {:?}", sent.recipients[0].error),
                }
            }
        }
        return;
    }
    let inbox = format!("to-{}", name.split('-').next().expect("a word"));
    loop {
        let all_sent = folder.join("all-sent").exists();
        let taken = bus.take(&inbox, 1).expect("the bus works");
        let Some(message) = taken.messages.first() else {
            // Mail that a dying reader holds is nobody's until that one is gone.
            if all_sent && bus.unread(&inbox).expect("counted") == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        let fate = dice.roll(60);
        if fate == 0 {
            die();
        }
        notes.write_all(format!("{inbox} {}\n", message.id).as_bytes()).expect("noted");
        if fate == 1 {
            die();
        }
        taken.confirm().expect("confirmed");
    }
}
