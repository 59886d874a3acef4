//! What the bus answers, as a person reads it, at three widths. `INSTA_UPDATE=always` writes the snapshots anew.

use jig_session_schema::bus::{ListenMode, MessageKind, Sender};
use jig_session_schema::bus_result::{
    BusResult, ClaimResult, Conflict, HeldClaim, InboxResult, Member, MemberState, MessageView, Repo, StatusResult,
};
use jig_session_schema::status::AgentName;
use jig_session_schema::time::Timestamp;
use jig_session_view::bus;

const NOW: i64 = 1_800_000_000_000;

fn ago(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp::from_epoch_ms(NOW - seconds * 1000))
}

fn text(result: &BusResult, width: usize) -> String {
    bus::text(result, Timestamp::from_epoch_ms(NOW), Some(width), false)
}

fn member(id: &str, label: &str, agent: AgentName, state: MemberState) -> Member {
    Member::new().id(id.into()).label(label.into()).agent(agent).state(state).cwd("/home/dev/shop".into())
}

#[test]
fn status() {
    let me = member("019fb27c-6804-7fa5-8000-0000000000aa", "checkout", AgentName::CLAUDE, MemberState::Live)
        .listen(Some(ListenMode::Wake))
        .guard(true)
        .unread(2)
        .claims(1)
        .branch(Some("feature/orders-migration".into()))
        .beat_at(ago(5));
    let other =
        member("019fb27c-6804-7fa5-8000-0000000000bb", "payments-and-refunds", AgentName::PI, MemberState::Stale)
            .listen(Some(ListenMode::Next))
            .branch(Some("main".into()))
            .beat_at(ago(1_900));
    let gone = member("s-3", "日本語", AgentName::CODEX, MemberState::Gone).beat_at(ago(90_000));
    let claim = |path: &str, dir: bool, reason: &str| {
        let claim = HeldClaim::new().path(path.into()).dir(dir).session(me.id.clone()).label(me.label.clone());
        claim.state(MemberState::Live).since(ago(600)).reason(Some(reason.into()))
    };
    let claims = vec![
        claim("services/checkout/migrations", true, "rewriting the migration of the orders table, back in an hour"),
        claim("@deploy", false, ""),
    ];
    let status = StatusResult::new()
        .ok(true)
        .repo(Some(Repo::new().path("/home/dev/shop".into())))
        .members(vec![me.clone(), other, gone])
        .claims(claims)
        .overlaps(vec![("services".into(), "services/checkout".into())])
        .unreadable(1)
        .me(Some(me));
    let status = BusResult::Status(status);
    for width in [80, 120, 200] {
        insta::assert_snapshot!(format!("status_{width}"), text(&status, width));
    }
}

#[test]
fn an_empty_bus() {
    insta::assert_snapshot!("status_empty", text(&BusResult::Status(StatusResult::new().ok(true)), 80));
}

#[test]
fn inbox() {
    let message = |kind: MessageKind, from: &str, text: &str| {
        let sender = Sender::new().id("019fb27c-6804-7fa5-8000-0000000000bb".into()).label(from.into());
        MessageView::new().id("1800000000000-1".into()).kind(kind).from(sender).text(Some(text.into())).sent_at(ago(61))
    };
    let messages = vec![
        message(MessageKind::Ask, "payments", "Which version of the orders schema do you build against?"),
        message(MessageKind::Handoff, "docs", "The page is yours.\nTwo paragraphs are left:\n- limits\n- errors")
            .paths(vec!["docs/limits.md".into(), "docs/errors.md".into()]),
        message(MessageKind::Event, "ci\u{1b}[31m", "build 4711 is green").broadcast(true),
    ];
    let inbox = InboxResult::new().ok(true).messages(messages).remaining(3);
    insta::assert_snapshot!("inbox", text(&BusResult::Inbox(inbox), 80));
}

#[test]
fn a_claim_in_the_way() {
    let conflict = Conflict::new()
        .asked("services/checkout/api.rs".into())
        .path("services/checkout".into())
        .session("019fb27c-6804-7fa5-8000-0000000000aa".into())
        .label("checkout".into())
        .agent(AgentName::CLAUDE)
        .state(MemberState::Live)
        .since(ago(600))
        .reason(Some("rewriting the migration".into()));
    let claim = ClaimResult::new().conflicts(vec![conflict]);
    insta::assert_snapshot!("claim_conflict", text(&BusResult::Claim(claim), 80));
}
