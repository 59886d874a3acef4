//! A request as it was read: what is asked, in the order it was written.

use serde_json::{Map, Value};

/// The longest id a request may have, in characters.
const MAX_ID: usize = 128;

/// Request v1 after reading: unknown fields are gone, the order of the names is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The requester's name for this request; the answer carries it.
    pub id: String,
    /// Tools to switch, in the request's order.
    pub tools: Vec<(String, bool)>,
    /// Skills to switch, in the request's order.
    pub skills: Vec<(String, bool)>,
    /// The agent is to reload once it is idle.
    pub reload: bool,
}

/// A file that is no request this program can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotARequest {
    /// The id, as far as it could be read; else empty.
    pub id: String,
    /// What the answer says: `not a request` or `unsupported schema N`.
    pub message: String,
}

impl Asked {
    /// Reads a request file's bytes.
    ///
    /// # Errors
    /// [`NotARequest`] when the bytes are no request of schema 1.
    pub fn read(bytes: &[u8]) -> Result<Self, NotARequest> {
        let Ok(Value::Object(fields)) = serde_json::from_slice::<Value>(bytes) else {
            return Err(NotARequest { id: String::new(), message: "not a request".into() });
        };
        let id = match fields.get("id") {
            Some(Value::String(id)) if !id.is_empty() && id.chars().count() <= MAX_ID => id.clone(),
            _ => String::new(),
        };
        let not = |message: &str| NotARequest { id: id.clone(), message: message.into() };
        match fields.get("schema").and_then(Value::as_u64) {
            Some(1) => {}
            Some(other) => return Err(not(&format!("unsupported schema {other}"))),
            None => return Err(not("not a request")),
        }
        if id.is_empty() {
            return Err(not("not a request"));
        }
        let switches = |name: &str| switches(fields.get(name)).ok_or_else(|| not("not a request"));
        let (tools, skills) = (switches("tools")?, switches("skills")?);
        let reload = match fields.get("reload") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(reload)) => *reload,
            Some(_) => return Err(not("not a request")),
        };
        Ok(Self { id, tools, skills, reload })
    }

    /// The file a requester publishes.
    #[must_use]
    pub fn document(&self) -> Vec<u8> {
        let mut fields = Map::new();
        fields.insert("schema".into(), 1.into());
        fields.insert("id".into(), self.id.clone().into());
        for (name, switches) in [("tools", &self.tools), ("skills", &self.skills)] {
            if !switches.is_empty() {
                let names: Map<_, _> = switches.iter().map(|(name, on)| (name.clone(), Value::Bool(*on))).collect();
                fields.insert(name.into(), Value::Object(names));
            }
        }
        if self.reload {
            fields.insert("reload".into(), true.into());
        }
        Value::Object(fields).to_string().into_bytes()
    }
}

fn switches(value: Option<&Value>) -> Option<Vec<(String, bool)>> {
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Object(names)) => names.iter().map(|(name, on)| Some((name.clone(), on.as_bool()?))).collect(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_names_is_the_requests() {
        let text = r#"{"schema":1,"id":"a","tools":{"write":true,"bash":false},"reload":true,"later":7}"#;
        let asked = Asked::read(text.as_bytes()).unwrap();
        assert_eq!(asked.tools, [("write".to_owned(), true), ("bash".to_owned(), false)]);
        assert!(asked.skills.is_empty() && asked.reload);
        assert_eq!(Asked::read(&asked.document()).unwrap(), asked);
    }

    #[test]
    fn what_is_no_request_is_answered_with_the_id_as_far_as_it_can_be_read() {
        let long = format!(r#"{{"schema":1,"id":"{}"}}"#, "x".repeat(129));
        for (text, id, message) in [
            ("", "", "not a request"),
            ("[1]", "", "not a request"),
            (r#"{"schema":1}"#, "", "not a request"),
            (r#"{"schema":1,"id":""}"#, "", "not a request"),
            (&long, "", "not a request"),
            (r#"{"id":"a"}"#, "a", "not a request"),
            (r#"{"schema":2,"id":"a"}"#, "a", "unsupported schema 2"),
            (r#"{"schema":3,"id":7}"#, "", "unsupported schema 3"),
            (r#"{"schema":1,"id":"a","tools":["bash"]}"#, "a", "not a request"),
            (r#"{"schema":1,"id":"a","tools":{"bash":"off"}}"#, "a", "not a request"),
            (r#"{"schema":1,"id":"a","reload":"yes"}"#, "a", "not a request"),
        ] {
            let error = Asked::read(text.as_bytes()).unwrap_err();
            assert_eq!((error.id.as_str(), error.message.as_str()), (id, message), "{text}");
        }
    }
}
