//! The pi-king card of a session, for users of pi-king: written only when `JIG_SESSION_KING` asks for it.
//!
//! The card is made from the status document that is published anyway; only prompts, subagents and attached clients come
//! from elsewhere. When another writer keeps the file, the log says so once.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jig_session_atomic::read_file;
use jig_session_king::card::{self, Card, Facts, SubagentPhase};
use jig_session_king::fingerprint;
use jig_session_king::writer::{Before, Outcome, Owner, Writer};
use jig_session_liveness::{Machine, Processes};
use jig_session_publish::Now;
use jig_session_schema::bridge::{BridgeEvent, Hello, ToHost};
use jig_session_schema::king::{KingState, KingStatus};
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{State, Status};

/// How often a card that went is looked for, and a waiting result for somebody who sees it.
const LOOK: Duration = Duration::from_secs(10);
/// How long tmux may take to answer. Without an answer, somebody is assumed to look.
const ANSWER: Duration = Duration::from_secs(1);
/// How often an unanswered question to tmux is looked at.
const SOON: Duration = Duration::from_millis(50);
/// A model's stop reasons for an output that was too long.
const CEILINGS: [&str; 3] = ["length", "max_tokens", "max_output_tokens"];

/// What the environment asks for.
#[derive(Clone, Debug)]
struct Config {
    folder: PathBuf,
    visible: bool,
    agent_dir: PathBuf,
    tmux: Option<Tmux>,
}

/// The tmux pane Pi runs in.
#[derive(Clone, Debug)]
struct Tmux {
    socket: String,
    pane: Option<String>,
}

/// Keeps the card, if the user wants one.
pub(crate) struct King {
    config: Option<Config>,
    machine: Machine,
    live: Option<LiveCard>,
    notes: Vec<String>,
}

/// The card of the session that is published now.
struct LiveCard {
    writer: Writer,
    card: Card,
    status: Status,
    shown: Option<KingStatus>,
    /// A turn has begun and not settled.
    turn: bool,
    next_look: Duration,
    query: Option<AttachQuery>,
    /// The last note; repeated only when it changes.
    noted: Option<String>,
}

/// A question to tmux: is a client attached to the session of this pane?
struct AttachQuery {
    child: Child,
    until: Duration,
    /// The next look at whether it has ended.
    next: Duration,
    /// The turn has settled and the answer decides whether its result waits.
    settles: bool,
}

impl King {
    /// Looks at `JIG_SESSION_KING`.
    pub(crate) fn of(environment: &Environment, places: &Places) -> Self {
        let visible = match environment.get("JIG_SESSION_KING").map(str::trim) {
            Some("visible") => Some(true),
            Some("1") => Some(environment.get("PI_DASHBOARD_SPAWNED") == Some("1")),
            _ => None,
        };
        let config = visible.map(|visible| Config {
            folder: places.king.clone(),
            visible,
            agent_dir: fingerprint::agent_dir(|name| environment.get(name), &places.home),
            tmux: environment.get("TMUX").map(|tmux| Tmux {
                socket: tmux.split(',').next().unwrap_or(tmux).to_owned(),
                pane: environment.get("TMUX_PANE").map(str::to_owned),
            }),
        });
        Self { config, machine: Machine::new(), live: None, notes: Vec::new() }
    }

    /// What the bridge is to send besides: `prompt`, the beginning of each prompt.
    pub(crate) fn wants(&self) -> Vec<String> {
        if self.live.is_some() { vec!["prompt".to_owned()] } else { Vec::new() }
    }

    /// The session began, or goes on; `hello` is the bridge's line.
    pub(crate) fn began(&mut self, hello: &Hello, status: Option<&Status>, now: Now) {
        self.live = None;
        let (Some(config), Some(status)) = (&self.config, status) else { return };
        let Some(pid) = status.pid else { return };
        // Without a transcript there is nothing that a card could point to.
        if hello.file.as_deref().is_none_or(str::is_empty) {
            return;
        }
        let writer = match Writer::open(&config.folder, &status.session, pid) {
            Ok(writer) => writer,
            Err(error) => return self.notes.push(error.to_string()),
        };
        writer.sweep(&|pid| self.machine.is_missing(pid));
        let reason = hello.reason.as_deref().unwrap_or_default();
        let started = self.machine.process(pid).ok().and_then(|process| process.started_ms);
        let mut card = Card::new(Facts {
            process_started_ms: started.unwrap_or_else(|| now.wall.epoch_ms()),
            // Whatever is listed may be started again: only what a person began in a terminal is.
            visible: config.visible && hello.mode.as_deref() == Some("tui"),
            fork: reason == "fork",
            fingerprint: fingerprint::compute(&config.agent_dir, status.cwd.as_ref()),
        });
        match writer.before(&self.machine) {
            // The same process goes on with this session, after a reload or with a new host.
            Ok(Before::Own(own)) if reason == "reload" || own.status != KingState::EXITED => card.resume(&own),
            Ok(Before::Own(old) | Before::Dead(old)) => card.inherit(&old),
            Ok(Before::Nothing | Before::Theirs(_)) => {}
            Err(error) => self.notes.push(error.to_string()),
        }
        self.live = Some(LiveCard {
            writer,
            card,
            status: status.clone(),
            shown: None,
            turn: status.state == State::Busy,
            next_look: now.mono,
            query: None,
            noted: None,
        });
        self.tick(Some(status), now);
    }

    /// Every line of the bridge, `hello` included, before the publisher takes it.
    pub(crate) fn line(&mut self, line: &ToHost, now: Now) {
        let (Some(live), Some(config)) = (&mut self.live, &self.config) else { return };
        match line {
            ToHost::Prompt(prompt) => {
                if let Some(text) = &prompt.text {
                    live.card.prompt(text);
                }
            }
            ToHost::Event(event) => live.event(event, config),
            ToHost::Bus(said) => {
                let data = &said.data;
                if let (Some(phase), Some(id)) = (SubagentPhase::of_event(&said.event), &data.id) {
                    let at = card::Now { ms: now.wall.epoch_ms(), working: live.status.state == State::Busy };
                    live.card.subagent(phase, id, data.kind.as_deref(), data.description.as_deref(), at);
                }
            }
            _ => {}
        }
    }

    /// After every batch of lines, and at the deadline.
    pub(crate) fn tick(&mut self, status: Option<&Status>, now: Now) {
        let (Some(live), Some(status)) = (&mut self.live, status) else { return };
        live.status = status.clone();
        let tmux = self.config.as_ref().and_then(|config| config.tmux.as_ref());
        match (status.state, live.turn) {
            (State::Busy, false) => live.start(),
            (State::Idle, true) => {
                live.turn = false;
                live.ask(tmux, true, now);
            }
            _ => {}
        }
        live.answer(now);
        let due = now.mono >= live.next_look;
        if due {
            live.next_look = now.mono + LOOK;
            if live.shown.as_ref().is_some_and(|shown| shown.status == KingState::ATTENTION) {
                live.ask(tmux, false, now);
            }
        }
        let document = live.card.document(&live.status, now.wall.epoch_ms());
        // Until tmux has answered, nobody can say what the settled turn means.
        let undecided = live.query.as_ref().is_some_and(|query| query.settles);
        if !undecided && (due || live.changed(&document)) {
            let outcome = live.writer.publish(&document, &self.machine).map_err(|error| error.to_string());
            self.notes.extend(live.note(outcome));
            live.shown = Some(document);
        }
    }

    /// When `tick` is config.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let live = self.live.as_ref()?;
        Some(live.query.as_ref().map_or(live.next_look, |query| query.until.min(query.next)))
    }

    /// The session ends; with `keep` it is reloaded.
    pub(crate) fn leave(&mut self, keep: bool, now: Now) {
        let Some(mut live) = self.live.take() else { return };
        if keep {
            return;
        }
        let ended = live.card.ended(&live.status, now.wall.epoch_ms());
        let outcome = live.writer.finish(&ended, &self.machine).map_err(|error| error.to_string());
        self.notes.extend(live.note(outcome));
    }

    /// Notes for the log since the last call.
    pub(crate) fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

impl LiveCard {
    fn start(&mut self) {
        self.turn = true;
        self.query = None;
        self.card.started();
    }

    /// Something happened in Pi.
    fn event(&mut self, event: &BridgeEvent, config: &Config) {
        let data = &event.data;
        match event.event.as_str() {
            "agent_start" => self.start(),
            "message_end" => {
                let stopped = data.message.as_ref().and_then(|message| message.stop_reason.as_deref());
                if let Some(stopped) = stopped.filter(|stopped| CEILINGS.contains(stopped)) {
                    self.card.failed(&format!("Output ceiling reached ({stopped})"));
                }
            }
            // A fork shares the process of the session it came from, and so what that process has loaded.
            "session_start" if data.reason.as_deref() == Some("fork") => {
                let parent = data.previous_session_file.as_deref().and_then(session_of);
                let card = parent.and_then(|parent| {
                    let card = read_file(config.folder.join(format!("{parent}.json")), STATUS_BYTES).ok()?;
                    KingStatus::read(&card.bytes).ok()
                });
                if let Some(stamp) = card.and_then(|read| read.value.startup_fingerprint) {
                    self.card.stamp(stamp);
                }
            }
            _ => {}
        }
    }

    fn changed(&self, document: &KingStatus) -> bool {
        self.shown.as_ref().is_none_or(|shown| {
            let mut same = document.clone();
            same.last_activity = shown.last_activity;
            same != *shown
        })
    }

    /// Asks tmux whether a client is attached. Outside tmux, somebody is assumed to look.
    fn ask(&mut self, tmux: Option<&Tmux>, settles: bool, now: Now) {
        let child = tmux.and_then(|tmux| {
            let mut command = Command::new("tmux");
            command.args(["-S", &tmux.socket, "display-message", "-p"]);
            if let Some(pane) = &tmux.pane {
                command.args(["-t", pane]);
            }
            command.arg("#{session_attached}");
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
        });
        match child {
            Some(child) => {
                self.query = Some(AttachQuery { child, until: now.mono + ANSWER, next: now.mono + SOON, settles })
            }
            None => self.answered(true, settles),
        }
    }

    /// Takes tmux's answer, if it is there.
    fn answer(&mut self, now: Now) {
        let Some(query) = &mut self.query else { return };
        let ended = query.child.try_wait();
        let attended = match ended {
            Ok(Some(status)) => {
                let mut text = String::new();
                let read = query.child.stdout.take().map(|mut out| std::io::Read::read_to_string(&mut out, &mut text));
                !(status.success() && matches!(read, Some(Ok(_))) && text.trim() == "0")
            }
            Ok(None) if now.mono < query.until => {
                query.next = now.mono + SOON;
                return;
            }
            _ => true,
        };
        if let Some(query) = self.query.take() {
            let settles = query.settles;
            drop(query);
            self.answered(attended, settles);
        }
    }

    fn answered(&mut self, attended: bool, settles: bool) {
        if settles {
            self.card.settled(attended);
        } else if attended {
            self.card.looked_at();
        }
    }

    /// A note on a write that did not happen, unless it was made before.
    fn note(&mut self, outcome: Result<Outcome, String>) -> Option<String> {
        let text = match outcome {
            Ok(Outcome::Written | Outcome::Unchanged) => None,
            Ok(Outcome::NotOurs(Owner::Process(pid))) => {
                Some(format!("the pi-king card of {} is kept by the live process {pid}", self.status.session))
            }
            Ok(Outcome::NotOurs(Owner::SamePi)) => Some(format!(
                "pi-king keeps the card of {} itself: JIG_SESSION_KING is not needed",
                self.status.session
            )),
            Ok(Outcome::NotOurs(Owner::Unknown)) => {
                Some(format!("the pi-king card of {} is another program's", self.status.session))
            }
            Err(error) => Some(error),
        };
        let new = text.is_some() && self.noted != text;
        self.noted.clone_from(&text);
        text.filter(|_| new)
    }
}

impl Drop for AttachQuery {
    fn drop(&mut self) {
        // One that has ended already is only reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The session whose transcript this is: what stands after the first `_` of `<time>_<id>.jsonl`.
fn session_of(file: &str) -> Option<String> {
    let stem = file.rsplit('/').next()?.strip_suffix(".jsonl")?;
    let (_, id) = stem.split_once('_')?;
    jig_session_king::rules::writable_id(id).then(|| id.to_owned())
}
