//! What an edit of somebody's configuration keeps, refuses and gives back.

use jig_session_settings::{ElementValue, Entry, Format, Presence, Refusal, install, status, uninstall};
use proptest::prelude::*;
use serde_json::{Value, json};

fn is_server(value: &Value) -> bool {
    value["command"].as_str().is_some_and(|command| command.ends_with("jig-session")) && value["args"] == json!(["mcp"])
}

fn ends_with(hook: &Value, mark: &str) -> bool {
    hook["command"].as_str().is_some_and(|command| command.ends_with(mark))
}

fn server(program: &str) -> Entry {
    Entry::Member {
        parents: vec!["mcpServers".into()],
        name: "jig-session".into(),
        value: json!({ "command": program, "args": ["mcp"] }),
        ours: is_server,
    }
}

fn hook(event: &str, matcher: Option<&str>) -> Entry {
    Entry::Element {
        list: vec!["hooks".into(), event.into()],
        value: ElementValue::Grouped {
            matcher: matcher.map(str::to_owned),
            hook: json!({ "type": "command", "command": "jig-session hook claude", "timeout": 10 }),
        },
        ours: ends_with,
        mark: "jig-session hook claude".into(),
    }
}

fn toml_server(program: &str) -> Entry {
    let Entry::Member { name, value, ours, .. } = server(program) else { unreachable!() };
    Entry::Member { parents: vec!["mcp_servers".into()], name, value, ours }
}

fn all() -> Vec<Entry> {
    vec![server("/bin/jig-session"), hook("Stop", None), hook("PreToolUse", Some("Edit|Write"))]
}

/// Texts that people have, and that an edit must give back byte for byte.
const FILES: &[&str] = &[
    "{}",
    "{}\n",
    "{ }\n",
    "{\"a\":1}",
    "{ \"a\": 1 }\n",
    "{\n  \"a\": 1\n}\n",
    "{\n  \"a\": 1,\n}\n",
    "{\n\t\"a\": 1\n}",
    "{\r\n    \"a\": 1\r\n}\r\n",
    "\u{feff}{\n  \"a\": 1\n}\n",
    "// mine\n{\n  // and mine\n  \"a\": [1, 2], // here too\n  /* and */ \"b\": {} /* here */\n  // at the end\n}\n// after it\n",
    "{\n\t\"big\": 123456789012345678901234567890,\n\t\"e\": 1E5, \"z\": 0.1000,\n\t\"esc\": \"caf\\u00e9 \\/\",\n\t\"dup\": 1, \"dup\": 2,\n\t\"hooks\": {}\n}\n",
    "{\"hooks\":{}}",
    "{\"hooks\":{\"Stop\":[]},\"mcpServers\":{}}",
    "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ { \"type\": \"command\", \"command\": \"mine\" } ] }\n    ]\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"mine\" } ] } ]\n  },\n  \"mcpServers\": { \"other\": { \"command\": \"x\" } }\n}",
    "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"z\":1}",
];

#[test]
fn taking_out_what_was_put_in_gives_back_every_byte() {
    for text in FILES {
        let with = install(Some(text), Format::Json, &all()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(status(Some(&with), Format::Json, &all()), Ok(Presence::Installed), "{with}");
        assert_eq!(
            install(Some(&with), Format::Json, &all()).as_deref(),
            Ok(with.as_str()),
            "once more changes nothing"
        );
        let back = uninstall(&with, Format::Json, &all()).unwrap();
        assert_eq!(back.as_deref(), Some(*text), "\n{with}");
    }
}

#[test]
fn every_byte_of_the_others_stays_in_the_edited_file() {
    for text in FILES {
        let with = install(Some(text), Format::Json, &all()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        // What was there is a subsequence of what is there now.
        let mut rest = with.chars();
        assert!(text.chars().all(|c| rest.any(|other| other == c)), "{text:?} became {with:?}");
    }
}

#[test]
fn a_file_made_for_us_goes_with_us_and_nothing_else_does() {
    for entries in [all(), vec![hook("Stop", None)], vec![server("/bin/jig-session")]] {
        let fresh = install(None, Format::Json, &entries).unwrap();
        assert_eq!(uninstall(&fresh, Format::Json, &entries), Ok(None), "{fresh}");
    }
    // Put in one by one, taken out together in another order.
    let mut text = install(None, Format::Json, &[hook("Stop", None)]).unwrap();
    text = install(Some(&text), Format::Json, &[server("/bin/jig-session")]).unwrap();
    assert_eq!(uninstall(&text, Format::Json, &all()), Ok(None));
    let fresh = install(None, Format::Toml, &[toml_server("/bin/jig-session")]).unwrap();
    assert_eq!(fresh, "[mcp_servers.jig-session]\ncommand = \"/bin/jig-session\"\nargs = [\"mcp\"]\n");
    assert_eq!(uninstall(&fresh, Format::Toml, &[toml_server("/bin/jig-session")]), Ok(None));
}

#[test]
fn an_older_entry_is_replaced_and_the_others_stay() {
    let text = "{\n  \"mcpServers\": {\n    \"a\": 1\n  }\n}\n";
    let old = install(Some(text), Format::Json, &[server("/old/jig-session"), hook("Stop", Some("x"))]).unwrap();
    let new = [server("/new/jig-session"), hook("Stop", None)];
    assert_eq!(status(Some(&old), Format::Json, &new), Ok(Presence::Outdated));
    let now = install(Some(&old), Format::Json, &new).unwrap();
    assert_eq!(
        (now.matches("/old/").count(), now.matches("/new/").count(), now.matches("hook claude").count()),
        (0, 1, 1)
    );
    assert_eq!(uninstall(&now, Format::Json, &new).unwrap().as_deref(), Some(text));
}

#[test]
fn an_entry_beside_anothers_in_one_group_leaves_the_group() {
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"},{"type":"command","command":"/old/jig-session hook claude"}]}]}}"#;
    let back = uninstall(text, Format::Json, &[hook("Stop", None)]).unwrap().unwrap();
    assert_eq!(back, r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#);
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let refusal = |text: &str| install(Some(text), Format::Json, &all()).unwrap_err();
    assert!(matches!(refusal("{\"hooks\": "), Refusal::Invalid { format: "JSON", .. }));
    assert!(matches!(refusal("{'a': 1}"), Refusal::Invalid { .. }));
    assert!(matches!(refusal(&"[".repeat(100_000)), Refusal::Invalid { .. }));
    for (text, message) in [
        ("[]", "the file is a list, not an object"),
        ("null", "the file is null, not an object"),
        ("\"text\"", "the file is a text, not an object"),
        ("{\"hooks\":null}", "hooks is null, not an object"),
        ("{\"hooks\":[]}", "hooks is a list, not an object"),
        ("{\"hooks\":{\"Stop\":{\"hooks\":[]}}}", "hooks.Stop is an object, not a list"),
        ("{\"mcpServers\":\"x\"}", "mcpServers is a text, not an object"),
        ("{\"hooks\":{},\"hooks\":{}}", "hooks occurs twice"),
        (
            "{\"mcpServers\":{\"jig-session\":{\"command\":\"mine\"}}}",
            "mcpServers.jig-session is configured there already, and not by this program",
        ),
    ] {
        assert_eq!(refusal(text).to_string(), message);
    }
}

/// TOML texts that an edit gives back, blank lines aside where the table was the last.
const TOML: &[&str] = &[
    "",
    "model = \"m\" # mine\n",
    "model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"x\"\n",
    "mcp_servers = { a = { command = \"x\" } }\n",
    "mcp_servers.other.command = \"x\"\nmodel = \"m\"\n",
    "[mcp_servers]\nother = { command = \"x\" }\n\n[tui]\n# a comment\nx = 1\n",
    "[\"mcp_servers\".'other']\ncommand = \"x\"\n\n# the end\n",
    "a = 1\r\n[mcp_servers.b]\r\ncommand = 'x'\r\n",
];

#[test]
fn a_toml_file_in_every_form_of_tables_stays_readable_and_comes_back() {
    let entries = [toml_server("/bin/jig-session")];
    for text in TOML {
        let with = install(Some(text), Format::Toml, &entries).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let parsed: toml_edit::DocumentMut = with.parse().unwrap_or_else(|error| panic!("{with}: {error}"));
        let command = parsed["mcp_servers"]["jig-session"]["command"].as_str();
        assert_eq!(command, Some("/bin/jig-session"), "{with}");
        assert_eq!(install(Some(&with), Format::Toml, &entries).as_deref(), Ok(with.as_str()), "once more");
        assert_eq!(status(Some(&with), Format::Toml, &entries), Ok(Presence::Installed));
        let moved = install(Some(&with), Format::Toml, &[toml_server("/new/jig-session")]).unwrap();
        assert_eq!(moved, with.replace("/bin/", "/new/"));
        if !text.is_empty() {
            assert_eq!(uninstall(&with, Format::Toml, &entries).unwrap().as_deref(), Some(*text), "\n{with}");
        }
    }
}

#[test]
fn toml_that_is_broken_or_holds_anothers_entry_is_refused() {
    let entries = [toml_server("/bin/jig-session")];
    let refusal = |text: &str| install(Some(text), Format::Toml, &entries).unwrap_err();
    assert!(matches!(refusal("model = \n"), Refusal::Invalid { format: "TOML", .. }));
    assert_eq!(refusal("mcp_servers = 1\n").to_string(), "mcp_servers is a number or a date, not a table");
    for text in ["mcp_servers.jig-session.command = \"mine\"\n", "[mcp_servers.\"jig-session\"]\ncommand = 'mine'\n"] {
        assert!(matches!(refusal(text), Refusal::Foreign(_)), "{text}");
        assert_eq!(status(Some(text), Format::Toml, &entries), Ok(Presence::Absent));
    }
}

/// JSON values as people nest them.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("(hooks|mcpServers|Stop|jig-session|[a-z]{1,3})", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_object_keeps_its_values_and_comes_back(value in values(), one_line: bool) {
        let text = if one_line { value.to_string() } else { serde_json::to_string_pretty(&value).unwrap() };
        if let Ok(with) = install(Some(&text), Format::Json, &all()) {
            let parsed: Value = serde_json::from_str(&with).unwrap();
            for (key, old) in value.as_object().unwrap() {
                if key != "hooks" && key != "mcpServers" {
                    prop_assert_eq!(&parsed[key], old);
                }
            }
            let back = uninstall(&with, Format::Json, &all()).unwrap();
            prop_assert_eq!(back.as_deref(), Some(text.as_str()));
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,60}", braces in "[\\[\\]{}\",: a/*\n]{0,40}") {
        for text in [&text, &braces] {
            let _ = install(Some(text), Format::Json, &all()).map(|with| uninstall(&with, Format::Json, &all()));
            let _ = install(Some(text), Format::Toml, &[toml_server("x")]).map(|with| uninstall(&with, Format::Toml, &[toml_server("x")]));
        }
    }
}
