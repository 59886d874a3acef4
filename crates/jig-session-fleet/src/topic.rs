//! The topics: `PREFIX/v1/<machine>/s/<name>` for a session, `PREFIX/v1/<machine>/online` for the machine.

/// The longest part of a topic, in bytes.
const PART_BYTES: usize = 200;

/// Whether a text may be one part of a topic: a plain name that no broker reads as a pattern.
#[must_use]
pub fn is_part(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-~".contains(&byte);
    !text.is_empty() && text.len() <= PART_BYTES && text.bytes().all(plain)
}

/// A machine's name as a part of a topic: the host's name without its domain, other characters as `-`.
#[must_use]
pub fn machine_name(host: &str) -> String {
    let first = host.split('.').next().unwrap_or_default();
    let name: String = first.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "machine".to_owned() } else { name.chars().take(64).collect() }
}

/// The topics below a prefix.
#[derive(Clone, Debug)]
pub struct Topics {
    root: String,
}

/// What a topic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic<'a> {
    /// A machine.
    Machine(&'a str),
    /// A session of a machine, by the name of its status file.
    Session {
        /// The machine.
        machine: &'a str,
        /// The file's name, without `.json`.
        name: &'a str,
    },
}

impl Topics {
    /// Those of a prefix.
    #[must_use]
    pub fn below(prefix: &str) -> Self {
        Self { root: format!("{prefix}/v1/") }
    }

    /// The topic of a machine.
    #[must_use]
    pub fn machine(&self, machine: &str) -> String {
        format!("{}{machine}/online", self.root)
    }

    /// The topic of a session.
    #[must_use]
    pub fn session(&self, machine: &str, name: &str) -> String {
        format!("{}{machine}/s/{name}", self.root)
    }

    /// The patterns of all machines and of all their sessions.
    #[must_use]
    pub fn all(&self) -> [String; 2] {
        [self.machine("+"), self.session("+", "+")]
    }

    /// What a topic is about; `None` for one that is not of this contract.
    #[must_use]
    pub fn read<'a>(&self, topic: &'a str) -> Option<Topic<'a>> {
        let (machine, rest) = topic.strip_prefix(&self.root)?.split_once('/')?;
        let topic = match rest.strip_prefix("s/") {
            None if rest == "online" => Topic::Machine(machine),
            Some(name) if is_part(name) => Topic::Session { machine, name },
            _ => return None,
        };
        is_part(machine).then_some(topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_read_as_it_was_made() {
        let topics = Topics::below("team/a");
        let (machine, name) = ("box-1", "0f3a~00");
        assert_eq!(topics.read(&topics.machine(machine)), Some(Topic::Machine(machine)));
        assert_eq!(topics.read(&topics.session(machine, name)), Some(Topic::Session { machine, name }));
        for other in ["team/a/v1/b", "team/a/v1/b/x", "team/a/v2/b/online", "team/a/v1/b/s/", "team/a/v1/b/s/x/y", "x"]
        {
            assert_eq!(topics.read(other), None, "{other}");
        }
        assert_eq!(topics.read("team/a/v1/b b/online"), None);
        assert_eq!(topics.all(), ["team/a/v1/+/online", "team/a/v1/+/s/+"]);
    }

    #[test]
    fn a_host_has_a_machines_name() {
        let names = ["build-1.example.org", "Ann's MacBook", "", "…", "a_b"].map(machine_name);
        assert_eq!(names, ["build-1", "Ann-s-MacBook", "machine", "machine", "a_b"]);
    }
}
