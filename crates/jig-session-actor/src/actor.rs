//! One session in one repository, found by what surrounds a call.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use jig_session_bus::who::{self, Ancestor, IdSource, Question};
use jig_session_bus::{
    Bus, Buses, Call, Code, Context, Done, Me, Repo, Room, System, World, choose_member, label, perform,
};
use jig_session_liveness::Processes;
use jig_session_schema::bus::Record;
use jig_session_schema::bus_result::MemberState;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{AgentName, Process};

use crate::Error;
use crate::fallback::{agent_id, ancestors, leader, terminal_id};
use crate::folder::Folder;
use crate::lookup::{known, record, sessions, status_of};

/// What the command line says about who acts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// `--as`.
    pub named: Option<&'a str>,
    /// `--cwd`.
    pub cwd: Option<&'a Path>,
    /// `--pid`.
    pub pid: Option<u32>,
    /// `--agent`.
    pub agent: Option<&'a str>,
    /// `--id`.
    pub id: Option<&'a str>,
    /// The id in a hook's payload.
    pub payload: Option<&'a str>,
    /// The call is a join: `--as` may name somebody new.
    pub joins: bool,
}

/// Which surface acts.
#[derive(Clone, Debug)]
pub enum Surface {
    /// A command, over at once: its calls are its beats.
    CommandLine {
        /// How much mail one answer may hold, counted as the command writes it.
        room: Room,
    },
    /// A server that lasts and beats; the id of last resort is its own.
    Server {
        /// `mcp-<uuid>`.
        id: String,
    },
}

/// One session in one repository.
pub struct Actor {
    /// The session.
    pub me: Me,
    /// The repository on whose bus it acts.
    pub repo: Repo,
    /// The folder of all buses.
    pub root: PathBuf,
    /// The machine as the bus sees it.
    pub system: System,
    /// How much mail one answer may hold.
    pub room: Room,
}

impl Actor {
    /// Finds who acts, by the one order that every surface shares.
    ///
    /// # Errors
    /// When the folder, the bus or a session that is named cannot be found or read.
    pub fn find(env: &Environment, options: &Options<'_>, surface: Surface) -> Result<Self, Error> {
        let places = Places::of(env);
        let (server, room) = match &surface {
            Surface::CommandLine { room } => (false, *room),
            Surface::Server { .. } => (true, Room::ANSWER),
        };
        let system = System::new();
        let root = places.bus.clone();
        let buses = Buses::new(&root, &system);
        let folder = Folder::of(env, options.cwd)?;
        let mut repo = folder.bus(|cwd, spelled| buses.of_folder(cwd, spelled))?;
        // A folder that is named, or joined in, is meant; otherwise a session acts on the bus that it is on.
        let by_folder = options.cwd.is_some() || options.joins;
        let mut meant = named_member(&Bus::open_existing(&root, repo.clone(), &system)?, options);
        if let (Err(error), Some(word), false) = (&meant, options.named, by_folder)
            && error.code() == Code::NotFound
            && let Some(elsewhere) = buses.member(word)
        {
            repo = elsewhere.repo;
            meant = Ok(Some(Meant::Standing(Box::new(elsewhere.member.record))));
        }
        let meant = meant?;
        if let Some(Meant::Standing(record)) = meant {
            let me = stand_in(*record, server);
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
            (Surface::CommandLine { .. }, Some((name, pid))) => agent_id(&system, name, pid),
            (Surface::CommandLine { .. }, None) => terminal_id(&system, &ancestors),
        };
        let answer = who::find(&Question {
            named: meant.as_deref().or(options.id),
            payload: options.payload,
            variable: &|name| env.get(name).map(str::to_owned),
            ancestors: &chain,
            known: &|pid| known(rows.get_or_init(|| sessions(&places)).as_ref()?, pid),
            record: &|agent, pid| record(env, &places, &system, agent, pid),
            fallback: &fallback,
        });
        let anchor = match &surface {
            // One client may start a server for each of its agents: a server that knows no session is one of its own.
            Surface::Server { .. } if answer.source == IdSource::Own => Some(std::process::id()),
            Surface::Server { .. } => {
                answer.agent.as_ref().map(|(_, pid)| *pid).or(chain.first().map(|ancestor| ancestor.pid))
            }
            Surface::CommandLine { .. } => {
                answer.agent.as_ref().map(|(_, pid)| *pid).or_else(|| leader(&system, &ancestors))
            }
        };
        let pid = options.pid.or(anchor);
        let process = pid.and_then(|pid| system.machine().identity_of(pid).ok());
        if let (Some(pid), None) = (options.pid, &process) {
            return Err(Error::NoProcess(pid));
        }
        let agent = match (&answer.agent, options.agent) {
            (_, Some(agent)) => agent,
            (Some((agent, _)), _) => agent.as_str(),
            (None, _) if server => "mcp",
            (None, _) if answer.source == IdSource::Own => "human",
            (None, _) => "cli",
        };
        let agent = AgentName::new(agent).ok_or(Error::AgentName)?;
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
        actor.settle(&places);
        Ok(actor)
    }

    /// What only the session's own status file can tell: a name matters when a label is derived from it, and the
    /// agent's own word about its process always does.
    fn settle(&mut self, places: &Places) {
        let Some(status) = status_of(places, &self.me.id) else { return };
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
    ///
    /// # Errors
    /// When the bus refuses it in no form of its own, or one of its files fails.
    pub fn perform(&self, call: &Call) -> Result<Done, Error> {
        Ok(perform(&self.context(), call)?)
    }

    /// What an action is performed with.
    #[must_use]
    pub fn context(&self) -> Context<'_> {
        Context { root: &self.root, repo: self.repo.clone(), world: &self.system, me: &self.me, room: self.room }
    }

    /// The bus, for looking.
    ///
    /// # Errors
    /// When its folder is not private.
    pub fn bus(&self) -> Result<Bus<'_>, Error> {
        Ok(Bus::open_existing(&self.root, self.repo.clone(), &self.system)?)
    }

    /// The bus, for changing: it is made where it is not there.
    ///
    /// # Errors
    /// When its folder cannot be made, or is not private.
    pub fn bus_made(&self) -> Result<Bus<'_>, Error> {
        Ok(Bus::open(&self.root, self.repo.clone(), &self.system)?)
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
fn named_member(bus: &Bus<'_>, options: &Options<'_>) -> Result<Option<Meant>, Error> {
    let Some(word) = options.named else { return Ok(None) };
    let own = if word.trim().is_empty() { None } else { bus.member(word.trim())? };
    let member = match own {
        Some(member) => member,
        None => {
            let mut members = bus.members_whole()?;
            match choose_member(word, &members) {
                Ok(place) => members.swap_remove(place),
                Err(refusal) if refusal.code == Code::NotFound && options.joins => {
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
