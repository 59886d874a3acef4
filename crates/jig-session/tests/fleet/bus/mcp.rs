use serde_json::{Value, json};

use super::town::{Peer, Town, texts};
use crate::common::{DEADLINE, Output, Running, finish};

/// A client that speaks JSON-RPC by hand.
struct Client {
    server: Running,
    next: u64,
}

impl Client {
    fn start(town: &Town) -> Self {
        let mut client = Self { server: town.env.start(&["mcp"]), next: 0 };
        let about = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = client.request("initialize", about);
        assert_eq!(answer["result"]["serverInfo"]["name"], "jig-session", "{answer}");
        let instructions = answer["result"]["instructions"].as_str().expect("instructions");
        assert!(instructions.chars().count() <= 600);
        client.server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.server.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        let answer = self.server.json_line();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": "session", "arguments": arguments }));
        let result = answer["result"].clone();
        assert!(result["structuredContent"].get("unread").is_some(), "unread is in every result: {answer}");
        result
    }

    fn done(&mut self, arguments: Value) -> Value {
        let result = self.call(arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].clone()
    }
}

#[test]
fn there_is_one_tool_and_its_hints_are_honest() {
    let town = Town::new();
    let mut client = Client::start(&town);
    let answer = client.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["name"], "session");
    let hints = &tools[0]["annotations"];
    let hints = ["readOnlyHint", "destructiveHint", "openWorldHint"].map(|hint| hints[hint].as_bool());
    assert_eq!(hints, [Some(false), Some(true), Some(false)]);
    let properties = tools[0]["inputSchema"]["properties"].as_object().expect("parameters");
    assert!(properties.contains_key("replyTo") && !properties.contains_key("reply_to"));
}

#[test]
fn loading_the_server_joins_nothing_and_acting_does() {
    // bus-v1 6, 13
    let town = Town::new();
    let mut client = Client::start(&town);
    client.request("tools/list", json!({}));
    let status = client.done(json!({ "action": "status" }));
    assert_eq!((&status["me"], &status["unread"]), (&Value::Null, &Value::Null));
    assert!(!town.env.state_dir().join("bus").exists());
    let claimed = client.done(json!({ "action": "claim", "paths": ["src"] }));
    assert_eq!(claimed["claimed"], json!(["src"]));
    assert_eq!(town.bus(&["status"]).json()["members"].as_array().map(Vec::len), Some(1));
}

#[test]
fn two_servers_of_one_client_are_two_members() {
    let town = Town::new();
    let (mut one, mut two) = (Client::start(&town), Client::start(&town));
    one.done(json!({ "action": "join", "label": "agent-one" }));
    one.done(json!({ "action": "claim", "paths": ["zone/x"] }));
    two.done(json!({ "action": "join", "label": "agent-two" }));
    let refused = two.call(json!({ "action": "claim", "paths": ["zone"] }));
    assert_eq!(refused["structuredContent"]["conflicts"][0]["label"], "agent-one", "{refused}");
    let status = one.done(json!({ "action": "status" }));
    assert_eq!((&status["me"]["label"], &status["me"]["claims"]), (&"agent-one".into(), &1.into()));
    two.done(json!({ "action": "send", "to": "agent-one", "text": "hi" }));
    assert_eq!(texts(&one.done(json!({ "action": "inbox" }))), ["hi"]);
    // Each is its own process: what one held is free when it has ended.
    drop(one);
    two.done(json!({ "action": "claim", "paths": ["zone"] }));
}

#[test]
fn the_whole_job_over_the_tool() {
    let town = Town::new();
    let other = town.peer("other");
    let mut client = Client::start(&town);
    let joined = client.done(json!({ "action": "join", "label": "core", "wake": true }));
    assert_eq!((&joined["label"], &joined["listen"]), (&"core".into(), &"wake".into()));
    town.as_peer(&other, &["send", "core", "hello"]).exits(0);
    town.as_peer(&other, &["claim", "docs"]).exits(0);
    let conflict = client.call(json!({ "action": "claim", "paths": ["docs/x"] }));
    assert_eq!(conflict["isError"], true);
    let conflict = &conflict["structuredContent"];
    assert_eq!((&conflict["code"], &conflict["unread"]), (&"conflict".into(), &1.into()));
    assert_eq!(conflict["conflicts"][0]["label"], "other");
    let got = client.done(json!({ "action": "inbox" }));
    assert_eq!((texts(&got), &got["unread"]), (vec!["hello".to_owned()], &0.into()));
    let id = got["messages"][0]["id"].clone();
    let sent = client.done(json!({ "action": "send", "to": "other", "text": "hi", "kind": "ask", "replyTo": id }));
    assert_eq!(sent["recipients"][0]["queued"], true);
    let answer = town.as_peer(&other, &["inbox"]).json();
    assert_eq!((&answer["messages"][0]["replyTo"], &answer["messages"][0]["from"]["label"]), (&id, &"core".into()));
    client.done(json!({ "action": "claim", "paths": ["src"], "reason": "mine" }));
    assert_eq!(client.done(json!({ "action": "release" }))["released"], json!(["src"]));
    assert_eq!(client.done(json!({ "action": "inbox" }))["messages"], json!([]), "read mail is gone");
}

#[test]
fn a_wrong_call_is_an_answer_and_no_protocol_error() {
    let town = Town::new();
    let mut client = Client::start(&town);
    for (arguments, words) in [
        (json!({ "action": "takeover" }), "one of status, send, inbox"),
        (json!({ "action": "claim", "paths": ["x"], "force": true }), "takes paths, reason"),
        (json!({}), "one of status"),
        (json!({ "action": "inbox", "limit": 51 }), "1 to 50"),
        (json!({ "action": "send", "to": "x" }), "needs \"text\""),
    ] {
        let result = client.call(arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}");
        assert_eq!(result["structuredContent"]["code"], "usage", "{result}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains(words)), "{result}");
    }
    client.done(json!({ "action": "status" }));
}

#[test]
fn what_cannot_be_read_is_answered_and_the_server_goes_on() {
    let town = Town::new();
    let mut client = Client::start(&town);
    let long = format!(r#"{{"jsonrpc":"2.0","id":"long","method":"ping","x":"{}"}}"#, "x".repeat(2 << 20));
    for (line, code, id) in [
        ("garbage", -32700, json!(null)),
        (r#"{"jsonrpc":"2.0","id":3"#, -32700, json!(3)),
        (&long, -32600, json!("long")),
        (r#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#, -32601, json!(4)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}"#, -32602, json!(5)),
        (r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"nope"}}"#, -32602, json!(6)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#, -32602, json!(7)),
    ] {
        client.server.send(line);
        let answer = client.server.json_line();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
    }
    // Half an emoji, as JavaScript writes one that was cut.
    let other = town.peer("other");
    client.server.send(
        r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"session","arguments":{"action":"send","to":"other","text":"cut \ud83d"}}}"#,
    );
    assert_eq!(client.server.json_line()["result"]["isError"], false);
    assert_eq!(texts(&town.as_peer(&other, &["inbox"]).json()), ["cut \u{fffd}"]);
}

/// A client that asks and never reads stops its server, which fills no memory.
#[test]
fn a_client_that_never_reads_has_a_bounded_effect() {
    let town = Town::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = town.env.jig_command(&["mcp"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::from(writer))
        .spawn()
        .expect("it starts");
    drop(command);
    let stdin = child.stdin.take().expect("a pipe");
    rustix::io::ioctl_fionbio(&stdin, true).expect("a pipe that does not wait");
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n".repeat(1000);
    let end = std::time::Instant::now() + DEADLINE;
    let (mut sent, mut refused) = (0, 0);
    while refused < 20 {
        match rustix::io::write(&stdin, line.as_bytes()) {
            Ok(count) => sent += count,
            Err(_) => {
                refused += 1;
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        assert!(sent < 4 << 20 && std::time::Instant::now() < end, "it goes on reading: {sent} bytes");
    }
    drop((stdin, reader));
    assert!(child.wait().expect("ours").success(), "it ends with its client");
}

#[test]
fn the_servers_own_session_ends_with_it() {
    let town = Town::new();
    let mut client = Client::start(&town);
    client.done(json!({ "action": "join", "label": "brief" }));
    client.server.end().exits(0);
    assert_eq!(town.bus(&["status"]).json()["members"], json!([]));
}

#[test]
fn an_agents_session_outlives_its_server() {
    // H21: the same id joins again, and keeps its claims.
    let town = Town::new();
    town.env.set("JIG_BUS_SESSION", "s-agent");
    let mut first = Client::start(&town);
    first.done(json!({ "action": "claim", "paths": ["src"] }));
    first.server.end().exits(0);
    let mut second = Client::start(&town);
    let status = second.done(json!({ "action": "status" }));
    assert_eq!((&status["me"]["id"], &status["me"]["claims"]), (&"s-agent".into(), &1.into()));
    assert_eq!(second.done(json!({ "action": "release" }))["released"], json!(["src"]));
}

#[test]
fn the_command_line_and_the_server_of_one_agent_are_one_member() {
    let town = Town::new();
    town.env.set("JIG_BUS_SESSION", "s-agent");
    let mut client = Client::start(&town);
    client.done(json!({ "action": "join", "label": "both" }));
    // Another process of the same agent: here both stand below this test's own process.
    let released = {
        client.done(json!({ "action": "claim", "paths": ["src"] }));
        town.bus(&["--as", "s-agent", "release", "src"]).exits(0).json()
    };
    assert_eq!(released["released"], json!(["src"]));
    assert_eq!(town.bus(&["status"]).json()["members"].as_array().map(Vec::len), Some(1));
}

#[test]
fn mail_whose_answer_never_left_is_still_there() {
    let town = Town::new();
    let other: Peer = town.peer("other");
    town.env.set("JIG_BUS_SESSION", "s-agent");
    let mut client = Client::start(&town);
    client.done(json!({ "action": "join", "label": "core" }));
    town.as_peer(&other, &["send", "core", "keep me"]).exits(0);
    drop(client);
    // A client that asks and is gone before it reads: stdout is closed under the server.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = town.env.jig_command(&["mcp"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::from(writer))
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let stdin = child.stdin.take().expect("a pipe");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(reader));
    let about =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let say = |mut pipe: &std::process::ChildStdin, line: Value| {
        std::io::Write::write_all(&mut pipe, format!("{line}\n").as_bytes())
    };
    say(&stdin, json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about })).expect("written");
    lines.next().expect("an answer").expect("a line");
    say(&stdin, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).expect("written");
    drop(lines);
    let inbox = json!({ "name": "session", "arguments": { "action": "inbox" } });
    let _ = say(&stdin, json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": inbox }));
    drop(stdin);
    let end = std::time::Instant::now() + DEADLINE;
    while child.try_wait().expect("ours").is_none() {
        assert!(std::time::Instant::now() < end, "the server outlives its client");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let got = town.bus(&["--as", "s-agent", "inbox"]).exits(0).json();
    assert_eq!(texts(&got), ["keep me"]);
}

/// The official Python client does the whole job in `tests/mcp/client.py`.
#[test]
fn an_independent_client_works() {
    let town = Town::new();
    let _other = town.peer("other");
    let Some(python) = python_with_sdk() else {
        crate::common::skipped("an_independent_client_works", "no Python here has the package mcp");
        return;
    };
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/client.py");
    let mut command = town.env.command(python);
    command.arg(script).arg(env!("CARGO_BIN_EXE_jig-session"));
    let Output { code, stdout, stderr } = finish(command, b"");
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    assert_eq!(stdout.trim(), "ok");
}

/// A Python that can import the SDK: the machine's, or the one below the target folder that `cargo xtask test` makes.
fn python_with_sdk() -> Option<std::path::PathBuf> {
    let target = std::path::Path::new(env!("CARGO_BIN_EXE_jig-session")).parent()?.parent()?;
    let candidates = [target.join("py/bin/python"), std::path::PathBuf::from("python3")];
    candidates.into_iter().find(|python| {
        let mut command = std::process::Command::new(python);
        command.args(["-c", "import mcp, mcp.client.stdio"]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
