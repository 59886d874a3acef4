//! What agents hand to their hooks, and what of it is found in any file that the program has written.

use std::fs;
use std::path::{Path, PathBuf};

use jig_session_testing::privacy::{private, values};
use serde_json::Value;

use super::call;
use crate::common::TestEnvironment;

/// Every file below a folder.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// What a status document publishes by its contract: a text may be one of these under another key as well.
fn published(document: &Value, out: &mut Vec<String>) {
    let listed = [("outputs", "path"), ("recent", "tool"), ("recent", "action"), ("children", "id")];
    let named = [&document["cwd"], &document["session"], &document["model"]["id"], &document["transcript"]];
    let lists = listed
        .iter()
        .flat_map(|(list, key)| document[list].as_array().into_iter().flatten().map(move |entry| &entry[key]));
    out.extend(named.into_iter().chain(lists).filter_map(Value::as_str).map(str::to_owned));
}

/// The words behind `hook`, and the payload, of a line of a recording; none where it is no call of ours.
fn recorded(agent: &str, line: &Value) -> Option<(Vec<String>, Value)> {
    if agent == "opencode" {
        // The plugin picks fields; here all of them come. Of what it never sends there are many hundreds.
        let never = ["message.part", "plugin.", "catalog.", "reference.", "integration."];
        let kind = line["event"]["type"].as_str().unwrap_or_default();
        let sends = !never.iter().any(|begins| kind.starts_with(begins));
        return sends.then(|| (vec![agent.to_owned()], line.clone()));
    }
    let word = line["argv"][0].as_str().filter(|_| line["stdin"].is_object())?;
    let event = word.strip_prefix("P:").unwrap_or(word);
    Some((vec![agent.to_owned(), event.to_owned()], line["stdin"].clone()))
}

/// Calls a trace's hooks one after the other and looks for each call's texts in every file; gives how many texts there
/// were, and how many bytes were searched.
fn search(trace: &Path) -> (usize, usize) {
    let agent = trace.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let env = TestEnvironment::new();
    let (mut public, mut searched) = (Vec::new(), (0, 0));
    for line in fs::read_to_string(trace).expect("a recording").lines() {
        let line: Value = serde_json::from_str(line).expect("a line");
        let Some((words, payload)) = recorded(&agent, &line) else { continue };
        // A call remembers nothing but the file: what is not there after it never comes.
        let mut said = Vec::new();
        private(&payload, "", &mut said);
        // As it is, and as a document or a log's line would hold it.
        let escaped = said.iter().map(|text| Value::from(*text).to_string().trim_matches('"').to_owned());
        let texts: Vec<String> = said.iter().map(|text| (*text).to_owned()).chain(escaped).collect();
        searched.0 += texts.len();
        call(&env, &words.iter().map(String::as_str).collect::<Vec<_>>(), payload.to_string().as_bytes());
        let mut own = Vec::new();
        files(env.root(), &mut own);
        for path in own {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
            searched.1 += text.len();
            // The keys of a document, and the words of its state, are ours.
            let text = match serde_json::from_str::<Value>(&text) {
                Ok(document) => {
                    published(&document, &mut public);
                    let mut texts = Vec::new();
                    values(&document, &mut texts);
                    texts.join("\n")
                }
                Err(_) => text,
            };
            let named = path.to_string_lossy();
            for said in texts.iter().filter(|said| text.contains(said.as_str()) || named.contains(said.as_str())) {
                // A subagent's id may hold its kind.
                let is_public = public.iter().any(|public| public.contains(said.as_str()));
                assert!(is_public, "{}: {said:?} is in {}: {text}", trace.display(), path.display());
            }
        }
        public.sort();
        public.dedup();
    }
    searched
}

#[test]
fn no_text_of_a_recorded_run_is_in_any_file() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jig-session-publish/tests/fixtures/hooks");
    let mut traces = Vec::new();
    files(&fixtures, &mut traces);
    traces.retain(|trace| {
        let name = trace.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".jsonl") && !name.starts_with("record-")
    });
    assert!(traces.len() >= 19, "{traces:?}");
    let searched: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let running: Vec<_> = traces.iter().map(|trace| scope.spawn(move || search(trace))).collect();
        running.into_iter().map(|search| search.join().expect("nothing was found")).collect()
    });
    let (texts, bytes) = searched.into_iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert!(texts > 1000 && bytes > 100_000, "{texts} texts, {bytes} bytes");
}
