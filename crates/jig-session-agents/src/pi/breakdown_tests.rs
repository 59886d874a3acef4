//! What fills a context, counted from lines.

use jig_session_schema::bridge::OffersChanged;
use serde_json::{Value, json};

use super::*;

/// These fields as a line of the bridge.
fn line(tag: &str, mut fields: Value) -> Value {
    fields["t"] = tag.into();
    fields
}

fn offers(breakdown: &mut Breakdown, fields: Value) {
    let line = OffersChanged::read_value(line("tools", fields)).unwrap().value;
    breakdown.offers(&line.tools, &line.active, &line.skills);
}

fn prompt(breakdown: &mut Breakdown, mut fields: Value) {
    fields["id"] = "1".into();
    breakdown.prompt(&Prompt::read_value(line("prompt", fields)).unwrap().value);
}

fn message(breakdown: &mut Breakdown, role: &str, custom_type: Option<&str>, mut sizes: Value) {
    sizes["event"] = "message_end".into();
    let event = BridgeEvent::read_value(line("event", sizes)).unwrap().value;
    breakdown.message(role, custom_type, (&event).into());
}

fn at() -> Option<Timestamp> {
    Some(Timestamp::from_epoch_ms(1_795_976_328_757))
}

fn filled() -> Breakdown {
    let mut breakdown = Breakdown::default();
    offers(
        &mut breakdown,
        json!({"tools": [{"name": "read", "source": "builtin"}, {"name": "grep", "source": "builtin"}],
        "active": ["read"], "skills": ["git-notes", "pdf-tools"]}),
    );
    message(
        &mut breakdown,
        "system",
        None,
        json!({"sections": {"preamble": 400, "tools": 100, "skills": 80,
        "project_context": 60, "cwd": 20}, "toolsAdded": [{"name": "read", "chars": 300}]}),
    );
    prompt(
        &mut breakdown,
        json!({"skills": [{"name": "git-notes", "path": "/s/g", "chars": 40}],
        "contextFiles": [{"path": "/p/AGENTS.md", "chars": 50}], "promptChars": 660}),
    );
    message(&mut breakdown, "user", None, json!({"chars": {"text": 40}}));
    message(&mut breakdown, "assistant", None, json!({"chars": {"text": 8, "thinking": 12, "toolCalls": 20}}));
    message(&mut breakdown, "toolResult", None, json!({"chars": {"toolResult": 60}}));
    message(&mut breakdown, "custom", Some("session-bus"), json!({"chars": {"text": 16}}));
    breakdown
}

fn parts(detail: &ContextDetail) -> Vec<(String, u64)> {
    detail.parts.iter().map(|part| (part.part.to_string(), part.tokens)).collect()
}

#[test]
fn an_estimate_is_a_quarter_of_the_characters() {
    let detail = filled().detail(at(), None, Some(1000)).unwrap();
    assert_eq!(detail.basis, Basis::Estimate);
    assert_eq!(detail.total, Some(279));
    let right = [
        ("system", 105),
        ("tools", 100),
        ("skills", 20),
        ("contextFiles", 15),
        ("user", 10),
        ("assistant", 2),
        ("thinking", 3),
        ("toolCalls", 5),
        ("toolResults", 15),
        ("jig", 4),
    ];
    assert_eq!(parts(&detail), right.map(|(part, tokens)| (part.to_owned(), tokens)));
}

#[test]
fn measured_parts_sum_to_the_agents_own_count() {
    for tokens in [1, 7, 279, 1000, 1_000_003, 9_007_199_254_740_991] {
        let detail = filled().detail(at(), Some(tokens), None).unwrap();
        assert_eq!((detail.total, detail.basis), (Some(tokens), Basis::Measured));
        assert_eq!(detail.parts.iter().map(|part| part.tokens).sum::<u64>(), tokens);
    }
}

#[test]
fn tools_skills_and_files_are_listed_with_what_is_off() {
    let detail = filled().detail(at(), None, None).unwrap();
    let tools: Vec<_> = detail.tools.iter().map(|tool| (tool.name.as_str(), tool.tokens, tool.on)).collect();
    assert_eq!(tools, [("read", 75, true), ("grep", 0, false)]);
    let skills: Vec<_> = detail.skills.iter().map(|skill| (skill.name.as_str(), skill.on)).collect();
    assert_eq!(skills, [("git-notes", true), ("pdf-tools", false)]);
    assert_eq!((detail.context_files[0].path.as_str(), detail.context_files[0].tokens), ("/p/AGENTS.md", 12));
}

#[test]
fn a_later_system_message_patches_sections_and_tools() {
    let mut breakdown = filled();
    message(
        &mut breakdown,
        "system",
        None,
        json!({"sections": {"skills": null, "preamble": 40}, "toolsRemoved": ["read"]}),
    );
    let detail = breakdown.detail(at(), None, None).unwrap();
    assert!(detail.parts.iter().all(|part| part.part != PartName::SKILLS));
    assert_eq!(detail.tools.iter().filter(|tool| tool.on).count(), 0);
}

#[test]
fn skills_and_files_keep_their_tokens_until_the_next_prompt() {
    let before = filled().detail(at(), Some(558), None).unwrap();
    let fresh = |skills: &[&str]| {
        let mut breakdown = Breakdown::default();
        offers(&mut breakdown, json!({"tools": [], "active": [], "skills": skills}));
        message(&mut breakdown, "system", None, json!({"sections": {"preamble": 400, "skills": 80}}));
        breakdown.kept(&before);
        breakdown
    };
    let skills = |detail: &ContextDetail| {
        detail.skills.iter().map(|skill| (skill.name.clone(), skill.path.clone(), skill.tokens)).collect::<Vec<_>>()
    };
    let mut breakdown = fresh(&["pdf-tools", "git-notes"]);
    let detail = breakdown.detail(at(), Some(100), None).unwrap();
    let right = [("pdf-tools".to_owned(), None, 0), ("git-notes".to_owned(), Some("/s/g".to_owned()), 20)];
    assert_eq!(skills(&detail), right);
    assert_eq!((detail.context_files[0].path.as_str(), detail.context_files[0].tokens), ("/p/AGENTS.md", 25));
    prompt(&mut breakdown, json!({"skills": [{"name": "git-notes", "path": "/s/g", "chars": 48}], "contextFiles": []}));
    let detail = breakdown.detail(at(), Some(100), None).unwrap();
    assert_eq!((skills(&detail)[1].2, detail.context_files.len()), (10, 0));
    for other in [&["git-notes"][..], &["git-notes", "other"], &["git-notes", "pdf-tools", "other"]] {
        let detail = fresh(other).detail(at(), Some(100), None).unwrap();
        assert!(detail.skills.iter().all(|skill| skill.tokens == 0) && detail.context_files.is_empty(), "{other:?}");
    }
}

#[test]
fn a_compaction_replaces_the_conversation() {
    let mut breakdown = filled();
    breakdown.compacted(80);
    let names: Vec<_> = parts(&breakdown.detail(at(), None, None).unwrap()).into_iter().map(|part| part.0).collect();
    assert_eq!(names, ["system", "tools", "skills", "contextFiles", "compaction"]);
}

#[test]
fn without_sections_the_prompts_length_tells_the_system_part() {
    let mut breakdown = Breakdown::default();
    assert!(breakdown.detail(at(), None, None).is_none());
    prompt(
        &mut breakdown,
        json!({"skills": [{"name": "a", "path": "/a", "chars": 40}],
        "contextFiles": [{"path": "/p", "chars": 60}], "promptChars": 500}),
    );
    let detail = breakdown.detail(at(), None, None).unwrap();
    let right = [("system", 100), ("skills", 10), ("contextFiles", 15)];
    assert_eq!(parts(&detail), right.map(|(part, tokens)| (part.to_owned(), tokens)));
}

/// The bridge's numbers are another program's: sums of them end at the largest number there is.
#[test]
fn sums_of_the_largest_numbers_overflow_nothing() {
    let mut breakdown = Breakdown::default();
    for _ in 0..3 {
        breakdown.summarised(u64::MAX);
        breakdown.add("user", u64::MAX);
    }
    for name in ["a", "b"] {
        breakdown.sections.insert(name.to_owned(), u64::MAX);
        breakdown.tools.insert(name.to_owned(), Tool { source: None, chars: u64::MAX, on: true });
    }
    for tokens in [None, Some(1), Some(u64::MAX)] {
        let detail = breakdown.detail(at(), tokens, Some(u64::MAX)).unwrap();
        assert!(detail.total.is_some());
    }
    breakdown.sections.clear();
    let named = || Named { name: "n".into(), path: None, chars: u64::MAX, on: true, kept: None };
    (breakdown.skills, breakdown.files, breakdown.prompt) = (vec![named(), named()], vec![named(), named()], u64::MAX);
    assert!(breakdown.detail(at(), None, None).is_some());
}
