//! JSON-RPC as MCP speaks it on stdio: one message a line. A line in, what it asks for out; what cannot be read still
//! has an answer, with its id wherever one can be read.

use std::fmt;

use jig_session_schema::json;
use jig_session_schema::read::ReadError;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

/// The line is no JSON.
pub(crate) const PARSE: i32 = -32700;
/// The JSON is no request.
pub(crate) const REQUEST: i32 = -32600;
/// Nobody knows the method.
pub(crate) const METHOD: i32 = -32601;
/// The method does not take these parameters.
pub(crate) const PARAMS: i32 = -32602;

/// What one message is.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    /// A call that waits for an answer.
    Request {
        /// The caller's id, echoed in the answer.
        id: Value,
        /// What is called.
        method: String,
        /// Its parameters; none are an empty object.
        params: Map<String, Value>,
    },
    /// What has no answer: a notification, or an answer to no request of ours.
    Silent,
    /// What is answered with an error.
    Wrong(Value),
}

/// A line as messages; `true` when they came as a list and are to be answered as one.
pub(crate) fn read(line: &[u8]) -> (Vec<Message>, bool) {
    match json::parse(line) {
        Ok(Value::Array(list)) if !list.is_empty() => (list.into_iter().map(message).collect(), true),
        Ok(value) => (vec![message(value)], false),
        Err(ReadError::TooLarge { limit }) => (vec![too_long(line, limit)], false),
        Err(error) => (vec![Message::Wrong(failure(&id_in(line), PARSE, &error.to_string()))], false),
    }
}

/// The answer to a line that is longer than is read; `line` is its beginning.
pub(crate) fn too_long(line: &[u8], limit: usize) -> Message {
    Message::Wrong(failure(&id_in(line), REQUEST, &format!("the message is longer than {limit} bytes")))
}

fn message(value: Value) -> Message {
    let Value::Object(mut message) = value else {
        return Message::Wrong(failure(&Value::Null, REQUEST, "a message is an object"));
    };
    let id = message.remove("id");
    let known = id.clone().filter(|id| id.is_string() || id.is_number());
    let wrong = |code, words: &str| Message::Wrong(failure(&known.clone().unwrap_or_default(), code, words));
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong(REQUEST, "\"jsonrpc\" is not \"2.0\"");
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return wrong(REQUEST, "\"method\" is not a text"),
        None if message.contains_key("result") || message.contains_key("error") => return Message::Silent,
        None => return wrong(REQUEST, "there is no \"method\""),
    };
    let id = match (id, known.clone()) {
        (None, _) => return Message::Silent,
        (Some(_), Some(id)) => id,
        (Some(_), None) => return wrong(REQUEST, "\"id\" is neither a text nor a number"),
    };
    match message.remove("params") {
        None | Some(Value::Null) => Message::Request { id, method, params: Map::new() },
        Some(Value::Object(params)) => Message::Request { id, method, params },
        Some(_) => wrong(PARAMS, "\"params\" is not an object"),
    }
}

/// An answer.
pub(crate) fn success(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// An answer that nothing was done, and why.
pub(crate) fn failure(id: &Value, code: i32, words: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": words } })
}

/// The id of a message that is not whole or no JSON further on; null when none can be read.
fn id_in(line: &[u8]) -> Value {
    struct Id<'a>(&'a mut Value);
    impl<'de> Visitor<'de> for Id<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                if key == "id" {
                    let id: Value = map.next_value()?;
                    *self.0 = if id.is_string() || id.is_number() { id } else { Value::Null };
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }
    let mut id = Value::Null;
    // What stands behind the id may be anything: only the id is wanted.
    let text = String::from_utf8_lossy(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
    let _ = serde_json::Deserializer::from_str(&text).deserialize_map(Id(&mut id));
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> (Value, Value) {
        match read(line.as_bytes()).0.remove(0) {
            Message::Wrong(answer) => (answer["error"]["code"].clone(), answer["id"].clone()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_its_id_where_there_is_one() {
        let deep =
            format!(r#"{{"jsonrpc":"2.0","id":6,"method":"ping","params":{}{}}}"#, "[".repeat(99), "]".repeat(99));
        let table: [(&str, i32, Value); 15] = [
            ("garbage", PARSE, json!(null)),
            ("\0\0", PARSE, json!(null)),
            (r#"{"jsonrpc":"2.0","id":3"#, PARSE, json!(3)),
            (r#"{"jsonrpc":"2.0","id":"a","method":}"#, PARSE, json!("a")),
            (&deep, PARSE, json!(6)),
            ("[]", REQUEST, json!(null)),
            ("5", REQUEST, json!(null)),
            (r#"{"id":9,"method":"ping"}"#, REQUEST, json!(9)),
            (r#"{"jsonrpc":"2.0","id":9}"#, REQUEST, json!(9)),
            (r#"{"jsonrpc":"2.0","id":9,"method":1}"#, REQUEST, json!(9)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, REQUEST, json!(null)),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, REQUEST, json!(null)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, REQUEST, json!(null)),
            (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[]}"#, PARAMS, json!(9)),
            (r#"{"jsonrpc":"2.0","id":-7,"method":"tools/call","params":"x"}"#, PARAMS, json!(-7)),
        ];
        for (line, expected, id) in table {
            assert_eq!(code(line), (json!(expected), id), "{line}");
        }
        let Message::Wrong(answer) = too_long(br#"{"jsonrpc":"2.0","id":4,"params":{"text":"xxx"#, 9) else { panic!() };
        assert_eq!(answer["id"], 4);
    }

    #[test]
    fn what_is_only_odd_is_mended() {
        let ids = [json!(9), json!(1.5), json!(12_345_678_901_234_567_890_u64), json!("x")];
        for id in ids {
            let line = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
            for line in [line.clone(), format!("\u{feff}{line}\r"), format!(" {line} ")] {
                let (messages, _) = read(line.as_bytes());
                assert_eq!(messages, [Message::Request { id: id.clone(), method: "ping".into(), params: Map::new() }]);
            }
        }
        let half = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"text":"cut \ud83d"}}"#;
        let (messages, _) = read(half);
        assert!(matches!(&messages[0], Message::Request { params, .. } if params["text"] == "cut \u{fffd}"));
        let (messages, _) = read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}");
        assert!(matches!(messages[0], Message::Request { .. }));
        for silent in [r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#] {
            assert_eq!(read(silent.as_bytes()), (vec![Message::Silent], false));
        }
        let (messages, list) = read(br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},5]"#);
        assert!(list && messages.len() == 2);
    }
}
