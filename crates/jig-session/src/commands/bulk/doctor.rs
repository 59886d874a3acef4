//! The checks of `bulk doctor`, one pane.

use jig_session_panes::pane::Pane;
use jig_session_schema::bulk::EntryCheck;

fn check(name: &str, ok: bool, message: impl Into<String>) -> EntryCheck {
    let mut check = EntryCheck::new();
    name.clone_into(&mut check.check);
    check.ok = ok;
    check.message = message.into();
    check
}

/// Pane, agent, status file, composer, folder: each with what was found.
pub(super) fn checks(pane: &Pane) -> Vec<EntryCheck> {
    let facts = &pane.facts;
    let alive = match (facts.dead, facts.dead_status) {
        (false, _) => format!("process {} runs", facts.pid),
        (true, Some(code)) => format!("its process ended with status {code}"),
        (true, None) => "its process ended".to_owned(),
    };
    let agent = pane.agent.as_deref();
    let file = pane.row.as_ref().map_or_else(
        || "no status file of a live process in this pane; see jig-session hooks status".to_owned(),
        |row| format!("{} of process {}", row.path, row.pid.unwrap_or_default()),
    );
    let composer = if pane.classification.composer { "drawn" } else { "not drawn" };
    let folder = if facts.path.trim().is_empty() { &facts.start_path } else { &facts.path };
    let exists = std::path::Path::new(folder).is_dir();
    let folder_message = match (folder.trim().is_empty(), exists) {
        (true, _) => "tmux tells none".to_owned(),
        (false, true) => folder.clone(),
        (false, false) => format!("{folder} is no folder"),
    };
    vec![
        check("pane", !facts.dead, alive),
        check(
            "agent",
            agent.is_some(),
            agent.map_or_else(|| format!("none recognised in {:?}", facts.command), str::to_owned),
        ),
        check("status-file", pane.row.is_some(), file),
        check("composer", pane.classification.composer, composer),
        check("folder", exists, folder_message),
    ]
}
