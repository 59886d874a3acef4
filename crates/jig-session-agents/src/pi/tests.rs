//! What the recorded tours do not hold, line by line.

use serde_json::{Value, json};

use super::*;

fn hello() -> Value {
    json!({"t": "hello", "protocol": 1, "reason": "startup", "pid": 4242, "cwd": "/p", "session": "s-1",
        "file": "/h/.pi/agent/sessions/--p--/x_s-1.jsonl", "name": null, "model": {"provider": "a", "id": "m",
        "name": "M", "contextWindow": 1000}, "thinking": "low", "active": ["read"], "skills": ["notes", "pdf"],
        "tools": [{"name": "read", "exposure": "direct"}, {"name": "secret", "exposure": "hidden"}]})
}

fn begun() -> Bridge {
    let mut bridge = Bridge::new();
    hear(&mut bridge, &hello());
    bridge.idle(Some(true));
    hear(&mut bridge, &page(Vec::new(), false));
    bridge
}

fn page(entries: Vec<Value>, more: bool) -> Value {
    json!({"t": "entries", "id": 1, "entries": entries, "more": more})
}

fn event(name: &str, data: Value) -> Value {
    json!({"t": "event", "event": name, "at": 1_795_976_328_757_i64, "data": data})
}

/// A line as the contract reads it; one that it does not know stands for nothing.
fn hear(bridge: &mut Bridge, line: &Value) -> Effects {
    ToHost::read_value(line.clone()).map(|read| bridge.line(&read.value)).unwrap_or_default()
}

/// The events of these lines as documents, without the fields that are the same for all.
fn told(bridge: &mut Bridge, lines: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let events = lines.into_iter().flat_map(|line| hear(bridge, &line).events);
    let document = |event: Event| {
        let mut document = event.to_document();
        document.shift_remove("at");
        document.shift_remove("schema");
        Value::Object(document)
    };
    events.map(document).collect()
}

#[test]
fn hello_begins_the_session_with_all_it_tells() {
    let mut line = hello();
    line["pi"] = "1.6.0".into();
    line["name"] = "billing".into();
    let events = told(&mut Bridge::new(), [line.clone()]);
    let session = json!({"event": "session", "session": "s-1", "pid": 4242, "cwd": "/p", "agentDir": "/h/.pi/agent",
        "version": "1.6.0", "name": "billing", "transcript": "/h/.pi/agent/sessions/--p--/x_s-1.jsonl"});
    let model = json!({"event": "model", "model": {"provider": "a", "id": "m", "name": "M"}, "thinking": "low"});
    let capabilities = json!({"event": "capabilities",
        "tools": [{"name": "read", "on": true}, {"name": "secret", "on": false, "hidden": true}],
        "skills": [{"name": "notes", "on": true}, {"name": "pdf", "on": true}], "accepts": ["tools", "skills", "reload"]});
    assert_eq!(events, [session, model, capabilities]);
    line["agentDir"] = "/other".into();
    assert_eq!(told(&mut Bridge::new(), [line])[0]["agentDir"], "/other");
}

#[test]
fn hello_without_a_file_clears_the_transcript_and_leaves_the_agents_folder() {
    let mut line = hello();
    line["file"] = Value::Null;
    let session = &told(&mut Bridge::new(), [line])[0];
    assert_eq!((session.get("transcript"), session.get("agentDir")), (Some(&Value::Null), None));
}

#[test]
fn a_session_that_was_kept_busy_and_is_idle_has_been_aborted() {
    for (idle, events) in [(Some(true), 1), (Some(false), 0), (None, 0)] {
        let mut bridge = Bridge::new();
        assert_eq!(hear(&mut bridge, &hello()).ask_idle, Some(AskIdle::Now));
        let told = bridge.idle(idle);
        assert_eq!(told.events.len(), events, "{idle:?}");
        if events > 0 {
            let document = Value::Object(told.events[0].to_document());
            assert_eq!(document, json!({"event": "turn", "phase": "settled", "outcome": "aborted"}));
        }
    }
    let mut bridge = Bridge::new();
    hear(&mut bridge, &hello());
    hear(&mut bridge, &event("agent_start", json!({})));
    assert_eq!(bridge.idle(Some(true)), Effects::default(), "a turn has begun since it was asked");
}

#[test]
fn a_host_that_began_anew_in_a_turn_tells_its_dialogs() {
    let mut bridge = Bridge::new();
    hear(&mut bridge, &hello());
    bridge.idle(Some(false));
    assert_eq!(told(&mut bridge, [event("ui_prompt_start", json!({}))]).len(), 1);
}

#[test]
fn mcp_tools_are_server_and_tool() {
    let start = |name: &str| {
        event("tool_execution_start", json!({"toolCallId": "c", "toolName": name, "args": {"action": "x"}}))
    };
    for (name, tool, action) in [
        ("mcp__github__list_prs", "github", json!("list_prs")),
        ("mcp__a__b__c", "a", json!("b__c")),
        ("mcp__", "mcp__", json!("x")),
        ("session", "session", json!("x")),
    ] {
        let events = told(&mut begun(), [start(name)]);
        assert_eq!((&events[0]["tool"], &events[0]["action"]), (&json!(tool), &action), "{name}");
    }
}

#[test]
fn only_a_good_edit_or_write_is_an_output() {
    for (tool, failed, action) in [
        ("write", false, Some("written")),
        ("edit", false, Some("edited")),
        ("write", true, None),
        ("read", false, None),
    ] {
        let data = json!({"toolCallId": "c", "toolName": tool, "isError": failed, "args": {"path": "a.rs"}});
        let events =
            told(&mut begun(), [event("tool_execution_start", data.clone()), event("tool_execution_end", data)]);
        let output = events.iter().find(|event| event["event"] == "output");
        assert_eq!(output.map(|output| output["action"].as_str().unwrap()), action, "{tool} {failed}");
        assert!(output.is_none_or(|output| output["path"] == "a.rs"));
    }
}

#[test]
fn a_decision_holds_nothing_but_the_contracts_words() {
    let bus = |data: Value| json!({"t": "bus", "event": "jig:decision", "at": 1, "data": data});
    let events = told(
        &mut begun(),
        [
            bus(json!({"toolCallId": "c", "decision": "ask", "answer": "always", "command": "rm -rf /", "rule": "r"})),
            bus(json!({"toolCallId": "c", "decision": "maybe"})),
            bus(json!({"decision": "allow"})),
            bus(json!({"toolCallId": "d", "decision": "allow", "answer": "x".repeat(129)})),
        ],
    );
    let right = [
        json!({"event": "decision", "id": "c", "decision": "ask", "answer": "always"}),
        json!({"event": "decision", "id": "d", "decision": "allow"}),
    ];
    assert_eq!(events, right);
}

fn call(id: &str) -> Value {
    event("tool_execution_start", json!({"toolCallId": id, "toolName": "bash"}))
}

fn ask(id: &str) -> Value {
    json!({"t": "bus", "event": "jig:decision", "data": {"toolCallId": id, "decision": "ask"}})
}

/// How the calls of a run that was broken off in its first call are reported at its end.
fn broken_off(version: &str, stop: &str) -> Vec<Value> {
    let mut bridge = Bridge::new();
    let mut line = hello();
    line["pi"] = version.into();
    hear(&mut bridge, &line);
    bridge.idle(Some(true));
    let failed = json!({"toolCallId": "c1", "toolName": "bash", "isError": true});
    let last = json!({"message": {"role": "assistant", "stopReason": stop}});
    let lines = [event("agent_start", json!({})), call("c1"), event("tool_execution_end", failed)];
    told(&mut bridge, lines.into_iter().chain([event("message_end", last)]));
    told(&mut bridge, [event("agent_settled", json!({"aborted": true}))])
}

#[test]
fn a_call_that_was_broken_off_is_told_as_such_by_every_pi() {
    let turn = json!({"event": "turn", "phase": "settled", "outcome": "aborted"});
    let end = json!({"event": "tool", "phase": "end", "id": "c1", "outcome": "aborted"});
    // Before 1.5.1 the message that ends such a run says that there was an error.
    for (version, stop) in [("1.6.0", "aborted"), ("1.3.0", "aborted"), ("1.3.0", "error")] {
        assert_eq!(broken_off(version, stop), [end.clone(), turn.clone()], "{version} {stop}");
    }
    for (version, stop) in [("1.6.0", "error"), ("1.6.0", "toolUse"), ("1.3.0", "toolUse")] {
        assert_eq!(broken_off(version, stop), std::slice::from_ref(&turn), "{version} {stop}");
    }
}

#[test]
fn a_dialog_in_a_turn_is_an_approval_or_a_question() {
    let start = event("ui_prompt_start", json!({"kind": "select"}));
    let cases = [
        (vec![call("c1"), ask("c1"), call("c2")], json!({"event": "attention", "reason": "approval", "id": "c1"})),
        (vec![call("c1"), call("c2")], json!({"event": "attention", "reason": "question", "id": "c2"})),
        (vec![], json!({"event": "attention", "reason": "question"})),
    ];
    for (before, right) in cases {
        let mut bridge = begun();
        told(&mut bridge, [event("agent_start", json!({}))].into_iter().chain(before));
        let events = told(&mut bridge, [start.clone(), event("ui_prompt_end", json!({}))]);
        assert_eq!(events, [right, json!({"event": "attention", "reason": null})]);
    }
}

#[test]
fn a_dialog_is_attention_in_a_turn_or_out_of_it_unless_it_is_our_own() {
    let (start, end) = (event("ui_prompt_start", json!({})), event("ui_prompt_end", json!({})));
    let asks = json!({"event": "attention", "reason": "question"});
    let ends = json!({"event": "attention", "reason": null});
    assert_eq!(told(&mut begun(), [start.clone(), end.clone()]), [asks.clone(), ends.clone()]);
    // One that outlives a turn's beginning and its end still waits.
    let (begins, settles) = (event("agent_start", json!({})), event("agent_settled", json!({})));
    let turn = |phase: &str| json!({"event": "turn", "phase": phase});
    let settled = json!({"event": "turn", "phase": "settled", "outcome": "ok"});
    let events = told(&mut begun(), [start.clone(), begins, settles, end.clone()]);
    assert_eq!(events, [asks.clone(), turn("start"), asks.clone(), settled, asks.clone(), ends]);
    // One that was open before the host knew whether Pi is idle.
    let mut bridge = Bridge::new();
    hear(&mut bridge, &hello());
    told(&mut bridge, [start.clone()]);
    assert_eq!(
        bridge.idle(Some(true)).events.last().map(|event| Value::Object(event.to_document())),
        Some(asks.clone())
    );
    let mut own = start;
    own["own"] = true.into();
    assert_eq!(told(&mut begun(), [own, end]), Vec::<Value>::new());
}

#[test]
fn a_component_waits_for_whom_it_says() {
    let shown = |blocked: Value| {
        let mut line = event("ui_prompt_start", json!({"kind": "custom"}));
        line["blocked"] = blocked;
        told(&mut begun(), [line, event("ui_prompt_end", json!({}))])
    };
    let attention = |reason: &str| {
        vec![json!({"event": "attention", "reason": reason}), json!({"event": "attention", "reason": null})]
    };
    assert_eq!(shown(json!("question")), attention("question"));
    assert_eq!(shown(json!("permission")), attention("approval"));
    assert_eq!(shown(json!("auth")), attention("question"));
    // A loader: Pi works, and nobody is waited for.
    let work =
        [json!({"event": "turn", "phase": "start"}), json!({"event": "turn", "phase": "settled", "outcome": "ok"})];
    assert_eq!(shown(Value::Null), work);
}

#[test]
fn compactions_and_the_users_own_commands_are_work() {
    let busy = json!({"event": "turn", "phase": "start"});
    let idle = |outcome: &str| json!({"event": "turn", "phase": "settled", "outcome": outcome});
    let compaction = |data: Value, end: &str| {
        let lines = [event("session_before_compact", json!({"reason": "manual"})), event(end, data)];
        let events = told(&mut begun(), lines).into_iter().filter(|event| event["event"] == "turn");
        events.collect::<Vec<_>>()
    };
    assert_eq!(compaction(json!({}), "session_compact"), [busy.clone(), idle("ok")]);
    assert_eq!(compaction(json!({"aborted": true}), "session_compact_failed"), [busy.clone(), idle("aborted")]);
    assert_eq!(compaction(json!({"aborted": false}), "session_compact_failed"), [busy.clone(), idle("error")]);
    let command = [event("user_bash", json!({})), event("user_bash_end", json!({}))];
    assert_eq!(told(&mut begun(), command), [busy.clone(), idle("ok")]);
    // Within a turn they change nothing; a command that outlives it keeps Pi at work.
    let lines = [
        event("agent_start", json!({})),
        event("user_bash", json!({})),
        event("session_before_compact", json!({})),
        event("session_compact_failed", json!({})),
        event("agent_settled", json!({})),
        event("user_bash_end", json!({})),
    ];
    assert_eq!(told(&mut begun(), lines), [busy.clone(), idle("ok"), busy, idle("ok")]);
    let failed = event("session_compact_failed", json!({}));
    assert_eq!(told(&mut begun(), [failed]), Vec::<Value>::new(), "one that never began");
}

#[test]
fn what_was_used_is_known_once_all_entries_have_come() {
    let entry = json!({"id": "a", "type": "message", "role": "assistant",
        "usage": {"input": 10, "output": 0, "totalTokens": 10, "cost": {"total": 0.5}}});
    let live = event("message_end", json!({"message": {"role": "assistant", "usage": entry["usage"]}}));
    let of = |total: u64, more: bool| {
        let mut line = page(vec![entry.clone()], more);
        line["total"] = total.into();
        line
    };
    let usage = |events: Vec<Value>| {
        let of_usage = events.into_iter().filter(|event| event["event"] == "usage");
        of_usage.map(|event| (event["mode"].clone(), event["input"].clone())).collect::<Vec<_>>()
    };
    let mut bridge = Bridge::new();
    hear(&mut bridge, &hello());
    // A message of before the first page is in the pages.
    assert_eq!(
        usage(told(&mut bridge, [live.clone(), of(2, true), live.clone(), of(2, false)])),
        [(json!("set"), json!(30))]
    );
    assert_eq!((bridge.missing(), usage(told(&mut bridge, [live.clone()]))), (None, vec![(json!("add"), json!(10))]));
    // Lines were lost: nothing is known until all has been counted anew.
    let lost = json!({"t": "lost", "lines": 3});
    assert_eq!(usage(told(&mut bridge, [lost, live.clone(), of(2, false), live.clone()])), []);
    assert_eq!(bridge.missing(), Some((1, 2)));
    assert_eq!(usage(told(&mut bridge, [of(1, false), live])), [(json!("set"), json!(10)), (json!("add"), json!(10))]);
}

#[test]
fn after_lost_lines_pi_is_asked_what_it_does() {
    let lost = json!({"t": "lost", "lines": 1});
    let ask = |before: &[&str], idle: bool| {
        let mut bridge = begun();
        for name in before {
            hear(&mut bridge, &event(name, json!({})));
        }
        assert_eq!(hear(&mut bridge, &lost).ask_idle, Some(AskIdle::Now));
        bridge.idle(Some(idle)).events.len()
    };
    let cases = [(&[][..], true, 0), (&[], false, 1), (&["agent_start"], true, 1), (&["agent_start"], false, 0)];
    for (before, idle, events) in cases {
        assert_eq!(ask(before, idle), events, "{before:?} {idle}");
    }
}

#[test]
fn subagents_are_counted_in_the_background() {
    let bus = |name: &str, id: &str| json!({"t": "bus", "event": format!("subagents:{name}"), "data": {"id": id, "type": "x"}});
    let events = told(
        &mut begun(),
        [
            bus("created", "a"),
            bus("started", "a"),
            bus("started", "b"),
            bus("completed", "a"),
            bus("failed", "b"),
            bus("failed", "b"),
        ],
    );
    let counts: Vec<_> = events.iter().map(|event| event["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 2, 1, 0]);
}

#[test]
fn bye_keeps_the_file_for_a_reload_only() {
    for (reason, keep) in [("reload", true), ("quit", false), ("fork", false), ("new", false)] {
        let events = told(&mut begun(), [json!({"t": "bye", "reason": reason})]);
        assert_eq!(events, [json!({"event": "end", "keep": keep})]);
    }
}

#[test]
fn a_message_with_tokens_and_no_cost_had_no_price() {
    let message = |cost: f64, tokens: u64| {
        event(
            "message_end",
            json!({"message": {"role": "assistant", "stopReason": "stop",
        "usage": {"input": tokens, "output": 0, "totalTokens": tokens, "cost": {"total": cost}}}}),
        )
    };
    assert_eq!(told(&mut begun(), [message(0.0, 0)]), Vec::<Value>::new());
    let events = told(&mut begun(), [message(0.5, 10), message(0.0, 10)]);
    let usage: Vec<_> =
        events.iter().filter(|event| event["event"] == "usage").map(|event| event.get("cost")).collect();
    assert_eq!(usage, [Some(&json!(0.5)), None]);
}

#[test]
fn entries_come_page_by_page_and_count_what_was_used_meanwhile() {
    let entry = |id: &str, tokens: u64| {
        json!({"id": id, "type": "message", "role": "assistant", "at": "2026-11-29T18:18:49.385Z",
        "usage": {"input": tokens, "output": 0, "totalTokens": tokens, "cost": {"total": 0.5}}})
    };
    let live = event(
        "message_end",
        json!({"message": {"role": "assistant", "usage": {"input": 5, "output": 0, "totalTokens": 5, "cost": {"total": 0.5}}}}),
    );
    let mut bridge = begun();
    assert_eq!(told(&mut bridge, [page(vec![entry("a", 10)], true)]), Vec::<Value>::new());
    told(&mut bridge, [live]);
    let events = told(&mut bridge, [page(vec![entry("b", 20)], false)]);
    let usage = json!({"event": "usage", "mode": "set", "input": 35, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": 1.5});
    assert_eq!(events[0], usage);
}

#[test]
fn a_session_without_entries_has_used_nothing() {
    let events = told(&mut begun(), [json!({"t": "entries", "id": 1, "entries": [], "more": false})]);
    let usage =
        json!({"event": "usage", "mode": "set", "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": 0.0});
    assert_eq!(events[0], usage);
    assert_eq!((&events[1]["tokens"], &events[1]["window"]), (&Value::Null, &json!(1000)));
}

#[test]
fn the_switches_of_the_first_page_are_the_last_ones_whatever_the_pages_hold() {
    let kept = |bash: bool| json!({"schema": 1, "tools": {"bash": bash}, "skills": {}});
    let entry = |bash: bool| json!({"type": "custom", "customType": "jig-session.switches", "data": kept(bash)});
    let mut bridge = Bridge::new();
    hear(&mut bridge, &hello());
    let first =
        json!({"t": "entries", "id": 1, "entries": [entry(false)], "more": true, "total": 2, "switches": kept(true)});
    hear(&mut bridge, &first);
    assert_eq!(bridge.switches().map(|switches| switches.to_document()["tools"]["bash"].clone()), Some(json!(true)));
    hear(&mut bridge, &json!({"t": "entries", "id": 1, "entries": [entry(true)], "more": false, "total": 2}));
    assert_eq!(bridge.switches().map(|switches| switches.to_document()["tools"]["bash"].clone()), Some(json!(true)));
}

#[test]
fn entries_off_the_branch_count_as_used_but_fill_no_context() {
    let entry = |tokens: u64, inside: bool| {
        json!({"id": "x", "type": "message", "role": "assistant", "inContext": inside,
        "usage": {"input": tokens, "output": 0, "totalTokens": tokens, "cost": {"total": 0.5}}})
    };
    let line = json!({"t": "entries", "id": 1, "entries": [entry(10, true), entry(99, false)], "more": false});
    let events = told(&mut begun(), [line]);
    assert_eq!((&events[0]["input"], &events[1]["tokens"]), (&json!(109), &json!(10)));
}

#[test]
fn a_model_with_another_window_changes_the_share_at_once() {
    let message = event(
        "message_end",
        json!({"message": {"role": "assistant",
        "usage": {"input": 500, "output": 0, "totalTokens": 500, "cost": {"total": 0.5}}}}),
    );
    let select =
        event("model_select", json!({"model": {"provider": "a", "id": "n", "name": "N", "contextWindow": 2000}}));
    let mut bridge = begun();
    told(&mut bridge, [message]);
    let events = told(&mut bridge, [select]);
    assert_eq!(events[0]["model"], json!({"provider": "a", "id": "n", "name": "N"}));
    assert_eq!(events[1], json!({"event": "context", "tokens": 500, "window": 2000}));
}

#[test]
fn tools_and_skills_that_come_and_go_are_told() {
    let mut bridge = begun();
    let events = told(
        &mut bridge,
        [
            json!({"t": "tools", "tools": [{"name": "read"}, {"name": "session"}], "active": ["session"], "skills": ["notes"]}),
        ],
    );
    assert_eq!(events[0]["tools"], json!([{"name": "read", "on": false}, {"name": "session", "on": true}]));
    let events = bridge.switched(&["read".to_owned()], &["notes".to_owned()]);
    let document = Value::Object(events[0].to_document());
    assert_eq!(document["tools"], json!([{"name": "read", "on": true}, {"name": "session", "on": false}]));
    assert_eq!(document["skills"], json!([{"name": "notes", "on": false}]));
}

#[test]
fn an_old_pi_settles_by_its_idleness() {
    let begin = |version: Option<&str>| {
        let mut line = hello();
        line["pi"] = version.into();
        let mut bridge = Bridge::new();
        hear(&mut bridge, &line);
        bridge.idle(Some(true));
        hear(&mut bridge, &event("agent_start", json!({})));
        bridge
    };
    for (version, asks) in
        [(Some("0.73.1"), true), (Some("0.80.3"), true), (Some("0.80.4"), false), (Some("1.6.0"), false), (None, true)]
    {
        let told = hear(&mut begin(version), &event("agent_end", json!({})));
        assert_eq!(told.ask_idle.is_some(), asks, "{version:?}");
    }
    let mut bridge = begin(Some("0.73.1"));
    hear(&mut bridge, &event("agent_end", json!({})));
    assert_eq!(bridge.idle(Some(false)).ask_idle, Some(AskIdle::Soon), "it is asked again until it is idle");
    assert_eq!(bridge.idle(Some(true)).events.len(), 1);
    let mut line = event("agent_end", json!({}));
    line["idle"] = true.into();
    assert_eq!(hear(&mut begin(Some("0.73.1")), &line).events.len(), 1, "it says that it is idle already");
}

#[test]
fn lines_that_are_not_known_stand_for_nothing() {
    let mut bridge = begun();
    let odd = [
        json!(null),
        json!([]),
        json!({}),
        json!({"t": 7}),
        json!({"t": "later"}),
        json!({"t": "event"}),
        json!({"t": "event", "event": "message_end"}),
        json!({"t": "event", "event": "tool_execution_end", "data": 7}),
        json!({"t": "bus", "event": "subagents:created", "data": null}),
        json!({"t": "return", "id": 1, "result": true}),
    ];
    assert_eq!(told(&mut bridge, odd), Vec::<Value>::new());
}
