//! Shells, programs that carry another screen, and plain programs: what their last line says.

use super::screen::{has, is_blank, trimmed};

/// Whether a foreground command waits at a prompt unless it asks something. A login that tmux shows is one too, and what
/// it cannot name.
fn is_shell(name: &str) -> bool {
    ["", "login"].contains(&name) || jig_session_liveness::is_shell(name)
}

/// Shells of which the terminal's mode says nothing: `sh` may have no line editor, and the Korn shells use theirs for the
/// builtin `read` too.
const COOKED: [&str; 15] =
    ["", "sh", "dash", "ash", "busybox", "toybox", "rc", "es", "cmd", "login", "ksh", "ksh93", "mksh", "oksh", "lksh"];

/// Commands that show another machine's or another user's terminal, or start a program for it.
const CARRIERS: [&str; 14] = [
    "ssh",
    "mosh",
    "mosh-client",
    "su",
    "sudo",
    "doas",
    "cd",
    "docker",
    "podman",
    "kubectl",
    "lxc",
    "nsenter",
    "machinectl",
    "distrobox",
];

/// Terminal multiplexers: their own status line stands below the screen they carry.
const MULTIPLEXERS: [&str; 3] = ["tmux", "screen", "zellij"];

/// Programs that show files or logs, where any agent's screen may be quoted, and tools that print much.
const VIEWERS: [&str; 36] = [
    "vim",
    "nvim",
    "vi",
    "view",
    "nano",
    "emacs",
    "hx",
    "helix",
    "micro",
    "less",
    "more",
    "most",
    "man",
    "bat",
    "cat",
    "tail",
    "head",
    "watch",
    "git",
    "delta",
    "tig",
    "lazygit",
    "cargo",
    "rustc",
    "make",
    "cmake",
    "ninja",
    "gcc",
    "go",
    "journalctl",
    "htop",
    "top",
    "btop",
    "k9s",
    "psql",
    "mysql",
];

/// What kind of program stands in a pane's foreground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Shell,
    Carrier,
    Multiplexer,
    Viewer,
    /// Anything else: an agent, its interpreter, a wrapper, a build.
    Program,
}

/// Tells the kind from `pane_current_command`.
pub(crate) fn kind(command: &str) -> Kind {
    // A login shell's name begins with a dash.
    let name = command.trim_start_matches('-').to_ascii_lowercase();
    let in_list = |list: &[&str]| list.contains(&name.as_str());
    if is_shell(&name) {
        Kind::Shell
    } else if in_list(&CARRIERS) {
        Kind::Carrier
    } else if in_list(&MULTIPLEXERS) {
        Kind::Multiplexer
    } else if in_list(&VIEWERS) {
        Kind::Viewer
    } else {
        Kind::Program
    }
}

/// Characters a prompt ends in, or, for themes, begins with.
const PROMPT_END: [char; 17] =
    ['$', '#', '%', '>', '❯', '➜', 'λ', '»', '›', '✗', '✘', '▶', '❱', '〉', '\u{e0b0}', '\u{e0b1}', '⟩'];
const PROMPT_START: [char; 7] = ['❯', '➜', 'λ', '»', '▶', '╰', '└'];

/// Whether a shell's last line is its prompt, with or without a command typed behind it.
pub(crate) fn prompt(line: &str) -> bool {
    let text = trimmed(line);
    let Some(last) = text.chars().next_back() else { return false };
    if PROMPT_END.contains(&last) && !percentage(text) || text.starts_with(PROMPT_START) {
        return true;
    }
    // `user@host:path$ typed text`, `bash-5.2$ typed text`, `$ typed text`.
    let mut words = text.split(is_blank).filter(|word| !word.is_empty());
    words.next().is_some_and(|first| matches!(first, "$" | "%" | "#" | ">")) || names_itself(line)
}

/// Whether a line begins with a prompt that names a machine, a folder or a shell, which nothing but a shell writes. The
/// sign may stand alone behind that name: `/srv/app # ` (busybox), `dev@devbox ~ @ ` (xonsh).
pub(crate) fn names_itself(line: &str) -> bool {
    let mut named = false;
    line.split(is_blank).filter(|word| !word.is_empty()).take(4).any(|word| {
        let place = word.contains(['@', '/', '~']);
        let end = word.trim_end_matches(['>', '#', '$', '%']);
        let sign = match word {
            "$" | "#" | "%" | "@" => named,
            // A branch or a folder between: `root@devbox /srv (main)# ` (fish), `[dev@devbox app]$ `.
            _ if named && end.len() < word.len() && end.ends_with([')', ']']) => true,
            _ => word.ends_with(['$', '#', '%', '>', '❯']) && (place || names_shell(word)),
        };
        named = (place && word.ends_with(|last: char| !"?:".contains(last))) || (named && word.starts_with(['(', '[']));
        sign
    })
}

/// Whether a line begins as a prompt of nothing but a machine's name does: `devbox% `, `devbox# `. Other programs write
/// such words too, so it counts only where a line editor is known to read.
pub(crate) fn begins_with_sign(line: &str) -> bool {
    let first = line.split(is_blank).next().unwrap_or_default();
    first.chars().count() > 1 && first.ends_with(['$', '#', '%', '>', '❯']) && !percentage(first)
}

/// Whether the first word of a line is such a prompt.
pub(crate) fn begins_with_prompt(line: &str) -> bool {
    line.split(is_blank).next().is_some_and(names_itself)
}

/// Ends in a number of percent: how far something has come.
fn percentage(text: &str) -> bool {
    let number = text.strip_suffix('%').map(|head| head.rsplit(is_blank).next().unwrap_or(head));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// `bash-5.2$`, `sh#`: a shell's name with its version, as a shell without a prompt of its own says it.
fn names_shell(word: &str) -> bool {
    let name = &word[..word.len() - word.chars().next_back().map_or(0, char::len_utf8)];
    let name = name.split_once('-').map_or(name, |(name, _)| name);
    !name.is_empty() && is_shell(name)
}

/// Whether this shell reads its commands through a line editor, so the terminal's mode distinguishes its prompt from
/// what it runs itself.
pub(crate) fn edits_lines(command: &str) -> bool {
    let name = command.trim_start_matches('-');
    is_shell(name) && !COOKED.contains(&name)
}

/// `[y/N]`, `(yes/no)` at the end of a line, behind words.
pub(crate) fn choice_of_answers(line: &str) -> bool {
    choice(trimmed(line).trim_end_matches([':', ' ', '>', '?']))
}

/// Whether a line is a question to a person: it ends in a question mark or in a choice of answers, asks for a
/// secret, or waits for a key.
pub(crate) fn question(line: &str) -> bool {
    let text = trimmed(line);
    let text = text.trim_end_matches([':', ' ', '>']);
    if text.is_empty() {
        return false;
    }
    text.ends_with('?')
        || choice(text)
        || secret(line)
        || has(text, "press enter")
        || has(text, "press any key")
        || has(text, "press return")
        || (trimmed(line).ends_with(':') && asked(text))
}

/// Whether a shell that shows no prompt waits for text: its last line ends in a colon. Only for shells, since the
/// logs of other programs are full of such lines.
pub(crate) fn asks_for_text(line: &str) -> bool {
    let text = trimmed(line);
    text.ends_with(':') && text.chars().count() <= 100
}

/// `[Y/n]`, `(yes/no)`, `(y)`, `(Y)es/(N)o [Yes]` at the end, behind words.
fn choice(text: &str) -> bool {
    const ANSWERS: [&str; 8] = ["y", "n", "yes", "no", "a", "all", "q", "quit"];
    let Some(open) = text.rfind(['[', '(']) else { return false };
    if !text.ends_with([']', ')']) || trimmed(&text[..open]).is_empty() {
        return false;
    }
    let group = &text[open + 1..text.len() - 1];
    let mut answers = group.split(['/', ',', '|']).map(trimmed);
    answers.all(|answer| !answer.is_empty() && ANSWERS.iter().any(|known| answer.eq_ignore_ascii_case(known)))
}

/// Begins with a word that prompts for input.
fn asked(text: &str) -> bool {
    const VERBS: [&str; 7] = ["enter", "type", "input", "select", "choose", "provide", "specify"];
    let mut words = text.split(is_blank).filter(|word| !word.is_empty());
    words.by_ref().take(2).any(|word| VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb)))
}

/// A line that ends in a colon and names a secret or an identity.
fn secret(line: &str) -> bool {
    const NAMES: [&str; 8] =
        ["password", "passphrase", "passcode", "username", "login", "otp", "pin", "verification code"];
    let text = trimmed(line);
    // Tools print long logs that end in a colon; a request for a secret is short.
    text.ends_with(':') && text.chars().count() <= 100 && NAMES.iter().any(|name| has_word(text, name))
}

fn has_word(text: &str, word: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.match_indices(word).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_shells() {
        for line in [
            "dev@devbox:~/app$",
            "root@devbox:/srv/app#",
            "➜  app git:(main) ✗",
            "❯",
            "dev@devbox ~/app>",
            "$",
            "dev@devbox:~/app$ git status",
            "(venv) dev@devbox:~/app$ echo really?",
            "bash-5.2$ git commit -m 'does it?",
            "(venv) bash-5.2# read the [y/N]",
            "host%",
            "[dev@devbox app]$",
            "/srv/app #",
            "/srv/app # git commit -m 'does it?",
            "dev@devbox ~/app @",
            "root@devbox /srv/app (main)# does it?",
            "[dev@devbox app]$ does it?",
            "dev@devbox ~/app @ does it?",
            "~/app> is it?                    12/01/2026 03:00:11 PM",
        ] {
            assert!(prompt(line), "{line}");
        }
        for line in [
            "",
            "test case 3 ... ok",
            "Downloading  41%",
            "C# or F#?",
            "Overwrite /etc/hosts > /etc/hosts.new? [y/N]",
            "Delete 3 # lines?",
            "Do you want to proceed? [y/N]",
            "Ok to proceed? (y)",
            "dev@localhost's password:",
        ] {
            assert!(!prompt(line), "{line}");
        }
    }

    #[test]
    fn questions_of_programs() {
        for line in [
            "Do you want to continue? [Y/n] ",
            "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
            "(1/1) Stage this hunk [y,n,q,a,d,e,p,?]? ",
            "Need to install create-app@1.2.0. Ok to proceed? (y) ",
            "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: ",
            "rm: remove regular file '/tmp/readonly'? ",
            "dev@localhost's password: ",
            "[sudo] password for dev: ",
            "Enter passphrase for key '/home/dev/.ssh/id': ",
            "Username for 'https://example.com': ",
            "Overwrite (y/N)",
            "Press ENTER to continue",
        ] {
            assert!(question(line), "{line}");
        }
        for line in [
            "",
            "Building [=====>   ] 41/120",
            "[shard 3] retry: permission check required by policy cache",
            "duration_ms 447.208195",
            "src/retry.ts (END)",
            "[shard 3] 2 workers waiting for input shards",
            "spinning:",
        ] {
            assert!(!question(line), "{line}");
        }
    }

    #[test]
    fn prompts_of_a_name_alone_are_not_what_a_program_asks() {
        for (line, prompt) in [
            ("devbox% does it?", true),
            ("devbox# read the [y/N]", true),
            ("41% done?", false),
            ("Continue: really? [y/N]", false),
            ("[1/2] keep it?", false),
            ("$ x", false),
        ] {
            assert_eq!(begins_with_sign(line), prompt, "{line}");
        }
    }

    #[test]
    fn kinds() {
        for shell in ["busybox", "yash", "oksh", "ksh93", "fish", "nu", "xonsh", "rbash", "-bash"] {
            assert_eq!(kind(shell), Kind::Shell, "{shell}");
        }
        assert_eq!(kind("-zsh"), Kind::Shell);
        assert_eq!(kind(""), Kind::Shell);
        assert_eq!(kind("sudo"), Kind::Carrier);
        assert_eq!(kind("node"), Kind::Program);
        assert_eq!(kind("vim"), Kind::Viewer);
    }
}
