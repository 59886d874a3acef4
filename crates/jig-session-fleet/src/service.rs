//! What has a machine share from the moment its user logs in: a systemd unit, a launchd agent.

/// The unit for `~/.config/systemd/user/jig-session-fleet.service`.
#[must_use]
pub fn systemd_unit(program: &str, words: &[String]) -> String {
    let command: Vec<String> = std::iter::once(program.to_owned()).chain(words.iter().cloned()).map(quoted).collect();
    format!(
        "[Unit]\n\
         Description=Share this machine's coding-agent sessions through a broker\n\
         After=network-online.target\n\
         \n\
         [Service]\n\
         ExecStart={}\n\
         Restart=on-failure\n\
         RestartSec=10\n\
         # JIG_FLEET_USER and JIG_FLEET_PASSWORD stand there, readable by you alone.\n\
         EnvironmentFile=-%h/.config/jig-session/fleet.env\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        command.join(" ")
    )
}

/// A word as systemd reads it.
fn quoted(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    let escaped: String = word
        .chars()
        .map(|c| match c {
            '\\' => "\\\\".to_owned(),
            '"' => "\\\"".to_owned(),
            '%' => "%%".to_owned(),
            '$' => "$$".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// The property list for `~/Library/LaunchAgents/dev.jig-session.fleet.plist`.
#[must_use]
pub fn launchd_plist(program: &str, words: &[String]) -> String {
    let line = |word: &str| {
        let word = word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("    <string>{word}</string>\n")
    };
    let words: String = std::iter::once(program).chain(words.iter().map(String::as_str)).map(line).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n\
         \x20 <key>Label</key>\n  <string>dev.jig-session.fleet</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n\
         \x20 <key>RunAtLoad</key>\n  <true/>\n\
         \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         </dict>\n</plist>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_both_forms() {
        let words = ["fleet", "share", "--to", "mqtts://h/a&b", "--as", "a b%$\"\\"].map(str::to_owned);
        let unit = systemd_unit("/usr/bin/jig-session", &words);
        let line = "ExecStart=/usr/bin/jig-session fleet share --to \"mqtts://h/a&b\" --as \"a b%%$$\\\"\\\\\"\n";
        assert!(unit.contains(line), "{unit}");
        assert!(launchd_plist("/usr/bin/jig-session", &words).contains("<string>mqtts://h/a&amp;b</string>"));
    }
}
