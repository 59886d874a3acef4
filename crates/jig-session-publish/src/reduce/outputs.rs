//! The files a session created or changed: one entry a path, the newest time wins, newest first.

use std::path::{Component, Path, PathBuf};

use jig_session_schema::event::{OutputEvent, REMOVED};
use jig_session_schema::limits;
use jig_session_schema::status::{Output, OutputAction};
use jig_session_schema::time::Timestamp;

use super::{Occurrence, Order, Session};

impl Session {
    pub(super) fn output(&mut self, event: &OutputEvent, occurrence: &Occurrence<'_>) {
        let path = absolute(Path::new(&self.status.cwd), Path::new(&event.path));
        let Some(text) = path.to_str() else { return };
        if event.action == REMOVED {
            let is_newer = |output: &Output| occurrence.order != Order::Arrival && output.at > Some(occurrence.at);
            self.status.outputs.retain(|output| output.path != text || is_newer(output));
            return;
        }
        // Put in and dropped again, it would cost the oldest entry of a full list.
        if text.len() > limits::PATH_BYTES {
            self.memory.left_out.push(("outputs", text.len()));
            return;
        }
        let outputs = &mut self.status.outputs;
        put(outputs, text, event.action.clone(), occurrence.at, &|| (occurrence.repo)(&path));
        cap(outputs);
    }
}

/// Puts the ticket's files beside the session's own; files that are no longer there leave the list.
pub(super) fn ticket_files(
    outputs: &mut Vec<Output>,
    files: &[(PathBuf, Timestamp)],
    repo: &dyn Fn(&Path) -> Option<PathBuf>,
) {
    outputs.retain(|output| {
        output.action != OutputAction::TICKET || files.iter().any(|(path, _)| path.to_str() == Some(&output.path))
    });
    // The oldest of more than fit would only be put in to be cut again.
    for (path, at) in files.iter().take(2 * limits::OUTPUTS) {
        if let Some(text) = path.to_str().filter(|text| text.len() <= limits::PATH_BYTES) {
            put(outputs, text, OutputAction::TICKET, *at, &|| repo(path));
        }
    }
    cap(outputs);
}

/// One entry per path. The repository is looked up only for a new path, since that reads the disk.
fn put(outputs: &mut Vec<Output>, path: &str, action: OutputAction, at: Timestamp, repo: &dyn Fn() -> Option<PathBuf>) {
    let known = outputs.iter().position(|output| output.path == path);
    let mut output = match known {
        Some(known) if outputs[known].at > Some(at) => return,
        Some(known) if outputs[known].at == Some(at) && action == OutputAction::TICKET => return,
        Some(known) => outputs.remove(known),
        None => {
            let repo = repo().and_then(|repo| repo.into_os_string().into_string().ok());
            Output::new().path(path.to_owned()).repo(repo)
        }
    };
    output.action = action;
    output.at = Some(at);
    let place = outputs.iter().position(|known| known.at <= Some(at)).unwrap_or(outputs.len());
    outputs.insert(place, output);
}

/// Fifty without a repository and fifty with one, the newest of each.
fn cap(outputs: &mut Vec<Output>) {
    let mut left = [limits::OUTPUTS; 2];
    outputs.retain(|output| {
        let left = &mut left[usize::from(output.repo.is_some())];
        let keep = *left > 0;
        *left -= usize::from(keep);
        keep
    });
}

/// The path from the root, without `.` and `..`. Links are not resolved: the path is shown as the agent named it.
pub(crate) fn absolute(cwd: &Path, path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}
