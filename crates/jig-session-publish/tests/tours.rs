//! Two recorded tours of real Pi sessions, replayed through the bridge's translation and the publisher's reducer. The
//! documents they end in must agree with the session files that Pi wrote meanwhile, which are read here by other code.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;

use jig_session_agents::pi::{AskIdle, Bridge, Effects};
use jig_session_publish::reduce::{Memory, Occurrence, Order, Session};
use jig_session_schema::bridge::ToHost;
use jig_session_schema::event::Event;
use jig_session_schema::status::{StateFrom, Status};
use jig_session_schema::time::Timestamp;
use serde_json::{Value, json};

/// A recorded tour: its lines and the session files beside them.
struct Tour {
    bridge: &'static str,
    files: [&'static str; 3],
}

macro_rules! tour {
    ($version:literal) => {
        Tour {
            bridge: include_str!(concat!("fixtures/pi/", $version, "/bridge.jsonl")),
            files: [
                include_str!(concat!("fixtures/pi/", $version, "/session-0.jsonl")),
                include_str!(concat!("fixtures/pi/", $version, "/session-1.jsonl")),
                include_str!(concat!("fixtures/pi/", $version, "/session-2.jsonl")),
            ],
        }
    };
}

const TOURS: [(&str, Tour); 2] = [("1.6.0", tour!("1.6.0")), ("0.73.1", tour!("0.73.1"))];

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn to_host(line: &Value) -> ToHost {
    ToHost::read_value(line.clone()).unwrap().value
}

/// One run of a session: from the line that began it to the `bye` that ended it; a reload goes on with it.
struct Run {
    id: String,
    document: Value,
    /// Every state the document went through.
    states: Vec<String>,
    ended: Timestamp,
}

struct Player {
    bridge: Bridge,
    session: Option<Session>,
    states: Vec<String>,
    kept: bool,
    runs: Vec<Run>,
}

impl Player {
    fn apply(&mut self, told: &Effects, at: Timestamp) {
        for event in &told.events {
            let at = event.at().unwrap_or(at);
            match event {
                Event::Session(begun) if !begun.cwd.as_deref().unwrap_or_default().is_empty() && !self.kept => {
                    let mut status = Status::new();
                    status.session.clone_from(&begun.session);
                    status.agent = Some(jig_session_schema::status::Agent::new());
                    status.started_at = Some(at);
                    status.state_at = Some(at);
                    self.session = Some(Session { status, memory: Memory::default() });
                }
                Event::End(end) => {
                    self.kept = end.keep == Some(true);
                    if !self.kept {
                        let session = self.session.take().unwrap();
                        self.runs.push(Run {
                            id: session.status.session.clone(),
                            document: Value::Object(session.status.to_document()),
                            states: std::mem::take(&mut self.states),
                            ended: at,
                        });
                    }
                    continue;
                }
                _ => {}
            }
            let occurrence = Occurrence { at, order: Order::Arrival, from: StateFrom::EVENT, repo: &|_| None };
            let session = self.session.as_mut().unwrap();
            session.apply(event, &occurrence);
            let attention = session.status.attention.as_ref().map(|attention| attention.reason.to_string());
            let state = attention.unwrap_or_else(|| session.status.state.to_string());
            if self.states.last() != Some(&state) {
                self.states.push(state);
            }
        }
    }
}

fn play(tour: &Tour) -> Vec<Run> {
    let mut player = Player { bridge: Bridge::new(), session: None, states: Vec::new(), kept: false, runs: Vec::new() };
    let mut idle_calls = Vec::new();
    for recorded in lines(tour.bridge) {
        let line = &recorded["line"];
        let at = Timestamp::from_epoch_ms(recorded["at"].as_i64().unwrap());
        if recorded["way"] == "out" {
            if line["fn"] == "ctx.isIdle" {
                idle_calls.push(line["id"].clone());
            }
            continue;
        }
        let told = if line["t"] == "return" {
            if !idle_calls.contains(&line["id"]) {
                continue;
            }
            player.bridge.idle(line["result"].as_bool())
        } else {
            player.bridge.line(&to_host(line))
        };
        if line["t"] == "hello" {
            assert_eq!(told.ask_idle, Some(AskIdle::Now));
            player.apply(&told, at);
            player.kept = false;
            // The recorded host did not ask here; a Pi that has just begun is idle.
            let told = player.bridge.idle(Some(true));
            player.apply(&told, at);
            continue;
        }
        player.apply(&told, at);
    }
    player.runs
}

/// What the session's file says, counted over its own lines up to a moment.
#[derive(Debug, Default, PartialEq)]
struct Filed {
    usage: BTreeMap<&'static str, u64>,
    /// In thousandths of a cent, so that sums can be compared.
    cost: Option<i64>,
    outputs: BTreeMap<String, (String, String)>,
    calls: BTreeMap<String, (String, bool)>,
    name: Option<String>,
    model: Option<String>,
}

const COUNTS: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];

fn micro(cost: f64) -> i64 {
    (cost * 1e6).round() as i64
}

fn filed(file: &str, until: Timestamp) -> Filed {
    let mut filed = Filed { usage: COUNTS.map(|name| (name, 0)).into(), ..Filed::default() };
    let mut cost = 0.0;
    let mut priced = true;
    let mut paths = BTreeMap::new();
    for entry in lines(file).filter(|entry| Timestamp::parse(entry["timestamp"].as_str().unwrap()).unwrap() <= until) {
        let message = &entry["message"];
        let usage = if entry["type"] == "message" { &message["usage"] } else { &entry["usage"] };
        let mut tokens = 0;
        for name in COUNTS {
            let count = usage[name].as_u64().unwrap_or_default();
            tokens += count;
            *filed.usage.get_mut(name).unwrap() += count;
        }
        let price = usage["cost"]["total"].as_f64().unwrap_or_default();
        priced &= tokens == 0 || price > 0.0;
        cost += price;
        match (entry["type"].as_str().unwrap(), message["role"].as_str().unwrap_or_default()) {
            ("session_info", _) => filed.name = entry["name"].as_str().map(str::to_owned),
            ("model_change", _) => filed.model = entry["modelId"].as_str().map(str::to_owned),
            (_, "assistant") => {
                for part in message["content"].as_array().unwrap().iter().filter(|part| part["type"] == "toolCall") {
                    paths.insert(part["id"].as_str().unwrap().to_owned(), part["arguments"]["path"].clone());
                }
            }
            (_, "toolResult") => {
                let (id, tool) = (message["toolCallId"].as_str().unwrap(), message["toolName"].as_str().unwrap());
                let failed = message["isError"] == true;
                filed.calls.insert(id.to_owned(), (tool.to_owned(), failed));
                let action = [("write", "written"), ("edit", "edited")].into_iter().find(|row| row.0 == tool);
                if let (false, Some((_, action)), Some(path)) = (failed, action, paths[id].as_str()) {
                    let at = entry["timestamp"].as_str().unwrap().to_owned();
                    filed.outputs.insert(format!("/home/dev/project/{path}"), (action.to_owned(), at));
                }
            }
            _ => {}
        }
    }
    filed.cost = priced.then(|| micro(cost));
    filed
}

fn published(document: &Value) -> Filed {
    let list = |name: &str| document[name].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Filed {
        usage: COUNTS.map(|name| (name, document["usage"][name].as_u64().unwrap())).into(),
        cost: document["usage"]["cost"].as_f64().map(micro),
        outputs: list("outputs")
            .iter()
            .map(|output| (text(&output["path"]), (text(&output["action"]), text(&output["at"]))))
            .collect(),
        calls: list("recent")
            .iter()
            .map(|call| (text(&call["id"]), (text(&call["tool"]), call["outcome"] != "ok")))
            .collect(),
        name: document["name"].as_str().map(str::to_owned),
        model: document["model"]["id"].as_str().map(str::to_owned),
    }
}

fn file_of<'a>(tour: &'a Tour, id: &str) -> &'a str {
    let of = |file: &&&str| lines(file).next().unwrap()["id"] == id;
    tour.files.iter().find(of).unwrap()
}

/// A run's document and what Pi's own file of that session said when the run ended.
fn compared(tour: &Tour) -> Vec<(Run, Filed)> {
    let with_file = |run: Run| {
        let filed = filed(file_of(tour, &run.id), run.ended);
        (run, filed)
    };
    play(tour).into_iter().map(with_file).collect()
}

#[test]
fn each_tour_is_four_runs_of_three_sessions() {
    for (version, tour) in &TOURS {
        let runs = play(tour);
        let ids: Vec<_> = runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids.len(), 4, "{version}");
        assert_eq!((ids[0] == ids[3], ids[0] == ids[1], ids[1] == ids[2]), (true, false, false), "{version}");
    }
}

#[test]
fn usage_agrees_with_the_session_files() {
    for (version, tour) in &TOURS {
        for (run, filed) in compared(tour) {
            let published = published(&run.document);
            assert_eq!((published.usage, published.cost), (filed.usage, filed.cost), "{version} {}", run.id);
        }
    }
}

#[test]
fn a_model_without_a_price_makes_the_cost_null() {
    for (version, tour) in &TOURS {
        let costs: Vec<_> = play(tour).iter().map(|run| run.document["usage"]["cost"].is_null()).collect();
        assert_eq!(costs, [true, false, false, true], "{version}");
    }
}

#[test]
fn outputs_agree_with_the_session_files() {
    for (version, tour) in &TOURS {
        for (run, mut filed) in compared(tour) {
            let mut published = published(&run.document);
            // A live call's time is its end, the transcript's is when its result was stored: a moment apart.
            for (path, (_, at)) in &mut published.outputs {
                let stored = &filed.outputs[path].1;
                let apart = Timestamp::parse(stored).unwrap().since_ms(Timestamp::parse(at).unwrap());
                assert!((-1000..1000).contains(&apart), "{version} {}: {at} {stored}", run.id);
                at.clear();
            }
            filed.outputs.values_mut().for_each(|(_, at)| at.clear());
            assert_eq!(published.outputs, filed.outputs, "{version} {}", run.id);
        }
    }
}

#[test]
fn name_and_model_agree_with_the_session_files() {
    for (version, tour) in &TOURS {
        for (number, (run, filed)) in compared(tour).into_iter().enumerate() {
            let published = published(&run.document);
            assert_eq!(published.model, filed.model, "{version} {number}");
            // A Pi before 0.80.3 tells a new name with its next `hello` only: here with the resume, the last run.
            let told = *version == "1.6.0" || number > 0;
            assert_eq!(published.name, filed.name.filter(|_| told), "{version} {number}");
        }
    }
}

#[test]
fn recent_agrees_with_the_session_files() {
    for (version, tour) in &TOURS {
        let (run, filed) = compared(tour).remove(0);
        assert_eq!(published(&run.document).calls, filed.calls, "{version}");
    }
}

#[test]
fn recent_tells_denied_and_broken_off_calls_from_failed_ones() {
    for (version, tour) in &TOURS {
        let run = play(tour).remove(0);
        let calls = run.document["recent"].as_array().unwrap();
        let outcome = |id: &str| {
            let call = calls.iter().find(|call| call["id"] == id).unwrap();
            (call["tool"].clone(), call["decision"].clone(), call["outcome"].clone())
        };
        assert_eq!(outcome("call_3_1"), (json!("bash"), json!("allow"), json!("error")), "{version}: it exited with 3");
        assert_eq!(outcome("call_5_0"), (json!("bash"), json!("deny"), json!("denied")), "{version}");
        assert_eq!(outcome("call_5_1"), (json!("nosuch"), Value::Null, json!("error")), "{version}: no such tool");
        assert_eq!(outcome("call_10_0"), (json!("bash"), json!("allow"), json!("aborted")), "{version}");
        let session = calls.iter().find(|call| call["tool"] == "session").unwrap();
        assert_eq!((&session["action"], &session["outcome"]), (&json!("join"), &json!("ok")), "{version}");
    }
}

#[test]
fn states_follow_the_runs() {
    for (version, tour) in &TOURS {
        let runs = play(tour);
        for (number, run) in runs.iter().enumerate() {
            // In the older tour the fork was left before its host had asked whether Pi is idle.
            let state = if *version == "0.73.1" && number == 1 { "busy" } else { "idle" };
            assert_eq!(run.document["state"], state, "{version} {number}");
            assert!(run.states.contains(&"busy".to_owned()), "{version}");
            assert_eq!(run.states[0], "idle", "{version}");
        }
        assert_eq!(
            runs[0].states.iter().filter(|state| *state == "error").count(),
            1,
            "{version}: one run ended in an error"
        );
    }
}

#[test]
fn context_is_the_models_own_count_and_its_parts_sum_to_it() {
    for (version, tour) in &TOURS {
        for run in play(tour) {
            let (context, detail) = (&run.document["context"], &run.document["contextDetail"]);
            assert_eq!((&detail["total"], &detail["basis"]), (&context["tokens"], &json!("measured")), "{version}");
            let parts = detail["parts"].as_array().unwrap();
            let sum: u64 = parts.iter().map(|part| part["tokens"].as_u64().unwrap()).sum();
            assert_eq!(json!(sum), context["tokens"], "{version}");
            assert_eq!(context["window"], 100_000, "{version}");
            assert!(parts.iter().any(|part| part["part"] == "system"), "{version}");
        }
    }
}

#[test]
fn the_rest_of_the_document_is_what_hello_told() {
    for (version, tour) in &TOURS {
        for run in play(tour) {
            let document = &run.document;
            assert_eq!(document["cwd"], "/home/dev/project", "{version}");
            assert_eq!(document["agentDir"], "/home/dev/.pi/agent", "{version}");
            assert!(document["transcript"].as_str().unwrap().ends_with(&format!("_{}.jsonl", run.id)), "{version}");
            assert_eq!(document["accepts"], json!(["tools", "skills", "reload"]), "{version}");
            assert_eq!(document["tools"]["total"].as_u64().unwrap(), if *version == "1.6.0" { 10 } else { 7 });
            assert!(document["thinking"].is_string(), "{version}");
        }
    }
}

#[test]
fn no_text_of_the_session_is_in_a_document() {
    for (version, tour) in &TOURS {
        for run in play(tour) {
            let text = run.document.to_string();
            for secret in ["forbidden", "sleep 30", "Let me see", "handoff", "echo", "A summary"] {
                assert!(!text.contains(secret), "{version}: {secret}");
            }
        }
    }
}

#[test]
fn the_last_switches_are_found_again() {
    for (version, tour) in &TOURS {
        let mut bridge = Bridge::new();
        for recorded in lines(tour.bridge).filter(|recorded| recorded["way"] == "in") {
            bridge.line(&to_host(&recorded["line"]));
        }
        let right = json!({"tools": {"bash": false}, "skills": {"pdf-tools": false}});
        assert_eq!(bridge.switches().map(|switches| Value::Object(switches.to_document())), Some(right), "{version}");
    }
}
