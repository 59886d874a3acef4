//! From a row to what leaves the machine, and back to a row that is another machine's word.

use jig_session_schema::fleet::FleetSession;
use jig_session_schema::row::{Detail, Reported, Row, Source, Verdict};
use jig_session_schema::time::Timestamp;

/// What a person lets leave the machine besides the list of fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sharing {
    /// The sessions' names.
    pub names: bool,
    /// The whole paths of their folders.
    pub paths: bool,
}

/// A row as it is shared. The list is complete on purpose: what a row gains stays at home until it is named here.
#[must_use]
pub fn shared(row: &Row, sharing: Sharing) -> FleetSession {
    let folder = row.cwd.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    FleetSession::new()
        .session(row.session.clone())
        .agent(row.agent.clone())
        .name(row.name.clone().filter(|_| sharing.names))
        .folder(folder.to_owned())
        .cwd(Some(row.cwd.clone()).filter(|_| sharing.paths))
        .state(row.state)
        .attention(row.attention.clone())
        .state_at(row.state_at)
        .model(row.model.clone())
        .context(row.context.clone())
        .usage(row.usage.clone())
        .started_at(row.started_at)
        .updated_at(row.updated_at)
        .verdict(row.verdict)
}

/// The row of what a machine shares. Nothing of it is proved here: the verdict is unknown, and whose word it is stands
/// beside it. With `online` false the machine is gone, and this is what it said last.
#[must_use]
pub fn row(machine: &str, topic: &str, session: &FleetSession, online: bool) -> Row {
    let at = Some(session.at).filter(|at| *at != Timestamp::default());
    let reported = Reported::new().by(machine.to_owned()).at(at).verdict(session.verdict);
    Row::new()
        .session(session.session.clone())
        .agent(session.agent.clone())
        .name(session.name.clone())
        .cwd(session.cwd.clone().unwrap_or_else(|| session.folder.clone()))
        .state(session.state)
        .attention(session.attention.clone())
        .state_at(session.state_at)
        .model(session.model.clone())
        .context(session.context.clone())
        .usage(session.usage.clone())
        .started_at(session.started_at)
        .updated_at(session.updated_at)
        .source(Source::Jig)
        .host(Some(machine.to_owned()))
        .path(topic.to_owned())
        .verdict(Verdict::Unknown)
        .detail(Some(if online { Detail::REPORTED } else { Detail::UNREACHABLE }))
        .reported(Some(reported))
}

#[cfg(test)]
mod tests {
    use jig_session_schema::status::State;

    use super::*;

    fn full() -> Row {
        Row::new()
            .session("s-1".to_owned())
            .name(Some("billing".into()))
            .cwd("/home/ann/secret/shop/".to_owned())
            .state(State::Busy)
            .terminal(Some("%3".into()))
            .pid(Some(7))
            .path("/home/ann/.local/state/x.json".to_owned())
            .verdict(Verdict::Alive)
    }

    #[test]
    fn only_the_listed_fields_leave_the_machine() {
        let text = |sharing| serde_json::Value::Object(shared(&full(), sharing).to_document()).to_string();
        let plain = text(Sharing::default());
        assert!(plain.contains("\"folder\":\"shop\"") && plain.contains("\"verdict\":\"alive\""), "{plain}");
        for private in ["billing", "secret", "/ann", "%3", "pid", "terminal", "path"] {
            assert!(!plain.contains(private), "{private} in {plain}");
        }
        let all = text(Sharing { names: true, paths: true });
        assert!(all.contains("billing") && all.contains("/home/ann/secret/shop"), "{all}");
    }

    #[test]
    fn a_row_of_another_machine_is_its_word() {
        let said = shared(&full(), Sharing::default()).at(Timestamp::from_epoch_ms(5));
        let there = row("box", "p/v1/box/s/s-1", &said, true);
        assert_eq!((there.verdict, there.detail.clone()), (Verdict::Unknown, Some(Detail::REPORTED)));
        let reported = there.reported.expect("whose word it is");
        assert_eq!((reported.by.as_str(), reported.verdict), ("box", Verdict::Alive));
        assert_eq!((there.cwd.as_str(), there.state, there.pid), ("shop", State::Busy, None));
        assert_eq!(row("box", "", &said, false).detail, Some(Detail::UNREACHABLE));
    }
}
