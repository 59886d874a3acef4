//! The table: one page a command.

/// What is said of one command.
pub(crate) struct Page {
    /// Its words, without the program's name; empty for the program itself.
    pub(crate) path: &'static str,
    /// Lines to type, and what they do.
    pub(crate) examples: &'static [(&'static str, &'static str)],
    /// The formats of what it prints with `--json`.
    pub(crate) formats: &'static [&'static str],
    /// Exit codes besides the usual ones, or in their place.
    pub(crate) exits: &'static [(u8, &'static str)],
}

const NO_SESSION: (u8, &str) = (4, "no session is named so, or several are");
const TIMEOUT: (u8, &str) = (124, "the time is up");
const BUSY: (u8, &str) = (75, "another process holds the lock: try again");
const HOOK: (u8, &str) = (0, "always: a hook disturbs no agent");

const fn page(
    path: &'static str,
    formats: &'static [&'static str],
    exits: &'static [(u8, &'static str)],
    examples: &'static [(&'static str, &'static str)],
) -> Page {
    Page { path, examples, formats, exits }
}

/// Every command, in the order of the help.
pub(crate) const PAGES: &[Page] = &[
    page(
        "",
        &[],
        &[],
        &[
            ("jig-session ls", "who waits, who works, who is idle"),
            ("jig-session wait api --for attention", "return when that session needs you"),
            ("jig-session hooks install claude", "have an agent publish its sessions"),
            ("jig-session demo", "see it work without any agent"),
        ],
    ),
    page(
        "ls",
        &["ls.v1"],
        &[],
        &[
            ("jig-session ls", "the live sessions, the longest wait first"),
            ("jig-session ls --state attention --here", "who waits for you in this repository"),
            ("jig-session ls --on build-1", "and the sessions of another machine"),
            ("jig-session ls --all --json", "everything, as one document"),
        ],
    ),
    page(
        "show",
        &["show.v1"],
        &[NO_SESSION],
        &[
            ("jig-session show billing", "by its name"),
            ("jig-session show . --json", "this terminal's session, its whole file"),
        ],
    ),
    page(
        "watch",
        &["watch.v1"],
        &[],
        &[
            ("jig-session watch", "a line for every change"),
            ("jig-session watch --notify --after 30s", "tell the desktop who waits and what is done"),
            ("jig-session watch --exec 'echo \"$JIG_NAME waits\"' --for attention", "run a command"),
            ("jig-session watch --program-status", "show all sessions at the terminal's tab"),
        ],
    ),
    page(
        "wait",
        &["wait.v1"],
        &[(1, "the session ended or is stopped, or it failed"), NO_SESSION, TIMEOUT],
        &[
            ("jig-session wait billing", "until its turn is over or it needs you"),
            ("jig-session wait billing --for idle --timeout 600", "ten minutes at most"),
            ("jig-session wait --here --for attention", "until any session of this repository needs you"),
        ],
    ),
    page(
        "statusline",
        &["statusline.v1"],
        &[(0, "done, and also when nothing could be read")],
        &[
            ("jig-session statusline --format tmux", "for tmux, inside #() of status-right"),
            ("jig-session statusline --format waybar", "for a custom module of Waybar"),
            ("jig-session statusline -q", "how many wait for you"),
        ],
    ),
    page(
        "seen",
        &["seen.v1"],
        &[NO_SESSION],
        &[
            ("jig-session seen billing", "its finished turn waits for nobody any more"),
            ("jig-session seen -q %3", "for a hook: no session is no error"),
        ],
    ),
    page(
        "metrics",
        &[],
        &[],
        &[
            ("jig-session metrics", "a document for Prometheus' textfile collector"),
            ("jig-session metrics --machine build-1", "under another name of this machine"),
        ],
    ),
    page(
        "explain",
        &["explain.v1"],
        &[NO_SESSION],
        &[
            ("jig-session explain billing", "why it counts as alive, gone or unknown"),
            ("jig-session explain . --json", "the same as a document"),
        ],
    ),
    page(
        "context",
        &["context.v1"],
        &[NO_SESSION],
        &[
            ("jig-session context billing", "what fills its context, part by part"),
            ("jig-session context . --json", "the same as a document"),
        ],
    ),
    page(
        "paths",
        &["paths.v1"],
        &[],
        &[
            ("jig-session paths", "which folders are used, and which are there"),
            ("jig-session paths --json", "the same as a document"),
        ],
    ),
    page(
        "validate",
        &["validate.v1"],
        &[(1, "a file is not valid, or it failed")],
        &[
            ("jig-session validate status.json", "what is wrong with a document, if anything"),
            ("jig-session validate --format event.v1 --strict -", "the lines on stdin, as a writer must write them"),
        ],
    ),
    page(
        "schema",
        &[],
        &[(4, "no format has this name")],
        &[
            ("jig-session schema", "the names of all formats"),
            ("jig-session schema status.v1", "one format's JSON Schema"),
        ],
    ),
    page(
        "prune",
        &["prune.v1"],
        &[(1, "something that should go could not be removed, or it failed")],
        &[("jig-session prune --dry-run", "what crashed sessions left behind"), ("jig-session prune", "remove it")],
    ),
    page(
        "doctor",
        &["doctor.v1"],
        &[(1, "something is wrong, or it failed")],
        &[
            ("jig-session doctor", "what is wrong, and how to mend it"),
            ("jig-session doctor --json", "the same as a document"),
        ],
    ),
    page("demo", &[], &[], &[("jig-session demo", "a recorded session in a throw-away folder")]),
    page(
        "run",
        &[],
        &[
            (0, "the program's own exit code, whatever it is"),
            (126, "the program cannot be started"),
            (127, "there is no such program"),
        ],
        &[
            ("jig-session run claude", "a terminal of its own, what it reports published"),
            ("jig-session run --agent mine -- ./agent --fast", "any program, under a name of yours"),
        ],
    ),
    page(
        "publish",
        &["order.v1"],
        &[],
        &[("jig-session publish --agent mine", "one event a line on stdin becomes a status file")],
    ),
    page("host", &[], &[], &[("jig-session host", "what Pi's bridge starts; not for people")]),
    page("hook", &[], &[HOOK], &[("jig-session hook claude Stop", "what an agent's hook runs, its payload on stdin")]),
    page(
        "request",
        &["request-result.v1"],
        &[(1, "the session ended, or could not do it"), NO_SESSION, TIMEOUT],
        &[
            ("jig-session request billing --tool bash=off", "turn a tool off for this session"),
            ("jig-session request billing --reload --wait 0", "reload it when it is idle; do not wait"),
        ],
    ),
    page("hooks", &[], &[], &[("jig-session hooks status", "what is installed, for every agent on PATH")]),
    page(
        "hooks install",
        &["hooks.v1"],
        &[(1, "a part is refused, or it failed")],
        &[
            ("jig-session hooks install claude", "into your own configuration"),
            ("jig-session hooks install claude --bus --guard", "with mail and path claims"),
            ("jig-session hooks install --all", "every agent that is found"),
        ],
    ),
    page(
        "hooks uninstall",
        &["hooks.v1"],
        &[],
        &[("jig-session hooks uninstall claude", "what was installed, and nothing else")],
    ),
    page(
        "hooks status",
        &["hooks.v1"],
        &[],
        &[
            ("jig-session hooks status", "every agent that is found"),
            ("jig-session hooks status codex --json", "one, as a document"),
        ],
    ),
    page(
        "hooks print",
        &[],
        &[],
        &[
            ("jig-session hooks print claude", "what would be installed"),
            ("jig-session hooks print codex --run", "an alias that starts it under run"),
        ],
    ),
    page(
        "board",
        &[],
        &[(1, "there is no terminal, or it failed")],
        &[
            ("jig-session board", "sessions, mail, claims and panes on one screen"),
            ("jig-session board state:attention repo:shop", "begin with a filter"),
        ],
    ),
    page(
        "live",
        &["live-row.v1"],
        &[(1, "tmux failed, or does not answer")],
        &[
            ("jig-session live", "tmux panes and what their agents do"),
            ("jig-session live --status needs_attention --json", "those that need you, as a list"),
            ("jig-session live --watch --interval 2", "again every two seconds"),
        ],
    ),
    page(
        "live explain",
        &["live-explain.v1"],
        &[],
        &[("tmux capture-pane -p -t %3 | jig-session live explain", "what that screen is taken for")],
    ),
    page(
        "live alias",
        &["live-alias.v1"],
        &[],
        &[("jig-session live alias ~/.local/bin", "link the program as sessions")],
    ),
    page(
        "bulk",
        &["bulk.v1"],
        &[(1, "anything was refused or failed")],
        &[
            ("jig-session bulk status", "what the panes are"),
            ("jig-session bulk stop --project shop", "the plan; nothing is run"),
            ("jig-session bulk stop --project shop --yes", "run it"),
        ],
    ),
    page("king", &[], &[], &[("jig-session king ls", "the cards in pi-king's folder")]),
    page(
        "king ls",
        &["king-ls.v1"],
        &[],
        &[
            ("jig-session king ls", "Pi's sessions as pi-king lists them"),
            ("jig-session king ls --all --json", "every card, as it was read"),
        ],
    ),
    page(
        "king metrics",
        &["king-metrics.v1"],
        &[],
        &[
            ("jig-session king metrics", "calls, tokens and models of today"),
            ("jig-session king metrics --day 2026-11-30 --json", "of another day"),
        ],
    ),
    page(
        "king dismiss",
        &["king-dismiss.v1"],
        &[(4, "no card is named so, or its session lives")],
        &[("jig-session king dismiss 019fb27c", "remove the card of a session that has ended")],
    ),
    page(
        "king fingerprint",
        &["king-fingerprint.v1"],
        &[],
        &[
            ("jig-session king fingerprint", "what a Pi started here would load"),
            ("jig-session king fingerprint --cwd ~/shop", "in another folder"),
        ],
    ),
    page(
        "king pin",
        &["king-layout.v1"],
        &[NO_SESSION],
        &[("jig-session king pin 019fb27c", "to the top of the list")],
    ),
    page("king unpin", &["king-layout.v1"], &[NO_SESSION], &[("jig-session king unpin 019fb27c", "take the pin away")]),
    page(
        "king order",
        &["king-layout.v1"],
        &[NO_SESSION],
        &[("jig-session king order 019fb27c 019fb27d", "these first, in this order")],
    ),
    page(
        "king name",
        &["king-layout.v1"],
        &[NO_SESSION],
        &[
            ("jig-session king name 019fb27c billing", "what pi-king calls it"),
            ("jig-session king name 019fb27c", "its own name again"),
        ],
    ),
    page("bus", &[], &[], &[("jig-session bus status", "who is on this repository's bus")]),
    page(
        "bus status",
        &["bus-result.v1"],
        &[],
        &[
            ("jig-session bus status", "members, claims, and whether you are one"),
            ("jig-session bus status --json", "the same as a document"),
        ],
    ),
    page(
        "bus join",
        &["bus-result.v1"],
        &[(4, "the label is held by another session"), BUSY],
        &[
            ("jig-session bus join billing", "be addressed as billing"),
            ("jig-session bus join --wake", "have mail raise a turn"),
        ],
    ),
    page("bus leave", &["bus-result.v1"], &[BUSY], &[("jig-session bus leave", "your record and claims go")]),
    page(
        "bus send",
        &["bus-result.v1"],
        &[(4, "no such member, it is gone, or its inbox is full"), TIMEOUT],
        &[
            ("jig-session bus send billing 'the contract is in api.md'", "a message"),
            ("jig-session bus send billing --kind ask --wait 60 'is it done?'", "and wait for the answer"),
            ("jig-session bus send '*' --kind event 'main is red'", "to everybody"),
        ],
    ),
    page("bus inbox", &["bus-result.v1"], &[], &[("jig-session bus inbox", "take your mail, oldest first")]),
    page("bus peek", &["bus-result.v1"], &[], &[("jig-session bus peek --limit 3", "look at it and leave it")]),
    page(
        "bus claim",
        &["bus-result.v1"],
        &[(3, "another session holds one of them"), BUSY],
        &[
            ("jig-session bus claim src/api --reason 'new routes'", "hold a folder"),
            ("jig-session bus claim @deploy", "hold a name"),
        ],
    ),
    page(
        "bus release",
        &["bus-result.v1"],
        &[(1, "one of them is not yours"), BUSY],
        &[
            ("jig-session bus release src/api", "one of yours"),
            ("jig-session bus release --all", "everything you hold"),
        ],
    ),
    page(
        "bus check",
        &["bus-result.v1"],
        &[(3, "another session holds one of them")],
        &[("jig-session bus check src/api/routes.rs", "who holds it")],
    ),
    page("bus watch", &["bus-result.v1"], &[], &[("jig-session bus watch --follow", "say so whenever mail comes")]),
    page("bus wait", &["bus-result.v1"], &[TIMEOUT], &[("jig-session bus wait --timeout 600", "until there is mail")]),
    page("bus guard", &[], &[HOOK], &[("jig-session bus guard claude", "what an agent's hook runs before an edit")]),
    page(
        "bus notice",
        &[],
        &[HOOK],
        &[("jig-session bus notice claude UserPromptSubmit", "what an agent's hook runs at a prompt")],
    ),
    page("mcp", &[], &[], &[("jig-session mcp", "the bus as an MCP server on stdio")]),
    page(
        "completions",
        &[],
        &[],
        &[
            ("jig-session completions bash > ~/.local/share/bash-completion/completions/jig-session", "bash"),
            ("jig-session completions zsh > ~/.zfunc/_jig-session", "zsh, with ~/.zfunc in fpath"),
            ("jig-session completions fish > ~/.config/fish/completions/jig-session.fish", "fish"),
        ],
    ),
    page(
        "man",
        &[],
        &[(4, "there is no such command")],
        &[
            ("jig-session man wait | man -l -", "read one page"),
            ("jig-session man --out ~/.local/share/man/man1", "write all pages"),
        ],
    ),
];
