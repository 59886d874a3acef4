//! The commands of docs/bus.md do what the page says.

use super::town::{Peer, Town};

/// In a `console` block a line `NAME$ jig-session …` is run as the session of that label; a line `(exit N)` after it
/// names its exit code.
#[test]
fn the_workflow_in_the_documentation_runs() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bus.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let town = Town::new();
    let mut peers: Vec<Peer> = Vec::new();
    let mut commands = 0;
    let mut in_block = false;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            in_block = line == "```console";
            continue;
        }
        let Some((name, command)) = line.split_once("$ jig-session ").filter(|_| in_block) else { continue };
        let wanted = lines.peek().and_then(|next| next.strip_prefix("(exit ")?.strip_suffix(')')?.parse().ok());
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let joins =
            words.get(..2) == Some(&["bus", "join"]) && !peers.iter().any(|peer| peer.id == format!("s-{name}"));
        if joins {
            peers.push(town.peer_with(words[2], &words[3..]));
        } else {
            let peer = peers.iter().find(|peer| peer.id == format!("s-{name}"));
            let mut all: Vec<&str> = words.clone();
            if let Some(peer) = peer {
                all.splice(1..1, ["--as", peer.id.as_str()]);
            }
            town.env.jig(&all).exits(wanted.unwrap_or(0));
        }
        commands += 1;
    }
    assert!(commands >= 12, "{commands} commands");
}

/// A line's words, with double quotes around some.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (i, part) in line.split('"').enumerate() {
        if i % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
