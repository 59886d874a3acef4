//! `jig-session host` with a bridge that answers as Pi's does: requests, reloads, crashes at every step, crowds.

mod pi;
mod quiet;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use self::pi::{Pi, SESSION};
use crate::common::{DEADLINE, TestEnvironment, eventually, names_in, replace};
use serde_json::{Value, json};

fn status_path(env: &TestEnvironment) -> PathBuf {
    env.sessions_dir().join(format!("{SESSION}.json"))
}

fn request_path(env: &TestEnvironment) -> PathBuf {
    env.requests_dir().join(format!("{SESSION}.json"))
}

fn status(env: &TestEnvironment) -> Option<Value> {
    serde_json::from_slice(&fs::read(status_path(env)).ok()?).ok()
}

fn request(env: &TestEnvironment, id: &str, fields: &Value) {
    let mut document = json!({ "schema": 1, "id": id });
    for (name, value) in fields.as_object().unwrap() {
        document[name] = value.clone();
    }
    replace(&request_path(env), document.to_string().as_bytes());
}

/// The answers to a request, newest first.
fn answers(env: &TestEnvironment, id: &str) -> Vec<Value> {
    let status = status(env).unwrap_or_default();
    let all = status["recentRequests"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|answer| answer["id"] == id).collect()
}

fn answered(env: &TestEnvironment, pi: &mut Pi<'_>, id: &str) -> Value {
    pi.until(&format!("the answer to {id}"), |_| answers(env, id).into_iter().next())
}

/// The host takes requests: one that asks for nothing this session has was answered.
fn ready(env: &TestEnvironment, pi: &mut Pi<'_>) {
    pi.until("the file", |_| status(env));
    let id = format!("ready-{}", pi.started);
    request(env, &id, &json!({ "tools": { "none": true } }));
    answered(env, pi, &id);
}

/// Nothing is left in the folder of requests.
fn until_clean(env: &TestEnvironment, pi: &mut Pi<'_>) {
    pi.until("an empty folder of requests", |_| {
        let left = names_in(&env.requests_dir()).len();
        (left == 0).then_some(())
    });
}

#[test]
fn a_switch_is_applied_kept_and_answered() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    ready(&env, &mut pi);
    request(
        &env,
        "a",
        &json!({ "tools": { "bash": false, "secret": true, "none": true }, "skills": { "skill-1": false } }),
    );
    let answer = answered(&env, &mut pi, "a");
    assert_eq!(
        answer["message"],
        "tools: bash off; skills: skill-1 off; ignored: no tool none; refused: tool secret is hidden"
    );
    assert_eq!(answer["ok"], true);
    assert_eq!(pi.active, ["read", "edit", "write"]);
    assert_eq!(pi.hidden, ["skill-1"]);
    let entry = &pi.entries.last().unwrap()["data"];
    assert_eq!(entry, &json!({ "tools": { "bash": false }, "skills": { "skill-1": false } }));
    assert_eq!(status(&env).unwrap()["tools"], json!({ "active": 3, "total": 6 }));
    until_clean(&env, &mut pi);
}

#[test]
fn a_tool_that_pi_keeps_on_is_answered_as_failed() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    ready(&env, &mut pi);
    request(&env, "a", &json!({ "tools": { "bash": false }, "reload": true }));
    // This Pi says yes to everything and does nothing.
    let end = Instant::now() + DEADLINE;
    while answers(&env, "a").is_empty() {
        assert!(Instant::now() < end, "no answer");
        pi.active = ["read", "bash", "edit", "write"].map(String::from).to_vec();
        pi.step();
    }
    let answer = answers(&env, "a").remove(0);
    assert_eq!(
        (answer["ok"].clone(), answer["message"].clone()),
        (json!(false), json!("failed: Pi keeps tool bash on"))
    );
    assert_eq!(pi.count("pi.sendUserMessage"), 0, "no reload follows a failure");
    assert!(pi.entries.is_empty(), "nothing is kept");
}

#[test]
fn a_bridge_that_never_answers_is_answered_for() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    ready(&env, &mut pi);
    // From here on nothing is obeyed.
    request(&env, "a", &json!({ "tools": { "bash": false } }));
    let answer = eventually("the answer", || answers(&env, "a").into_iter().next());
    assert_eq!(answer["message"], "failed: the agent did not answer in time");
}

#[test]
fn a_reload_waits_for_idle_and_is_marked_before_it_is_asked_for() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    ready(&env, &mut pi);
    pi.event("agent_start", &json!({}));
    pi.until("busy", |_| (status(&env)?["state"] == "busy").then_some(()));
    request(&env, "a", &json!({ "reload": true }));
    assert_eq!(answered(&env, &mut pi, "a")["reload"], "due");
    assert_eq!(pi.count("pi.sendUserMessage"), 0);
    // The host dies on the word: the reload is not asked for again.
    pi.kill_at = Some(|line| line["fn"] == "pi.sendUserMessage");
    pi.event("agent_settled", &json!({ "aborted": false }));
    pi.until("the host's end", |pi| pi.host_pid().is_none().then_some(()));
    assert_eq!(answers(&env, "a")[0]["reload"], "done", "on disk before the word goes out");
    pi.host("restart");
    request(&env, "b", &json!({ "tools": { "bash": false } }));
    answered(&env, &mut pi, "b");
    assert_eq!(pi.count("pi.sendUserMessage"), 0, "at most once");
}

#[test]
fn a_reload_that_is_due_outlives_its_host() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    ready(&env, &mut pi);
    pi.event("agent_start", &json!({}));
    pi.until("busy", |_| (status(&env)?["state"] == "busy").then_some(()));
    request(&env, "a", &json!({ "reload": true }));
    answered(&env, &mut pi, "a");
    pi.restart();
    pi.until("the reload", |pi| (pi.count("pi.sendUserMessage") == 1).then_some(()));
    assert_eq!(answers(&env, "a")[0]["reload"], "done");
}

#[test]
fn killed_at_any_line_a_request_is_answered_once_and_runs_once() {
    /// A name, and the line at which the host is killed.
    type Step = (&'static str, fn(&Value) -> bool);
    const STEPS: [Step; 5] = [
        ("before anything is called", |line| line["fn"] == "pi.getActiveTools"),
        ("before it is applied", |line| line["fn"] == "pi.setActiveTools"),
        ("after it was applied", |line| line["op"] == "skills"),
        ("before it is kept", |line| line["fn"] == "pi.appendEntry"),
        ("before the reload", |line| line["fn"] == "pi.sendUserMessage"),
    ];
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    for (number, (when, kill)) in STEPS.into_iter().enumerate() {
        let id = format!("r{number}");
        ready(&env, &mut pi);
        let (reloads, kept) = (pi.count("pi.sendUserMessage"), pi.count("pi.appendEntry"));
        let on = pi.active.iter().any(|name| name == "bash");
        pi.kill_at = Some(kill);
        request(&env, &id, &json!({ "tools": { "bash": !on }, "skills": { "skill-1": false }, "reload": true }));
        pi.until(when, |pi| pi.host_pid().is_none().then_some(()));
        pi.host("restart");
        let answer = answered(&env, &mut pi, &id);
        let interrupted = answer["message"] == "interrupted: it may have been applied in part";
        assert!(interrupted || answer["ok"] == true, "{when}: {answer}");
        assert_eq!(interrupted, number < 4, "{when}: {answer}");
        until_clean(&env, &mut pi);
        assert_eq!(answers(&env, &id).len(), 1, "{when}");
        assert!(pi.count("pi.sendUserMessage") <= reloads + 1, "{when}: reloaded twice");
        assert!(pi.count("pi.appendEntry") <= kept + 1, "{when}: kept twice");
    }
}

#[test]
fn the_ways_a_session_ends() {
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    ready(&env, &mut pi);
    let began = status(&env).unwrap()["startedAt"].clone();
    // A reload keeps the file for the next host.
    pi.send(&json!({ "t": "bye", "reason": "reload", "target": null }));
    pi.ended();
    assert!(status_path(&env).exists());
    pi.host("reload");
    ready(&env, &mut pi);
    assert_eq!(status(&env).unwrap()["startedAt"], began);
    // So does a host that is terminated: the bridge starts another.
    let host = pi.host_pid().unwrap();
    std::process::Command::new("kill").arg(host.to_string()).status().unwrap();
    pi.until("its end", |pi| (!PathBuf::from(format!("/proc/{}/exe", pi.host_pid().unwrap())).exists()).then_some(()));
    assert!(status_path(&env).exists());
    pi.restart();
    ready(&env, &mut pi);
    // The terminal's signals are Pi's.
    let host = pi.host_pid().unwrap();
    for signal in ["-INT", "-HUP"] {
        std::process::Command::new("kill").args([signal, &host.to_string()]).status().unwrap();
    }
    request(&env, "a", &json!({ "tools": { "bash": false } }));
    answered(&env, &mut pi, "a");
    // End of input without a word.
    pi.ended();
    assert!(!status_path(&env).exists());
    pi.host("startup");
    pi.until("the file", |_| status(&env));
    pi.send(&json!({ "t": "bye", "reason": "quit", "target": null }));
    pi.ended();
    assert!(!status_path(&env).exists());
}

/// Eight requesters, a host that is killed again and again: none is lost without a word, none is answered twice.
#[test]
fn a_crowd_of_requesters_and_a_host_that_crashes() {
    const REQUESTERS: usize = 8;
    const EACH: usize = 125;
    let env = TestEnvironment::new();
    let mut pi = Pi::start(&env);
    ready(&env, &mut pi);
    let folder = env.requests_dir();
    // Whoever waits for an answer does not ask again, so that no answer can leave the list of 32 unseen.
    let seen: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    let running = Arc::new(AtomicUsize::new(REQUESTERS));
    let requesters: Vec<_> = (0..REQUESTERS)
        .map(|who| {
            let (folder, seen, running) = (folder.clone(), Arc::clone(&seen), Arc::clone(&running));
            thread::spawn(move || {
                let lost = requester(who, EACH, &folder, &seen);
                running.fetch_sub(1, Ordering::SeqCst);
                lost
            })
        })
        .collect();
    let (mut steps, mut kills) = (0_u32, 0);
    while running.load(Ordering::SeqCst) > 0 {
        steps += u32::from(pi.step());
        if steps > 400 {
            steps = 0;
            kills += 1;
            pi.restart();
        }
        let status = status(&env).unwrap_or_default();
        let mut seen = seen.lock().unwrap();
        for answer in status["recentRequests"].as_array().into_iter().flatten() {
            let (id, message) =
                (answer["id"].as_str().unwrap().to_owned(), answer["message"].as_str().unwrap().to_owned());
            if !id.starts_with('q') {
                continue;
            }
            let known = seen.entry(id).or_insert_with(|| message.clone());
            assert_eq!(*known, message, "an answer never changes");
        }
    }
    let lost: Vec<String> = requesters.into_iter().flat_map(|requester| requester.join().unwrap()).collect();
    assert!(lost.is_empty(), "never answered: {lost:?}");
    assert!(kills > 0, "the host was killed");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), REQUESTERS * EACH);
    let odd: Vec<_> = seen
        .values()
        .filter(|message| !message.starts_with("tools: ") && !message.starts_with("interrupted"))
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert!(pi.count("pi.appendEntry") <= REQUESTERS * EACH, "a request ran twice");
    until_clean(&env, &mut pi);
}

/// Publishes its requests one after the other without ever overwriting one; gives the ids that got no answer.
fn requester(who: usize, each: usize, folder: &std::path::Path, seen: &Mutex<HashMap<String, String>>) -> Vec<String> {
    let path = folder.join(format!("{SESSION}.json"));
    let mut lost = Vec::new();
    for number in 0..each {
        let id = format!("q{who}-{number}");
        let document = json!({ "schema": 1, "id": id, "tools": { "bash": number % 2 == 0 } }).to_string();
        let temporary = folder.join(format!(".{SESSION}.json.tmp-{}-{who:04x}{number:04x}", std::process::id()));
        let end = Instant::now() + 2 * DEADLINE;
        loop {
            // A link is published only where there is no file, and its file is whole.
            fs::write(&temporary, &document).unwrap();
            let published = fs::hard_link(&temporary, &path).is_ok();
            let _ = fs::remove_file(&temporary);
            if published {
                break;
            }
            assert!(Instant::now() < end, "no room for {id}");
            thread::sleep(Duration::from_millis(1));
        }
        loop {
            if seen.lock().unwrap().contains_key(&id) {
                break;
            }
            if Instant::now() > end {
                lost.push(id);
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    lost
}
