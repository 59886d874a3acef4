//! A fixed afternoon: six sessions in three folders, mail, claims and panes, some of them hostile.

use jig_session_board::{Board, Bus, Entry, Event, Id, Key, Opened, Panes, Sessions};
use jig_session_schema::bus::{ListenMode, MessageKind, Sender};
use jig_session_schema::bus_result::{HeldClaim, Member, MemberState, MessageView, Repo};
use jig_session_schema::live::{LiveRow, PaneStatus, StatusSource};
use jig_session_schema::row::{Detail, Row, Verdict};
use jig_session_schema::status::{
    Accept, Agent, AgentName, Answer, Attention, Basis, Child, ChildState, Context, ContextDetail, ContextPart,
    ContextSkill, ContextTool, Decision, Model, Outcome, Output, OutputAction, PartName, Reason, Recent, State, Status,
    Ticket, Usage, Workflow,
};
use jig_session_schema::time::Timestamp;
use jig_session_schema::words::Name;

pub(crate) const NOW: i64 = 1_796_000_000_000;

pub(crate) fn ago(minutes: i64) -> Option<Timestamp> {
    Some(Timestamp::from_epoch_ms(NOW - minutes * 60_000))
}

pub(crate) fn id(session: &str) -> Id {
    Id { host: None, session: session.to_owned() }
}

fn row(session: &str, agent: &str, name: &str, cwd: &str) -> Row {
    Row::new()
        .session(session.into())
        .agent(AgentName::new(agent).map(|name| Agent::new().name(name).version(Some("1.6.0".into()))))
        .name(Some(name.to_owned()).filter(|name| !name.is_empty()))
        .cwd(cwd.into())
        .model(Some(Model::new().id("opus-5".into()).name(Some("Opus 5".into()))))
        .verdict(Verdict::Alive)
        .started_at(ago(190))
        .state_at(ago(3))
        .path(format!("/home/dev/.local/state/jig/sessions/{session}.json"))
}

fn filled(row: Row, percent: f64, cost: f64, terminal: &str) -> Row {
    let tokens = (percent * 2000.0) as u64;
    row.context(Context::new().tokens(Some(tokens)).window(Some(200_000)).percent(Some(percent)))
        .usage(Some(Usage::new().input(Some(812_000)).output(Some(41_300)).cache_read(Some(702_000)).cost(Some(cost))))
        .terminal(Some(terminal.into()))
}

fn call(tool: &str, action: Option<&str>, outcome: Outcome) -> Recent {
    let call = Recent::new().tool(Name::new(tool).expect("a name")).outcome(outcome).at(ago(1));
    call.action(action.and_then(Name::new))
}

pub(crate) fn sessions() -> Sessions {
    let waits = |reason, minutes| Some(Attention::new().reason(reason).since(ago(minutes)));
    let in_group =
        |row: Row, group: &str, recent: Option<Recent>| Entry { group: group.into(), recent, ..Entry::of(row) };
    let billing = filled(row("01a-billing", "claude", "billing", "/home/dev/shop/api"), 71.2, 4.18, "%3")
        .state(State::Busy)
        .attention(waits(Reason::APPROVAL, 7));
    let flaky = filled(row("01b-flaky", "pi", "flaky test", "/home/dev/shop/web"), 18.0, 0.62, "%7")
        .attention(waits(Reason::QUESTION, 2));
    let migrate = filled(row("01c-migrate", "codex", "migrate to v2", "/home/dev/shop/api"), 88.4, 12.05, "t7")
        .state(State::Busy)
        .background(Some(2));
    let docs = filled(row("01d-docs", "gemini", "docs", "/home/dev/site"), 6.0, 0.05, "%9").state_at(ago(190));
    let stopped = filled(row("01e-stopped", "qwen", "", "/home/dev/site"), 40.0, 0.31, "%11")
        .state(State::Busy)
        .detail(Detail::new("stopped"));
    let hostile = row("01f-hostile", "pi", "ev\u{1b}[2Jil\u{202e}name 日本語", "/home/dev/sp\u{7}ike")
        .verdict(Verdict::Unverified)
        .state_at(ago(2880));
    let mut migrating = in_group(migrate, "/home/dev/shop", Some(call("bash", None, Outcome::Running)));
    migrating.children = vec![Child::new().id(Name::new("t1").expect("a name")).state(ChildState::BLOCKED)];
    let mut seen = in_group(docs, "/home/dev/site", Some(call("write", None, Outcome::Error)));
    seen.row.attention = Some(Attention::new().reason(Reason::FINISHED).since(seen.row.state_at));
    Sessions {
        at: Some(Timestamp::from_epoch_ms(NOW)),
        entries: vec![
            in_group(billing, "/home/dev/shop", Some(call("edit", None, Outcome::Ok))),
            in_group(flaky, "/home/dev/shop", Some(call("github", Some("list_issues"), Outcome::Ok))),
            migrating,
            seen,
            in_group(stopped, "/home/dev/site", None),
            Entry::of(hostile),
        ],
        problems: vec!["1 entry gives no session: jig-session doctor says why".into()],
        ..Sessions::default()
    }
}

pub(crate) fn bus() -> Bus {
    let member = |id: &str, label: &str, unread| {
        Member::new().id(id.into()).label(label.into()).state(MemberState::Live).beat_at(ago(0)).unread(unread)
    };
    let me = member("term-1", "dev", 1).listen(Some(ListenMode::Next)).agent(AgentName::new("human").expect("a name"));
    let claim = |path: &str, id: &str, label: &str, dir| {
        HeldClaim::new().path(path.into()).session(id.into()).label(label.into()).dir(dir).since(ago(31))
    };
    let mut bus = Bus { at: Some(Timestamp::from_epoch_ms(NOW)), ..Bus::default() };
    bus.status.members = vec![me.clone(), member("01a-billing", "billing-core", 2)];
    bus.status.me = Some(me);
    bus.status.repo = Some(Repo::new().key("shop-1".into()).path("/home/dev/shop".into()));
    bus.status.claims = vec![
        claim("api/billing", "01a-billing", "billing-core", true).reason(Some("the tax rules".into())),
        claim("docs/plan.md", "term-1", "dev", false),
    ];
    let from = Sender::new().id("01a-billing".into()).label("billing-core".into());
    let text = "The contract of v2 is in api/contract.md; \u{1b}]0;owned\u{7} please look at the two open questions \
                at its end before the tests are written, since the names of the fields depend on them.";
    bus.mail = vec![
        MessageView::new()
            .id("m-1".into())
            .kind(MessageKind::Handoff)
            .from(from)
            .preview(Some(text.into()))
            .paths(vec!["api/contract.md".into()])
            .sent_at(ago(12)),
    ];
    bus
}

pub(crate) fn panes() -> Panes {
    let pane = |id: &str, target: &str, status, reason: &str, agent: Option<&str>, line: &str| {
        LiveRow::new()
            .pane_id(id.into())
            .target(target.into())
            .status(status)
            .status_reason(reason.into())
            .status_source(StatusSource::Screen)
            .agent(agent.and_then(AgentName::new))
            .command("node".into())
            .project_slug("shop".into())
            .cwd(Some("/home/dev/shop".into()))
            .last_visible_line(Some(line.into()))
    };
    Panes {
        at: Some(Timestamp::from_epoch_ms(NOW)),
        rows: vec![
            pane("%3", "shop:0.1", PaneStatus::NeedsAttention, "a dialog asks", Some("claude"), "❯ 1. Yes"),
            pane("%7", "shop:1.0", PaneStatus::Active, "it works", Some("pi"), "esc to interrupt"),
            pane("%9", "site:0.0", PaneStatus::Idle, "a shell's prompt", None, "dev@box ~ $"),
        ],
        rules: [("%3".to_owned(), "claude: a numbered dialog".to_owned())].into(),
        trouble: None,
    }
}

pub(crate) fn opened() -> Opened {
    let tool = |name: &str, tokens, on| {
        ContextTool::new().name(name.into()).source(Some("builtin".into())).tokens(tokens).on(on)
    };
    let part = |part, tokens| ContextPart::new().part(part).tokens(tokens);
    let detail = ContextDetail::new()
        .basis(Basis::Measured)
        .window(Some(200_000))
        .total(Some(142_400))
        .parts(vec![
            part(PartName::SYSTEM, 12_400),
            part(PartName::TOOLS, 9_800),
            part(PartName::USER, 20_200),
            part(PartName::TOOL_RESULTS, 100_000),
        ])
        .tools(vec![tool("bash", 900, false), tool("edit", 700, true)])
        .skills(vec![ContextSkill::new().name("pdf-tools".into()).tokens(210).on(true)]);
    let output = |path: &str, repo: Option<&str>| {
        Output::new().path(path.into()).action(OutputAction::EDITED).at(ago(4)).repo(repo.map(str::to_owned))
    };
    let status = Status::new()
        .session("01a-billing".into())
        .ticket(Some(Ticket::new().key("APP-12".into()).title(Some("Invoices round wrongly".into()))))
        .workflow(Some(
            Workflow::new()
                .name(Some("feature".into()))
                .stages(["plan", "build", "review", "merge"].map(str::to_owned).to_vec())
                .current(Some("build".into()))
                .prs(vec![serde_json::json!({ "number": 41, "title": "Tax rules" })]),
        ))
        .outputs(vec![
            output("/home/dev/shop/api/src/tax.rs", Some("/home/dev/shop")),
            output("/home/dev/notes.md", None),
        ])
        .recent(vec![
            call("edit", None, Outcome::Running).decision(Some(Decision::Ask)),
            call("bash", None, Outcome::Denied).decision(Some(Decision::Deny)),
            call("github", Some("list_issues"), Outcome::Ok).decision(Some(Decision::Allow)),
        ])
        .accepts(Some(vec![Accept::TOOLS, Accept::SKILLS, Accept::RELOAD]))
        .last_request(Some(Answer::new().id("ctx-1".into()).ok(true).message("tool bash off".into()).at(ago(5))))
        .context_detail(Some(detail));
    Opened {
        id: id("01a-billing"),
        status: Some(Box::new(status)),
        evidence: vec![
            "verdict    alive".into(),
            "rule       7: a process has that id, and its start is the recorded one".into(),
            "state      approval, from hook:PermissionRequest".into(),
        ],
        branch: Some("tax".into()),
    }
}

/// The board of that afternoon.
pub(crate) fn board() -> Board {
    let mut board = Board::new("/home/dev");
    for event in [Event::Sessions(sessions()), Event::Bus(bus()), Event::Panes(panes())] {
        board.update(event);
    }
    board
}

/// The same after these keys: a letter is itself, and a word between angle brackets a key.
pub(crate) fn after(keys: &str) -> Board {
    let mut board = board();
    press(&mut board, keys);
    board
}

/// Presses keys; what the board wants looked at is shown to it as a program would.
pub(crate) fn press(board: &mut Board, keys: &str) -> Vec<jig_session_board::Action> {
    const NAMES: &[(&str, Key)] = &[
        ("<enter>", Key::Enter),
        ("<esc>", Key::Esc),
        ("<tab>", Key::Tab),
        ("<backtab>", Key::BackTab),
        ("<down>", Key::Down),
        ("<up>", Key::Up),
        ("<left>", Key::Left),
        ("<right>", Key::Right),
        ("<pgdn>", Key::PageDown),
        ("<pgup>", Key::PageUp),
        ("<bs>", Key::Backspace),
        ("<ctrl-c>", Key::Interrupt),
        ("<ctrl-z>", Key::Suspend),
    ];
    let mut actions = Vec::new();
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        let named = NAMES.iter().find_map(|(name, key)| Some((*key, rest.strip_prefix(name)?)));
        let (key, after) = named.unwrap_or((Key::Char(first), &rest[first.len_utf8()..]));
        rest = after;
        for action in board.update(Event::Key(key)) {
            if let jig_session_board::Action::Look(wanted) = &action
                && wanted.open == Some(id("01a-billing"))
            {
                board.update(Event::Opened(Box::new(opened())));
            }
            actions.push(action);
        }
    }
    actions
}
