//! `king metrics`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{TestEnvironment, now_ms, timestamp};

const DAY_MS: i64 = 86_400_000;

fn call(env: &TestEnvironment, at_ms: i64, name: &str) -> PathBuf {
    let stamp = timestamp(at_ms);
    let folder = env.work().join("logs").join(&stamp[..10]);
    fs::create_dir_all(&folder).unwrap();
    let record = json!({ "summary": {
        "status": 200, "model": "omni-anthropic/m\u{1b}[31m", "timestamp": stamp, "duration": 1500,
        "tokens": { "in": 2000, "out": 30, "cacheRead": 1500 },
    }});
    let path = folder.join(format!("{name}.json"));
    fs::write(&path, record.to_string()).unwrap();
    path
}

fn with_logs() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.set("PI_KING_CALL_LOGS", env.work().join("logs"));
    fs::create_dir_all(env.work().join("logs")).unwrap();
    env
}

#[test]
fn without_a_folder_of_logs_there_is_no_band() {
    let env = TestEnvironment::new();
    let document = env.jig(&["king", "metrics", "--json"]).exits(0).json();
    assert_eq!((document.get("logs"), document.get("band")), (Some(&Value::Null), Some(&Value::Null)));
    assert!(env.jig(&["king", "metrics"]).exits(0).stdout.contains("PI_KING_CALL_LOGS is not set"));
    assert!(!env.state_dir().exists(), "nothing was measured, nothing is kept");
}

#[test]
fn the_figures_of_a_day_with_their_windows() {
    let env = with_logs();
    // Noon three days ago, and of the two days before it: no test run crosses that midnight.
    let noon = now_ms().div_euclid(DAY_MS) * DAY_MS - 3 * DAY_MS + DAY_MS / 2;
    for back in 0..3 {
        call(&env, noon - back * DAY_MS, "a");
    }
    call(&env, noon + 60_000, "b");
    let day = timestamp(noon)[..10].to_owned();
    let document = env.jig(&["king", "metrics", "--day", &day, "--json"]).exits(0).json();
    assert_eq!(
        (&document["zone"], &document["day"], &document["partial"]),
        (&json!("UTC"), &json!(day), &json!(false))
    );
    let band = &document["band"];
    assert_eq!((&band["calls"], &band["errors"], &band["p95Ms"]), (&json!(2), &json!(0), &json!(1500.0)));
    assert_eq!(
        band["tokens"],
        json!({ "in": 4000, "out": 60, "cacheRead": 3000, "cacheWrite": 0, "reasoning": 0, "net": 1000 })
    );
    assert_eq!((&band["cacheSharePercent"], &band["hourly"].as_array().unwrap().len()), (&json!(75), &13));
    assert_eq!(document["average"]["days"], 3);
    assert_eq!(document["lifetime"]["calls"], 4);
    assert!(document.to_string().find("cost").is_none(), "without prices there is no cost");

    let text = env.jig(&["king", "metrics", "--day", &day]).exits(0).stdout;
    for part in
        ["2 calls, 0 errors, p95 1.5 s", "in 4.0k out 60 net 1.0k cache 75 %", "7d in:", "avg (3 days): in 2.7k"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(text.contains(&format!("tok {day}: ")), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn today_is_named_so() {
    let env = with_logs();
    let text = env.jig(&["king", "metrics"]).exits(0).stdout;
    assert!(text.contains("no calls yet"), "{text}");
    call(&env, now_ms(), "a");
    let document = env.jig(&["king", "metrics", "--json"]).exits(0).json();
    // Should midnight pass between the two, the call is yesterday's.
    if document["band"].is_object() {
        assert_eq!(document["band"]["lastHour"], 1);
        let text = env.jig(&["king", "metrics"]).exits(0).stdout;
        assert!(text.contains("tok today: in 2.0k out 30 net 500") || text.contains("no calls yet"), "{text}");
    }
}

#[test]
fn rotated_logs_count_from_our_own_archive_and_pi_kings_cache_is_not_touched() {
    let env = with_logs();
    let noon = now_ms().div_euclid(DAY_MS) * DAY_MS - 5 * DAY_MS + DAY_MS / 2;
    let old = call(&env, noon, "a");
    let cache = env.home().join(".pi/king/usage-cache.json");
    fs::create_dir_all(cache.parent().unwrap()).unwrap();
    fs::write(&cache, "{}").unwrap();
    let calls = || env.jig(&["king", "metrics", "--json"]).exits(0).json()["lifetime"]["calls"].clone();
    assert_eq!(calls(), 1);
    let archive = env.state_dir().join("king/usage.json");
    assert!(archive.exists());
    fs::remove_dir_all(old.parent().unwrap()).unwrap();
    assert_eq!(calls(), 1);
    assert_eq!(fs::read_to_string(&cache).unwrap(), "{}");

    // An archive that is not understood is left as it is, and said to be.
    fs::write(&archive, "{\"schema\":9}").unwrap();
    let out = env.jig(&["king", "metrics", "--json"]).exits(0);
    assert_eq!(out.json()["lifetime"]["calls"], 0);
    assert!(out.stderr.contains("usage.json"), "{}", out.stderr);
    assert_eq!(fs::read_to_string(&archive).unwrap(), "{\"schema\":9}");
}

#[test]
fn days_are_local() {
    let env = with_logs();
    // 20:00 UTC is 03:00 of the next day at UTC+7.
    let evening = now_ms().div_euclid(DAY_MS) * DAY_MS - 3 * DAY_MS + 20 * 3_600_000;
    call(&env, evening, "a");
    let days = |zone: &str| {
        env.set("TZ", zone);
        let document = env.jig(&["king", "metrics", "--json"]).exits(0).json();
        document["days"]
            .as_array()
            .unwrap()
            .iter()
            .map(|day| day["day"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(days("UTC"), [timestamp(evening)[..10].to_owned()]);
    assert_eq!(days("<+07>-7"), [timestamp(evening + DAY_MS)[..10].to_owned()]);
    assert_eq!(days("PST8PDT,M3.2.0,M11.1.0"), [timestamp(evening)[..10].to_owned()]);
    env.set("TZ", "No/Such/Zone");
    assert_eq!(env.jig(&["king", "metrics", "--json"]).exits(2).error()["error"]["code"], "usage");
}

#[test]
fn what_cannot_be_measured_is_an_error_with_its_path() {
    let env = with_logs();
    env.set("PI_KING_CALL_LOGS", env.work().join("no-such-folder"));
    let error = env.jig(&["king", "metrics", "--json"]).exits(1).error();
    assert!(error["error"]["path"].as_str().unwrap().ends_with("no-such-folder"), "{error}");
    assert_eq!(error["error"]["errno"], 2);
    env.set("PI_KING_CALL_LOGS", env.work().join("logs"));
    env.jig(&["king", "metrics", "--day", "yesterday"]).exits(2);
}
