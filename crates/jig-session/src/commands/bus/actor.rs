//! Who acts, where: the edge between this process and the bus.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use jig_session_agents::Agent;
use jig_session_atomic::PrivateDir;
use jig_session_bus::Code as Word;
use jig_session_bus::who::{self, Ancestor, IdSource, Known, Question};
use jig_session_bus::{
    Bus, Buses, Call, Context, Done, Me, Repo, Room, System, World, choose_member, digits, label, perform, units,
};
use jig_session_git::Error as GitError;
use jig_session_liveness::{Process as Seen, Processes};
use jig_session_schema::bus::Record;
use jig_session_schema::bus_result::MemberState;
use jig_session_schema::limits::STATUS_BYTES;
use jig_session_schema::names;
use jig_session_schema::status::{AgentName, Process, Status};
use jig_session_view::sanitise;

use crate::app::App;
use crate::failure::{Code, Failure};
use crate::view::{self, View};

/// What the command line says about who acts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options<'a> {
    /// `--as`.
    pub(crate) named: Option<&'a str>,
    /// `--cwd`.
    pub(crate) cwd: Option<&'a Path>,
    /// `--pid`.
    pub(crate) pid: Option<u32>,
    /// `--agent`.
    pub(crate) agent: Option<&'a str>,
    /// `--id`.
    pub(crate) id: Option<&'a str>,
    /// The id in a hook's payload.
    pub(crate) payload: Option<&'a str>,
    /// The call is a join: `--as` may name somebody new.
    pub(crate) joins: bool,
}

/// Which surface acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// A command, over at once: its calls are its beats.
    CommandLine,
    /// A server that lasts and beats; the id of last resort is its own.
    Server {
        /// `mcp-<uuid>`.
        id: String,
    },
}

/// One session in one repository.
pub(crate) struct Actor {
    pub(crate) me: Me,
    pub(crate) repo: Repo,
    /// The folder of all buses.
    pub(crate) root: PathBuf,
    pub(crate) system: System,
    /// How much mail one answer may hold.
    pub(crate) room: Room,
}

impl Actor {
    /// Finds who acts, by the one order that every surface shares.
    pub(crate) fn find(app: &App, options: &Options<'_>, surface: Surface) -> Result<Self, Failure> {
        let places = app.places();
        let room = room(&surface, app.json);
        let system = System::new();
        let root = places.bus.clone();
        let buses = Buses::new(&root, &system);
        let folder = Folder::of(app, options.cwd)?;
        let mut repo = folder.bus(|cwd, spelled| buses.of_folder(cwd, spelled))?;
        // A folder that is named, or joined in, is meant; otherwise a session acts on the bus that it is on.
        let by_folder = options.cwd.is_some() || options.joins;
        let mut meant = named_member(&Bus::open_existing(&root, repo.clone(), &system)?, options);
        if let (Err(failure), Some(word), false) = (&meant, options.named, by_folder)
            && failure.code == Code::NotFound
            && let Some(elsewhere) = buses.member(word)
        {
            repo = elsewhere.repo;
            meant = Ok(Some(Meant::Standing(Box::new(elsewhere.member.record))));
        }
        let meant = meant?;
        if let Some(Meant::Standing(record)) = meant {
            let me = stand_in(*record, surface != Surface::CommandLine);
            let repo =
                if by_folder { repo } else { folder.bus(|cwd, spelled| buses.of_session(&me.id, cwd, spelled))? };
            return Ok(Self { me, repo, root, system, room });
        }
        let meant = match meant {
            Some(Meant::Id(id)) => Some(id),
            _ => None,
        };
        let ancestors = ancestors(&system);
        let rows = OnceCell::new();
        let chain: Vec<Ancestor> = ancestors.iter().map(|(ancestor, _)| ancestor.clone()).collect();
        let fallback = |agent: Option<(&str, u32)>| match (&surface, agent) {
            (Surface::Server { id }, _) => id.clone(),
            // Two agents may share a terminal: what is typed below one of them is that one's.
            (Surface::CommandLine, Some((name, pid))) => agent_id(&system, name, pid),
            (Surface::CommandLine, None) => terminal_id(&system, &ancestors),
        };
        let answer = who::find(&Question {
            named: meant.as_deref().or(options.id),
            payload: options.payload,
            variable: &|name| app.var(name).map(str::to_owned),
            ancestors: &chain,
            known: &|pid| known(rows.get_or_init(|| view::load(app).ok()).as_ref()?, pid),
            record: &|agent, pid| record(app, &system, agent, pid),
            fallback: &fallback,
        });
        let server = surface != Surface::CommandLine;
        let anchor = match &surface {
            // One client may start a server for each of its agents: a server that knows no session is one of its own.
            Surface::Server { .. } if answer.source == IdSource::Own => Some(std::process::id()),
            Surface::Server { .. } => {
                answer.agent.as_ref().map(|(_, pid)| *pid).or(chain.first().map(|ancestor| ancestor.pid))
            }
            Surface::CommandLine => answer.agent.as_ref().map(|(_, pid)| *pid).or_else(|| leader(&system, &ancestors)),
        };
        let pid = options.pid.or(anchor);
        let process = pid.and_then(|pid| system.machine().identity_of(pid).ok());
        if options.pid.is_some() && process.is_none() {
            let message = format!("there is no process {} to stand for the session", options.pid.unwrap_or_default());
            return Err(Failure::new(Code::Usage, message));
        }
        let agent = match (&answer.agent, options.agent) {
            (_, Some(agent)) => agent,
            (Some((agent, _)), _) => agent.as_str(),
            (None, _) if server => "mcp",
            (None, _) if answer.source == IdSource::Own => "human",
            (None, _) => "cli",
        };
        let agent = AgentName::new(agent)
            .ok_or_else(|| Failure::new(Code::Usage, "an agent's name has at most 128 characters"))?;
        let owner = Me::owner_of(&answer.id, pid, process.as_ref(), system.random());
        let me = Me {
            id: answer.id,
            agent,
            model: answer.known.as_ref().and_then(|known| known.model.clone()),
            pid,
            process,
            // A join names its member by the id, unless another label is requested.
            name: match answer.known.and_then(|known| known.name) {
                None if options.named.is_some() => label::given(options.named.unwrap_or_default()).ok(),
                name => name,
            },
            source: answer.source,
            timer: server,
            owner,
        };
        if !by_folder {
            repo = folder.bus(|cwd, spelled| buses.of_session(&me.id, cwd, spelled))?;
        }
        let mut actor = Self { me, repo, root, system, room };
        actor.settle(app);
        Ok(actor)
    }

    /// What only the session's own status file can tell: a name matters when a label is derived from it, and the
    /// agent's own word about its process always does.
    fn settle(&mut self, app: &App) {
        let Some(status) = status_of(app, &self.me.id) else { return };
        if self.me.name.is_none() {
            self.me.name.clone_from(&status.name);
        }
        if self.me.model.is_none() {
            self.me.model = status.model.as_ref().and_then(|model| model.name.clone());
        }
        if status.process.as_ref().is_some_and(Process::is_shared)
            && let Some(process) = self.me.process.take()
        {
            self.me.process = Some(process.shared(Some(true)));
        }
    }

    /// Performs an action as this session.
    pub(crate) fn perform(&self, call: &Call) -> Result<Done, Failure> {
        Ok(perform(&self.context(), call)?)
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context { root: &self.root, repo: self.repo.clone(), world: &self.system, me: &self.me, room: self.room }
    }

    /// The bus, for looking.
    pub(crate) fn bus(&self) -> Result<Bus<'_>, Failure> {
        Ok(Bus::open_existing(&self.root, self.repo.clone(), &self.system)?)
    }

    /// The bus, for changing.
    pub(crate) fn bus_made(&self) -> Result<Bus<'_>, Failure> {
        Ok(Bus::open(&self.root, self.repo.clone(), &self.system)?)
    }
}

/// How much mail an answer of a surface may hold, counted as that surface writes it.
fn room(surface: &Surface, json: bool) -> Room {
    match surface {
        Surface::Server { .. } => Room::ANSWER,
        Surface::CommandLine if json => Room::output(|message| {
            let text = serde_json::to_string(message).unwrap_or_default();
            units(&sanitise::escape_json(&text)) + 1
        }),
        Surface::CommandLine => Room::output(jig_session_view::bus::units),
    }
}

/// Whom `--as` means.
enum Meant {
    /// A member to act for: its own process stays its anchor, and nothing else has to be found out.
    Standing(Box<Record>),
    /// A session that is not there, or whose process is another one now.
    Id(String),
}

/// Finds whom `--as` means; `None` without it. An id needs its own record alone, any other word those of all.
fn named_member(bus: &Bus<'_>, options: &Options<'_>) -> Result<Option<Meant>, Failure> {
    let Some(word) = options.named else { return Ok(None) };
    let own = if word.trim().is_empty() { None } else { bus.member(word.trim())? };
    let member = match own {
        Some(member) => member,
        None => {
            let mut members = bus.members_whole()?;
            match choose_member(word, &members) {
                Ok(place) => members.swap_remove(place),
                Err(refusal) if refusal.code == Word::NotFound && options.joins => {
                    return Ok(Some(Meant::Id(word.to_owned())));
                }
                Err(refusal) => return Err(jig_session_bus::Error::from(refusal).into()),
            }
        }
    };
    Ok(Some(if member.state != MemberState::Gone && options.pid.is_none() {
        Meant::Standing(Box::new(member.record))
    } else {
        Meant::Id(member.record.id)
    }))
}

/// The session of a record, on whose behalf an explicit `--as` acts.
fn stand_in(record: Record, timer: bool) -> Me {
    let Record { id, agent, pid, process, owner, .. } = record;
    Me { id, agent, model: None, pid, process, name: None, source: IdSource::Given, timer, owner }
}

/// Where the caller stands, and how it got there.
struct Folder {
    cwd: PathBuf,
    /// As the user spells it.
    spelled: PathBuf,
}

impl Folder {
    fn of(app: &App, cwd: Option<&Path>) -> Result<Self, Failure> {
        let here = std::env::current_dir().map_err(|error| {
            Failure::new(Code::Io, format!("cannot tell the working folder: {error}"))
                .errno(error.raw_os_error())
                .hint("it may have been removed: change to another one")
        });
        let (cwd, spelled) = match cwd {
            Some(cwd) => (here.unwrap_or_default().join(cwd), None),
            None => (here?, app.var("PWD").map(PathBuf::from)),
        };
        let spelled = spelled.unwrap_or_else(|| cwd.clone());
        Ok(Self { cwd, spelled })
    }

    /// The bus that is found for this folder.
    fn bus(&self, find: impl FnOnce(&Path, Option<&Path>) -> Result<Repo, GitError>) -> Result<Repo, Failure> {
        find(&self.cwd, Some(&self.spelled))
            .map_err(|error| Failure::new(Code::Io, error.to_string()).path(error.path()).errno(error.errno()))
    }
}

/// The processes above this one. Command lines are read up to the first agent only: nothing above it matters.
fn ancestors(system: &System) -> Vec<(Ancestor, Seen)> {
    let mut found = Vec::new();
    let mut agent = false;
    for process in system.machine().ancestors(std::process::id()) {
        let mut ancestor = Ancestor { pid: process.pid, name: process.command.clone(), command: Vec::new() };
        if !agent {
            agent = who::agent_of(&ancestor).is_some();
        }
        if !agent {
            ancestor.command = system.machine().command_line(process.pid);
            agent = who::agent_of(&ancestor).is_some();
        }
        found.push((ancestor, process));
    }
    found
}

/// The leader of this process's session: the shell of the terminal, when there is one.
fn leader(system: &System, ancestors: &[(Ancestor, Seen)]) -> Option<u32> {
    let own = std::process::id();
    let session = system.machine().process(own).ok().and_then(|process| process.session);
    // A command that leads its own session (started with setsid) stands for nobody after it has ended.
    session.filter(|pid| *pid != own).or(ancestors.first().map(|(ancestor, _)| ancestor.pid))
}

/// The id of a person at a terminal: the same for every command typed there.
fn terminal_id(system: &System, ancestors: &[(Ancestor, Seen)]) -> String {
    let leader = leader(system, ancestors);
    let start = leader.and_then(|pid| system.machine().process(pid).ok());
    let uid = rustix::process::getuid().as_raw();
    let terminal = start.as_ref().and_then(|process| process.terminal).unwrap_or(0);
    let start = start.map(|process| process.start).unwrap_or_default();
    format!("term-{}", &names::hash16(&format!("{uid}\n{terminal}\n{}\n{start}\n", leader.unwrap_or(0)))[..12])
}

/// The id of an agent of which no session is known: the same for every command below its process.
fn agent_id(system: &System, name: &str, pid: u32) -> String {
    let start = system.machine().process(pid).map(|process| process.start).unwrap_or_default();
    format!("{name}-{}", &names::hash16(&format!("{pid}\n{start}\n"))[..12])
}

/// What the status files tell about a process; `None` when it has several sessions, of which any may be meant.
fn known(view: &View, pid: u32) -> Option<Known> {
    let mut rows = view.rows().filter(|row| row.pid == Some(pid) && !matches!(row.verdict.as_str(), "gone" | "reused"));
    let row = rows.next().filter(|_| rows.next().is_none())?;
    Some(Known {
        session: row.session.clone(),
        agent: row.agent_name().to_string(),
        name: row.name.clone(),
        model: row.model.as_ref().and_then(|model| model.name.clone()),
    })
}

/// A session's own status file, found by its name alone.
fn status_of(app: &App, id: &str) -> Option<Status> {
    let dir = PrivateDir::open_own_existing(app.places().sessions).ok()??;
    let read = dir.read(format!("{}.json", names::document_name(id)?), STATUS_BYTES).ok()?;
    let status = Status::read(&read.bytes).ok()?.value;
    (status.session == id).then_some(status)
}

/// The session that the agent's own record names for a process, if it is that very process's.
fn record(app: &App, system: &System, agent: &Agent, pid: u32) -> Option<String> {
    let (folder, record) = (agent.folder?, agent.record?);
    let folder = folder.path(|name| app.var(name), &app.places().home).join(record.folder);
    let dir = PrivateDir::open_existing(folder).ok()??;
    let read = dir.read(format!("{pid}.json"), 65_536).ok()?;
    let document: serde_json::Value = serde_json::from_slice(&read.bytes).ok()?;
    let process = system.machine().process(pid).ok()?;
    (record.session)(&document, &digits(&process.start))
}
