//! Each row of the verdict table, provoked on a real folder and explained.

use std::fs::{self, File};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::common::{Live, TestEnvironment, now_ms, skipped, timestamp};

const OTHER_BOOT: &str = "00000000-0000-0000-0000-000000000000";

pub(crate) fn explained(env: &TestEnvironment, session: &str) -> Value {
    env.jig(&["explain", session, "--json"]).exits(0).json()
}

/// Fails unless the session's verdict, detail and rule are these.
#[track_caller]
fn is_judged(env: &TestEnvironment, live: &Live, verdict: &str, detail: Option<&str>, rule: &str) {
    let session = live.document["session"].as_str().expect("an id");
    let document = explained(env, session);
    says(&document, verdict, detail, rule);
    assert_eq!(document["identity"]["recorded"]["pid"], live.document["pid"], "{document:#}");
    let text = env.jig(&["explain", session]).exits(0).stdout;
    assert!(text.contains(verdict) && detail.is_none_or(|detail| text.contains(detail)), "{text}");
}

/// Fails unless the explanation gives this verdict, detail and rule.
#[track_caller]
pub(crate) fn says(explained: &Value, verdict: &str, detail: Option<&str>, rule: &str) {
    let row = &explained["session"];
    assert_eq!((row["verdict"].as_str(), row["detail"].as_str()), (Some(verdict), detail), "{explained:#}");
    let found = explained["identity"]["rule"].as_str().unwrap_or_default();
    assert!(found.starts_with(&format!("{rule}: ")), "{found}");
}

/// The hash of this machine's id, as the program observes it.
fn machine(env: &TestEnvironment, live: &Live) -> Option<String> {
    let session = live.document["session"].as_str().expect("an id");
    explained(env, session)["identity"]["observed"]["process"]["machine"].as_str().map(str::to_owned)
}

#[test]
fn same_start_is_alive_and_stopped_is_alive() {
    let env = TestEnvironment::new();
    let live = env.live("same", |_| ());
    is_judged(&env, &live, "alive", None, "7");
    let document = explained(&env, "same");
    assert_eq!(document["identity"]["observed"]["exists"], true);
    assert_eq!(document["identity"]["observed"]["process"]["start"], live.document["process"]["start"]);
    assert_eq!(document["identity"]["recorded"]["process"], live.document["process"]);
    assert_eq!(document["state"]["written"]["state"], "idle");
    assert_eq!(document["state"]["chosen"], document["state"]["written"]["from"]);

    live.process.signal("STOP");
    crate::common::eventually("the process stops", || {
        (explained(&env, "same")["session"]["detail"] == "stopped").then_some(())
    });
    is_judged(&env, &live, "alive", Some("stopped"), "7");
}

#[test]
fn another_start_is_reused() {
    let env = TestEnvironment::new();
    let live = env.live("other", |document| document["process"]["start"] = "linux:1".into());
    is_judged(&env, &live, "reused", None, "8");
}

#[test]
fn no_process_is_gone_and_so_is_a_zombie() {
    let env = TestEnvironment::new();
    let mut live = env.live("dead", |_| ());
    live.process.zombie();
    is_judged(&env, &live, "gone", Some("zombie"), "6");
    live.process.kill();
    is_judged(&env, &live, "gone", None, "5");
    assert_eq!(explained(&env, "dead")["identity"]["observed"]["exists"], false);
}

#[test]
fn another_pid_namespace_is_unknown() {
    let env = TestEnvironment::new();
    let live = env.live("inside", |document| document["process"]["pidNamespace"] = "1".into());
    is_judged(&env, &live, "unknown", Some("other pid namespace"), "4");
}

#[test]
fn another_boot_of_this_machine_is_gone_and_one_of_another_machine_unknown() {
    let env = TestEnvironment::new();
    let mut live = env.live("boot", |_| ());
    let here = machine(&env, &live);
    live.rewrite(|document| {
        document["process"]["bootId"] = OTHER_BOOT.into();
        document["process"]["machine"] = "0123456789abcdef".into();
    });
    is_judged(&env, &live, "unknown", Some("other machine"), "3b");
    // A machine without an id cannot be told from another one: then it stays unknown.
    let Some(here) = here else {
        return skipped("another boot of this machine is gone", "this machine has no id");
    };
    live.rewrite(|document| document["process"]["machine"] = here.into());
    is_judged(&env, &live, "gone", Some("rebooted"), "3a");
}

fn without_identity(document: &mut Value) {
    document.as_object_mut().expect("an object").remove("process");
}

/// A live process named by a document without identity that, stamps and file, is as old as `at`.
pub(crate) fn old_without_identity(env: &TestEnvironment, session: &str, at: SystemTime) -> Live {
    let live = env.live(session, |document| {
        without_identity(document);
        document["startedAt"] = timestamp(epoch_ms(at) - 60_000).into();
        document["updatedAt"] = timestamp(epoch_ms(at)).into();
    });
    let file = File::options().write(true).open(&live.path).expect("opened");
    file.set_modified(at).expect("the time can be set");
    live
}

#[test]
fn an_old_document_proves_only_that_a_younger_process_is_another() {
    let env = TestEnvironment::new();
    let mut live = env.live("old", without_identity);
    is_judged(&env, &live, "unverified", Some("no identity"), "11");

    live.rewrite(|document| {
        document["startedAt"] = timestamp(now_ms() - 180_000).into();
        document["updatedAt"] = timestamp(now_ms() - 120_000).into();
    });
    is_judged(&env, &live, "reused", None, "10");

    let live = old_without_identity(&env, "older", booted() - Duration::from_secs(120));
    is_judged(&env, &live, "gone", Some("rebooted"), "3c");
}

#[test]
fn no_pid_is_unknown() {
    let env = TestEnvironment::new();
    let live = env.live("nobody", |document| document["pid"] = Value::Null);
    is_judged(&env, &live, "unknown", Some("no identity"), "13");
}

#[test]
fn a_pid_that_no_process_can_have_is_never_alive() {
    let env = TestEnvironment::new();
    for pid in
        [json!(0), json!(-1), json!(4_294_967_295_u32), json!(2_147_483_648_u32), json!(1e300), json!("1"), json!([1])]
    {
        let live = env.live("absurd", |document| document["pid"] = pid.clone());
        let listed = env.jig(&["ls", "--all", "--json"]).exits(0).json();
        let verdict = listed["sessions"].get(0).map(|row| row["verdict"].clone());
        assert!(verdict.is_none_or(|verdict| verdict == "unknown"), "{pid}: {listed}");
        let doctor = env.jig(&["doctor", "--json"]).exits(1).json();
        let checks = doctor["checks"].as_array().expect("a list");
        let path = live.path.to_str().expect("UTF-8");
        let named = checks.iter().find(|check| check["path"] == path).unwrap_or_else(|| panic!("{pid}: {doctor:#}"));
        assert!(named["message"].to_string().contains("unparsable"), "{pid}: {named}");
        let pruned = env.jig(&["prune", "--json"]).exits(0).json();
        assert_eq!(pruned["removed"], json!([]), "{pid}");
        drop(live);
    }
}

#[test]
fn a_pid_above_the_largest_of_this_system_is_none_of_it() {
    let env = TestEnvironment::new();
    // The kernel's own bound is 2^22, so no setting makes this one possible.
    let live = env.live("beyond", |document| document["pid"] = json!(i32::MAX));
    is_judged(&env, &live, "unknown", Some("bad pid"), "1");
    assert_eq!(env.jig(&["prune", "--json"]).exits(0).json()["removed"], json!([]));
}

#[test]
fn a_shared_process_proves_no_session() {
    let env = TestEnvironment::new();
    let live = env.live("shared", |document| document["process"]["shared"] = true.into());
    is_judged(&env, &live, "unverified", Some("shared process"), "7");
}

#[test]
fn a_verdict_needs_no_age_and_no_hostname() {
    let env = TestEnvironment::new();
    env.set("HOSTNAME", "renamed").set("TZ", "Asia/Tokyo").set("LC_ALL", "de_DE.UTF-8");
    let live = env.live("steady", |document| {
        document["updatedAt"] = timestamp(now_ms() - 9 * 86_400_000).into();
        document["startedAt"] = timestamp(now_ms() + 86_400_000).into();
    });
    is_judged(&env, &live, "alive", None, "7");
}

#[test]
fn reading_changes_nothing() {
    let env = TestEnvironment::new();
    let mut dead = env.live("dead", |_| ());
    dead.process.kill();
    fs::write(env.sessions_dir().join(".x.json.tmp-1-00000000"), "half").expect("written");
    let before = names(&env);
    for command in [&["ls"][..], &["ls", "--all", "--json"], &["show", "dead"], &["explain", "dead"], &["paths"]] {
        env.jig(command).exits(0);
    }
    env.jig(&["doctor"]);
    assert_eq!(names(&env), before);
}

fn names(env: &TestEnvironment) -> Vec<String> {
    let entries = fs::read_dir(env.sessions_dir()).expect("listed");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("read").file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// When this run of the machine began.
pub(crate) fn booted() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(now_ms().unsigned_abs()) - uptime()
}

fn uptime() -> Duration {
    let text = fs::read_to_string("/proc/uptime").expect("read");
    let seconds: f64 = text.split(' ').next().and_then(|seconds| seconds.parse().ok()).expect("seconds");
    Duration::from_secs_f64(seconds)
}

fn epoch_ms(time: SystemTime) -> i64 {
    i64::try_from(time.duration_since(UNIX_EPOCH).expect("past 1970").as_millis()).expect("before the far future")
}
