//! Command lines in a configuration: written as a shell takes them, and recognised as ours.

use serde_json::Value;

/// A program's path as one word of a shell.
#[must_use]
pub fn shell_word(program: &str) -> String {
    let plain = !program.is_empty() && program.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c));
    if plain { program.to_owned() } else { format!("'{}'", program.replace('\'', "'\\''")) }
}

/// The first word of a command line, as the shell would take it, and the rest.
fn first_word(line: &str) -> (String, &str) {
    let mut word = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        match c {
            ' ' | '\t' => break,
            '\'' => match rest[1..].split_once('\'') {
                Some((quoted, after)) => {
                    word.push_str(quoted);
                    rest = after;
                    continue;
                }
                None => break,
            },
            '\\' => {
                let mut after = rest[1..].chars();
                word.extend(after.next());
                rest = after.as_str();
                continue;
            }
            _ => word.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    (word, rest)
}

/// The words of a hook's or a server's command: a line for the shell, a program with `args`, or a list.
fn words(entry: &Value) -> Option<(String, String)> {
    let args = |list: &Value| -> Option<Vec<String>> {
        list.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
    };
    match &entry["command"] {
        Value::String(line) => match args(&entry["args"]) {
            Some(args) => Some((line.clone(), args.iter().map(|word| format!(" {word}")).collect())),
            None => {
                let (program, rest) = first_word(line);
                Some((program, rest.to_owned()))
            }
        },
        list => {
            let mut all = args(list)?.into_iter();
            let program = all.next()?;
            Some((program, all.map(|word| format!(" {word}")).collect()))
        }
    }
}

/// Whether a program is this one, wherever it lies: entries are known by its name.
#[must_use]
pub fn is_ours(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name == "jig-session" || name == "jig-session.exe"
}

/// The program of an entry, if it is ours and runs with exactly these words.
#[must_use]
pub fn program_of(entry: &Value, rest: &str) -> Option<String> {
    let (program, words) = words(entry)?;
    (is_ours(&program) && words == rest).then_some(program)
}

/// Whether a hook is ours, of whatever path: the command line ends with `mark` behind a program of our name.
pub(crate) fn is_hook(hook: &Value, mark: &str) -> bool {
    program_of(hook, mark).is_some()
}

/// Whether a server is ours.
pub(crate) fn is_server(entry: &Value) -> bool {
    program_of(entry, " mcp").is_some()
}

/// Our words of a status line.
pub(crate) const STATUSLINE: &str = " hook claude --statusline";
const THEN: &str = " --then ";

/// The status line's command around a person's own.
pub(crate) fn wrap_statusline(program: &str, inner: &str) -> String {
    let alone = format!("{}{STATUSLINE}", shell_word(program));
    if inner.is_empty() { alone } else { format!("{alone}{THEN}{}", shell_word(inner)) }
}

/// The person's own command in a status line of ours; empty when there is none.
pub(crate) fn unwrap_statusline(command: &str) -> Option<String> {
    let (program, rest) = first_word(command);
    let rest = rest.strip_prefix(STATUSLINE).filter(|_| is_ours(&program))?;
    if rest.is_empty() {
        return Some(String::new());
    }
    let (inner, after) = first_word(rest.strip_prefix(THEN)?);
    after.is_empty().then_some(inner)
}

/// The line that makes a shell start an agent under `jig-session run`.
#[must_use]
pub fn run_line(agent: &str, program: &str) -> String {
    format!("alias {agent}='{} run --agent {agent} -- {agent}'\n", shell_word(program).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_program_of_our_name_with_our_words_is_ours() {
        let table: [(Value, &str, bool); 12] = [
            (json!({ "command": "jig-session hook claude" }), " hook claude", true),
            (json!({ "command": "/opt/x/jig-session hook claude" }), " hook claude", true),
            (json!({ "command": "'/a b/it'\\''s/jig-session' hook claude" }), " hook claude", true),
            (json!({ "command": "jig-session", "args": ["hook", "claude"] }), " hook claude", true),
            (json!({ "command": "jig-session hook claude" }), " hook codex", false),
            (json!({ "command": "jig-session hook claude | tee log" }), " hook claude", false),
            (json!({ "command": "my-jig-session hook claude" }), " hook claude", false),
            (json!({ "command": "env A=1 jig-session hook claude" }), " hook claude", false),
            (json!({ "command": "echo", "args": ["jig-session hook claude"] }), " hook claude", false),
            (json!({ "command": ["/bin/jig-session", "mcp"] }), " mcp", true),
            (json!({ "command": 7 }), " mcp", false),
            (json!("jig-session mcp"), " mcp", false),
        ];
        for (entry, mark, ours) in table {
            assert_eq!(is_hook(&entry, mark), ours, "{entry} {mark}");
        }
    }

    #[test]
    fn a_path_with_blanks_is_one_word_of_the_shell() {
        assert_eq!(shell_word("/usr/bin/jig-session"), "/usr/bin/jig-session");
        assert_eq!(shell_word("/a b/it's"), "'/a b/it'\\''s'");
        for word in ["/usr/bin/x", "/a b/it's", "~/line.sh \"x\" | tail -1", "é"] {
            assert_eq!(first_word(&format!("{} rest", shell_word(word))), (word.to_owned(), " rest"));
        }
    }

    #[test]
    fn a_persons_status_line_comes_back_as_it_was() {
        for inner in ["", "~/line.sh", "jq -r '.model.display_name' | cut -c1-9"] {
            let wrapped = wrap_statusline("/a b/jig-session", inner);
            assert_eq!(unwrap_statusline(&wrapped).as_deref(), Some(inner), "{wrapped}");
        }
        assert_eq!(unwrap_statusline("~/line.sh"), None);
    }
}
