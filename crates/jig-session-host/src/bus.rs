//! The session bus inside Pi: the tool `session`, the notice before a prompt, the guard question, waking.

use std::path::Path;
use std::time::Duration;

use jig_session_bus::guard::{Edit, Target, reason};
use jig_session_bus::who::IdSource;
use jig_session_bus::{
    Bus as Store, Buses, Call, Code as Word, Context, Done, Door, Me, Member, Notice, System, World, limits, perform,
    tool,
};
use jig_session_liveness::Processes;
use jig_session_publish::Now;
use jig_session_schema::bridge::{BridgeEvent, CommandCall, GuardQuestion, Hello, Key, Prompt, SeenFile, ToolCall};
use jig_session_schema::bus::Message;
use jig_session_schema::bus_result::{BusResult, MemberState};
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{AgentName, Status};
use jig_session_schema::time::Timestamp;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::board::{Board, Deed};
use crate::link::{Link, Then};
use crate::quiet::{self, Unsure};
use crate::show;
use jig_session_view::bus::listing;

/// The kind of message that a notice is in Pi's transcript.
const NOTICE: &str = "jig-session.notice";
/// The pause between two looks at the inbox of a session that listens.
const WATCH: Duration = Duration::from_millis(limits::WATCH_MS);
/// The pause between two beats.
const BEAT: Duration = Duration::from_millis(limits::BEAT_MS);

/// The bus's side of one Pi session.
pub(crate) struct Bus {
    root: std::path::PathBuf,
    system: System,
    /// `JIG_BUS_GUARD=1`.
    guard: bool,
    /// The session, once it has said hello.
    me: Option<Me>,
    cwd: std::path::PathBuf,
    mode: String,
    /// Whether the session is on the bus, as far as this host has seen.
    joined: bool,
    /// Mail that waits for a session that came back is told of once, on the bus or not.
    came_back: bool,
    was_idle: bool,
    next_beat: Duration,
    next_look: Duration,
    /// A look at the mail of an idle session that `quiet` has not followed.
    looked: bool,
    /// A notice that has left, or is about to: the mark moves when it has.
    told: Option<Notice>,
    /// Messages that notices in the transcript are about.
    noticed: Vec<String>,
    board: Option<Board>,
}

impl Bus {
    pub(crate) fn of(environment: &Environment, places: &Places) -> Self {
        Self {
            root: places.bus.clone(),
            system: System::new(),
            guard: environment.get("JIG_BUS_GUARD") == Some("1"),
            me: None,
            cwd: std::path::PathBuf::new(),
            mode: String::new(),
            joined: false,
            came_back: false,
            was_idle: false,
            next_beat: Duration::ZERO,
            next_look: Duration::ZERO,
            looked: false,
            told: None,
            noticed: Vec::new(),
            board: None,
        }
    }

    /// Tools to register, as Pi takes them.
    pub(crate) fn tools(&self) -> Vec<Value> {
        vec![json!({
            "name": tool::NAME,
            "label": "Session bus",
            "description": tool::DESCRIPTION,
            "promptGuidelines": [tool::INSTRUCTIONS],
            "parameters": tool::parameters(),
            "exposure": "direct",
            "executionMode": "sequential",
            "annotations": { "readOnlyHint": false, "destructiveHint": true, "openWorldHint": false },
        })]
    }

    /// Whether the bridge is to ask before an editing tool runs. A session may turn the guard on at any time, and the
    /// question costs less than a millisecond.
    pub(crate) fn guards(&self) -> bool {
        true
    }

    /// The session began, or goes on.
    pub(crate) fn began(&mut self, hello: &Hello, status: Option<&Status>, now: Now) {
        let session = hello.session.clone();
        let process = self.system.machine().identity_of(hello.pid).ok();
        self.cwd = hello.cwd.clone().into();
        self.mode = hello.mode.clone().unwrap_or_default();
        self.me = Some(Me {
            owner: Me::owner_of(&session, Some(hello.pid), process.as_ref(), self.system.random()),
            id: session,
            agent: AgentName::PI,
            model: status.and_then(|status| status.model.as_ref()?.name.clone()),
            pid: Some(hello.pid),
            process,
            name: hello.name.clone().filter(|name| !name.is_empty()),
            source: IdSource::Agent { replaces: true },
            timer: true,
        });
        self.came_back = matches!(hello.reason.as_deref(), Some("resume" | "startup"));
        self.next_look = now.mono;
        self.next_beat = now.mono;
        // A reload keeps record, claims and listening.
        self.joined = self.me.as_ref().zip(self.store()).is_some_and(|(me, bus)| own_member(&bus, me).is_some());
    }

    /// Whether there was a look since: the record's own beat changes its file, and mail may have been read.
    pub(crate) fn has_looked(&mut self) -> bool {
        std::mem::take(&mut self.looked)
    }

    /// The files that `before_prompt` would find nothing in as long as they stay as they are.
    pub(crate) fn quiet(&self) -> Result<Vec<SeenFile>, Unsure> {
        let me = self.me.as_ref().ok_or(Unsure::News)?;
        if self.told.is_some() || !self.noticed.is_empty() {
            return Err(Unsure::News);
        }
        let seen = |path: &Path| quiet::seen(path, self.system.now().wall_ms);
        if let Ok(nobody) = seen(&self.root)
            && nobody.at.is_none()
        {
            return Ok(vec![nobody]);
        }
        // What cannot be read now may hold mail.
        let unread = |_| Unsure::News;
        let bus = self.store().ok_or(Unsure::News)?;
        let record = seen(&bus.record_path(&me.id).map_err(unread)?)?;
        let inbox = seen(&bus.inbox_path(&me.id).map_err(unread)?);
        match self.asks_for_mail(&bus, me).map_err(unread)? {
            None => Ok(vec![record]),
            Some(all) if untold(&bus, &me.id, all).map_err(unread)?.is_empty() => Ok(vec![record, inbox?]),
            Some(_) => Err(Unsure::News),
        }
    }

    /// Whether a prompt is told of mail: `None` when it is not, true when of all of it, told or not.
    fn asks_for_mail(&self, bus: &Store<'_>, me: &Me) -> Result<Option<bool>, jig_session_bus::Error> {
        let member = bus.member(&me.id)?;
        let listens = member.as_ref().is_some_and(|member| member.record.listen.is_some());
        let came_back = self.came_back && member.is_none();
        Ok((listens || came_back).then_some(came_back))
    }

    /// What a prompt is told of.
    fn mail_to_tell(&self, bus: &Store<'_>, me: &Me) -> Result<Vec<Message>, jig_session_bus::Error> {
        self.asks_for_mail(bus, me)?.map_or(Ok(Vec::new()), |all| untold(bus, &me.id, all))
    }

    /// A prompt is sent, and waits for nothing.
    pub(crate) fn prompted(&mut self, prompt: &Prompt) {
        self.came_back = false;
        if let Some(bus) = self.store() {
            self.heard(&bus, prompt);
        }
    }

    /// A person has spoken, or a program that stands for one.
    fn heard(&self, bus: &Store<'_>, prompt: &Prompt) {
        if prompt.message_type.as_deref() != Some("custom")
            && let Some(me) = &self.me
        {
            let _ = bus.forget_wakes(&me.id);
        }
    }

    /// A message to add to the prompt that is about to be sent.
    pub(crate) fn before_prompt(&mut self, prompt: &Prompt) -> Option<Value> {
        let me = self.me.clone()?;
        let bus = self.store()?;
        self.heard(&bus, prompt);
        let notice = Notice::of(&self.mail_to_tell(&bus, &me).unwrap_or_default(), Door::Tool);
        drop(bus);
        self.came_back = false;
        let notice = notice?;
        let message = self.notice(&notice);
        self.told = Some(notice);
        Some(message)
    }

    /// Why an editing tool may not run.
    pub(crate) fn guard(&mut self, question: &GuardQuestion) -> Option<String> {
        let me = self.me.as_ref()?;
        let files = [Target { path: question.path.clone(), removed: false }];
        let edit =
            Edit { session: &me.id, cwd: &self.cwd, home: None, files: &files, always: self.guard, has_time: &|| true };
        self.buses().edit_conflict(&edit).ok()?.as_ref().map(reason)
    }

    /// The model calls a tool of ours.
    pub(crate) fn tool(&mut self, asked: &ToolCall, link: &mut Link) -> Result<(), Error> {
        let id = asked.id.as_str();
        if asked.name != tool::NAME {
            return link.error(id, format!("there is no tool {}", asked.name));
        }
        let empty = Map::new();
        let call = match tool::call(asked.params.as_object().unwrap_or(&empty)) {
            Ok(call) => call,
            Err(wrong) => return link.error(id, wrong),
        };
        let Some(me) = self.me.clone() else { return link.error(id, "the session has not begun".into()) };
        let done = match self.perform(&me, &call) {
            Ok(done) => done,
            Err(error) => return link.error(id, error.to_string()),
        };
        self.after(&call, &done, link)?;
        let short = tool::line(&done.result);
        let text = listing(&done.result, self.now());
        let text = if text.is_empty() { short.clone() } else { format!("{short}\n{text}") };
        let Done { result, code, taken, .. } = done;
        let answer = json!({
            "content": [{ "type": "text", "text": text }],
            "details": { "line": short, "result": result },
            "isError": code.is_some_and(|code| code != Word::Conflict),
        });
        // Mail goes when the answer that holds it has left; without a reader it stays.
        if link.delivered(id, answer)?
            && let Some(taken) = taken
        {
            taken.confirm()?;
        }
        Ok(())
    }

    /// The user gave a command that is not the host's own.
    pub(crate) fn command(&mut self, command: &CommandCall, link: &mut Link) -> Result<(), Error> {
        match command.name.as_str() {
            "sessions" if self.mode == "tui" => {
                let mut board = Board::new();
                self.refresh(&mut board);
                link.panel(board.lines())?;
                self.board = Some(board);
                link.done(&command.id, None)
            }
            "sessions" => {
                let Some(me) = self.me.clone() else { return link.done(&command.id, None) };
                let done = self.perform(&me, &Call::Status)?;
                show::text(link, &self.mode, &command.id, listing(&done.result, self.now()))
            }
            "team" => self.team(command, link),
            _ => link.done(&command.id, None),
        }
    }

    /// `/team join [LABEL]`.
    fn team(&mut self, command: &CommandCall, link: &mut Link) -> Result<(), Error> {
        let words = command.args.as_deref().unwrap_or_default().trim();
        let Some(label) = words.strip_prefix("join") else {
            return show::text(link, &self.mode, &command.id, "usage: /team join [LABEL]".to_owned());
        };
        let label = Some(label.trim()).filter(|label| !label.is_empty()).map(str::to_owned);
        let Some(me) = self.me.clone() else { return link.done(&command.id, None) };
        let call = Call::Join { label, wake: false, listen: true, guard: None };
        let done = self.perform(&me, &call)?;
        self.after(&call, &done, link)?;
        let text = match tool::line(&done.result) {
            line if line.is_empty() => "nothing was done".to_owned(),
            line => line,
        };
        show::text(link, &self.mode, &command.id, text)
    }

    /// A key in a panel of the bus's.
    pub(crate) fn key(&mut self, key: &Key, link: &mut Link) -> Result<(), Error> {
        let Some(mut board) = self.board.take() else { return Ok(()) };
        if key.closed == Some(true) {
            return Ok(());
        }
        match board.key(key) {
            Deed::Close => return link.close_panel(),
            Deed::Nothing => {}
            Deed::Listen(on) => {
                let call = Call::Join { label: None, wake: false, listen: on, guard: None };
                self.deed(&mut board, &call, link)?;
            }
            Deed::Release(path) => self.deed(&mut board, &Call::Release { paths: Some(vec![path]) }, link)?,
        }
        link.panel(board.lines())?;
        self.board = Some(board);
        Ok(())
    }

    fn deed(&mut self, board: &mut Board, call: &Call, link: &mut Link) -> Result<(), Error> {
        let Some(me) = self.me.clone() else { return Ok(()) };
        match self.perform(&me, call) {
            Ok(done) => {
                self.after(call, &done, link)?;
                board.say(tool::line(&done.result));
            }
            Err(error) => board.say(error.to_string()),
        }
        self.refresh(board);
        Ok(())
    }

    /// Something happened in Pi; the publisher has taken it already.
    pub(crate) fn event(&mut self, event: &BridgeEvent) {
        if event.event == "session_info_changed"
            && let Some(me) = &mut self.me
        {
            me.name.clone_from(&event.data.name);
        }
    }

    /// After every batch of lines, and at the deadline.
    pub(crate) fn tick(
        &mut self,
        idle: bool,
        _status: Option<&Status>,
        link: &mut Link,
        now: Now,
    ) -> Result<(), Error> {
        let Some(me) = self.me.clone() else { return Ok(()) };
        if let Some(notice) = self.told.take()
            && let Some(bus) = self.made()
        {
            // What was written before this has left by now.
            let _ = bus.record_notice(&me.id, &notice);
        }
        let settled = idle && !self.was_idle;
        self.was_idle = idle;
        if self.joined && now.mono >= self.next_beat {
            self.next_beat = now.mono + BEAT;
            if let Some(bus) = self.made() {
                // False: a newer pane has the record. A beat that fails is made up by the next one.
                self.joined = bus.beat(&me).unwrap_or(true);
            }
        }
        if now.mono >= self.next_look || settled {
            self.next_look = now.mono + WATCH;
            if let Some(mut board) = self.board.take() {
                self.refresh(&mut board);
                link.panel(board.lines())?;
                self.board = Some(board);
            }
            if self.joined && idle {
                self.wake(&me, link)?;
                self.looked = true;
            }
        }
        Ok(())
    }

    /// Raises one turn for mail that has not been told, if the session asked for that.
    fn wake(&mut self, me: &Me, link: &mut Link) -> Result<(), Error> {
        let Some(bus) = self.made() else { return Ok(()) };
        let Some(member) = own_member(&bus, me) else { return Ok(()) };
        // What may not wake now is told at the next turn.
        let Some(notice) = bus.wake_notice(&member).unwrap_or_default() else { return Ok(()) };
        bus.record_notice(&me.id, &notice)?;
        drop(bus);
        let message = self.notice(&notice);
        let how = json!({ "triggerTurn": true, "deliverAs": "followUp" });
        link.call("pi.sendMessage", vec![message, how], Then::Nothing)
    }

    fn notice(&mut self, notice: &Notice) -> Value {
        self.noticed.extend(notice.messages.iter().cloned());
        json!({
            "customType": NOTICE,
            "content": notice.text,
            "display": true,
            "details": { "ids": notice.messages },
        })
    }

    /// Messages that notices are about and that have been read since: the bridge takes such a notice out of the model's
    /// context.
    pub(crate) fn read_mail(&mut self) -> Vec<String> {
        let Some(me) = self.me.as_ref().filter(|_| !self.noticed.is_empty()) else { return Vec::new() };
        let Some(unread) = self.store().and_then(|bus| bus.peek(&me.id, limits::INBOX_MOST).ok()) else {
            return Vec::new();
        };
        let more = unread.remaining > 0;
        let is_unread = |id: &String| more || unread.messages.iter().any(|message| message.id == *id);
        let (left, read) = std::mem::take(&mut self.noticed).into_iter().partition(is_unread);
        self.noticed = left;
        read
    }

    /// What an action changes for this host and for Pi.
    fn after(&mut self, call: &Call, done: &Done, link: &mut Link) -> Result<(), Error> {
        if done.code.is_none() && !matches!(call, Call::Status | Call::Peek { .. } | Call::Check { .. }) {
            self.joined = !matches!(call, Call::Leave);
        }
        if let (Call::Join { label: Some(_), .. }, BusResult::Join(result)) = (call, &done.result)
            && result.ok
            && let Some(label) = &result.label
        {
            // The label peers address is also the name the user sees.
            link.call("pi.setSessionName", vec![json!(label)], Then::Nothing)?;
        }
        Ok(())
    }

    fn refresh(&self, board: &mut Board) {
        let Some(me) = &self.me else { return };
        let status = self.perform(me, &Call::Status).map(|done| done.result);
        let mail = self.perform(me, &Call::Peek { limit: Some(limits::INBOX_MOST as u64) }).map(|done| done.result);
        if let (Ok(BusResult::Status(status)), Ok(BusResult::Peek(mail))) = (status, mail) {
            board.show(status, mail.messages, self.now());
        }
    }

    /// When `tick` is wanted.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        if self.board.is_some() {
            return Some(self.next_look);
        }
        self.joined.then_some(self.next_beat.min(self.next_look))
    }

    /// The session ends, or is reloaded.
    pub(crate) fn leave(&mut self, keep: bool, _now: Now) {
        if let Some(me) = self.me.take().filter(|_| !keep && self.joined)
            && let Some(bus) = self.made()
        {
            // A record that stays is judged by its process, which is gone in a moment.
            let _ = bus.leave(&me);
        }
    }

    fn perform(&self, me: &Me, call: &Call) -> Result<Done, Error> {
        // A join is to the bus of the folder; everything else is done on the bus that the session is on.
        let found = match call {
            Call::Join { .. } => self.buses().of_folder(&self.cwd, None),
            _ => self.buses().of_session(&me.id, &self.cwd, None),
        };
        Ok(perform(&Context { root: &self.root, repo: found?, world: &self.system, me }, call)?)
    }

    fn buses(&self) -> Buses<'_> {
        Buses::new(&self.root, &self.system)
    }

    fn store(&self) -> Option<Store<'_>> {
        // Where nobody has ever been on a bus, no repository need be looked for.
        if !self.root.exists() {
            return None;
        }
        self.opened(Store::open_existing)
    }

    fn made(&self) -> Option<Store<'_>> {
        self.opened(Store::open)
    }

    fn opened<'b>(
        &'b self,
        open: impl FnOnce(&Path, jig_session_bus::Repo, &'b dyn World) -> Result<Store<'b>, jig_session_bus::Error>,
    ) -> Option<Store<'b>> {
        let repo = match &self.me {
            Some(me) => self.buses().of_session(&me.id, &self.cwd, None),
            None => self.buses().of_folder(&self.cwd, None),
        };
        let repo = repo.ok()?;
        open(&self.root, repo, &self.system).ok()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_epoch_ms(self.system.now().wall_ms)
    }
}

/// Unread mail that was not told, oldest first. `all` asks for told mail too.
fn untold(bus: &Store<'_>, session: &str, all: bool) -> Result<Vec<Message>, jig_session_bus::Error> {
    if all { Ok(bus.peek_after(session, None, limits::UNREAD)?.messages) } else { bus.unannounced(session) }
}

/// This session's record, unless a newer pane or a dead process left it.
fn own_member(bus: &Store<'_>, me: &Me) -> Option<Member> {
    let member = bus.member(&me.id).ok()??;
    (member.record.owner == me.owner && member.state != MemberState::Gone).then_some(member)
}
