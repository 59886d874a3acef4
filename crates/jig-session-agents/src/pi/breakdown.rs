//! What fills Pi's context, counted in characters from what Pi tells and scaled to the last real token count.

use std::collections::BTreeMap;

use jig_session_schema::status::{Basis, ContextDetail, ContextFile, ContextPart, ContextSkill, ContextTool, PartName};
use jig_session_schema::time::Timestamp;
use serde_json::Value;

/// Characters a token stands for, where nothing better is known. Pi estimates by the same number.
pub(super) const CHARS_PER_TOKEN: u64 = 4;

/// The parts, in the order in which they are written.
const PARTS: [&str; 12] = [
    "system",
    "tools",
    "skills",
    "contextFiles",
    "user",
    "assistant",
    "thinking",
    "toolCalls",
    "toolResults",
    "jig",
    "compaction",
    "other",
];
/// The parts that a compaction replaces by its summary.
const CONVERSATION: [&str; 8] =
    ["user", "assistant", "thinking", "toolCalls", "toolResults", "jig", "compaction", "other"];
/// How the types of Jig's own messages begin.
const OUR_MESSAGES: [&str; 2] = ["jig", "session-bus"];
/// Which part a section of Pi's system prompt belongs to; all others are the system prompt's own.
const SECTIONS: [(&str, &str); 3] = [("tools", "tools"), ("skills", "skills"), ("project_context", "contextFiles")];

#[derive(Debug, Default)]
struct Tool {
    source: Option<String>,
    chars: u64,
    on: bool,
}

#[derive(Debug)]
struct Named {
    name: String,
    path: Option<String>,
    chars: u64,
    on: bool,
    /// Its tokens as an earlier document of this session has them, until Pi tells its size again.
    kept: Option<u64>,
}

/// The running count of one session.
#[derive(Debug, Default)]
pub(super) struct Breakdown {
    /// Characters of each section of the system prompt, as the transcript's system messages patched it.
    sections: BTreeMap<String, u64>,
    /// The system prompt's length as the last prompt told it, for a Pi that keeps no sections.
    prompt: u64,
    conversation: BTreeMap<&'static str, u64>,
    tools: BTreeMap<String, Tool>,
    skills: Vec<Named>,
    files: Vec<Named>,
}

impl Breakdown {
    /// What there is: the tools, which of them are on, and the skills.
    pub(super) fn offers(&mut self, line: &Value) {
        let mut before = std::mem::take(&mut self.tools);
        for tool in list(line, "tools") {
            let Some(name) = tool["name"].as_str() else { continue };
            let mut known = before.remove(name).unwrap_or_default();
            known.source = tool["source"].as_str().map(str::to_owned);
            // What the transcript says was declared is exact; what the tool would be declared as is a good guess.
            if let Some(chars) = tool["chars"].as_u64().filter(|_| known.chars == 0) {
                known.chars = chars;
            }
            self.tools.insert(name.to_owned(), known);
        }
        self.active(&line["active"]);
        let mut before = std::mem::take(&mut self.skills);
        for name in list(line, "skills").filter_map(Value::as_str) {
            let known = before.iter().position(|skill| skill.name == name).map(|at| before.swap_remove(at));
            self.skills.push(known.unwrap_or_else(|| Named {
                name: name.to_owned(),
                path: None,
                chars: 0,
                on: true,
                kept: None,
            }));
        }
    }

    /// Which tools are declared to the model now.
    pub(super) fn active(&mut self, names: &Value) {
        let Some(names) = names.as_array() else { return };
        for (name, tool) in &mut self.tools {
            tool.on = names.iter().any(|on| on.as_str() == Some(name));
        }
    }

    /// What a `prompt` question tells: skills, context files and the prompt's length.
    pub(super) fn prompt(&mut self, line: &Value) {
        let named = |items: &str, name: &str| {
            let read = |item: &Value| {
                let path = item["path"].as_str().map(str::to_owned);
                let chars = item["chars"].as_u64().unwrap_or_default();
                Some(Named { name: item[name].as_str()?.to_owned(), path, chars, on: true, kept: None })
            };
            list(line, items).filter_map(read).collect::<Vec<_>>()
        };
        if line["skills"].is_array() {
            let offered = named("skills", "name");
            // A skill that was switched off is left out of the question, and stays in the list as one that is off.
            for skill in &mut self.skills {
                skill.on = false;
            }
            for skill in offered {
                match self.skills.iter_mut().find(|known| known.name == skill.name) {
                    Some(known) => *known = skill,
                    None => self.skills.push(skill),
                }
            }
        }
        if line["contextFiles"].is_array() {
            self.files = named("contextFiles", "path");
        }
        if let Some(chars) = line["promptChars"].as_u64() {
            self.prompt = chars;
        }
    }

    /// What an earlier document of this session says of skills and context files. Pi tells their sizes only with a
    /// prompt; until the next one, what the last one brought is what fills the context. Other skills than then: nothing
    /// is kept.
    pub(super) fn kept(&mut self, detail: &ContextDetail) {
        let known = |skill: &Named| detail.skills.iter().find(|kept| kept.name == skill.name);
        if self.skills.len() != detail.skills.len() || self.skills.iter().any(|skill| known(skill).is_none()) {
            return;
        }
        for skill in &mut self.skills {
            if let Some(kept) = known(skill) {
                skill.path.clone_from(&kept.path);
                skill.kept = Some(kept.tokens);
            }
        }
        let file = |kept: &ContextFile| Named {
            name: kept.path.clone(),
            path: Some(kept.path.clone()),
            chars: 0,
            on: true,
            kept: Some(kept.tokens),
        };
        self.files = detail.context_files.iter().map(file).collect();
    }

    /// Skills that a request has turned off are no longer in the prompt.
    pub(super) fn hidden(&mut self, hidden: &[String]) {
        for skill in &mut self.skills {
            skill.on = !hidden.contains(&skill.name);
        }
    }

    /// One message, of the live run or of the transcript. `sizes` holds its `chars` and, for a system message, the
    /// patches to sections and tools.
    pub(super) fn message(&mut self, role: &str, custom_type: Option<&str>, sizes: &Value) {
        let chars = |name: &str| sizes["chars"][name].as_u64().unwrap_or_default();
        let text = chars("text");
        match role {
            "system" => self.system(sizes),
            "user" => self.add("user", text),
            "assistant" => {
                self.add("assistant", text);
                self.add("thinking", chars("thinking"));
                self.add("toolCalls", chars("toolCalls"));
            }
            "toolResult" => self.add("toolResults", chars("toolResult").max(text)),
            "custom" => {
                let ours = custom_type.is_some_and(|kind| OUR_MESSAGES.iter().any(|ours| kind.starts_with(ours)));
                self.add(if ours { "jig" } else { "other" }, text);
            }
            _ => self.add("other", text),
        }
    }

    /// The patches of a system message: sections by name, tools added and removed.
    pub(super) fn system(&mut self, sizes: &Value) {
        if let Some(sections) = sizes["sections"].as_object() {
            for (name, chars) in sections {
                match chars.as_u64() {
                    Some(chars) => self.sections.insert(name.clone(), chars),
                    None => self.sections.remove(name),
                };
            }
        }
        for tool in list(sizes, "toolsAdded") {
            let Some(name) = tool["name"].as_str() else { continue };
            let known = self.tools.entry(name.to_owned()).or_default();
            known.chars = tool["chars"].as_u64().unwrap_or_default();
            known.on = true;
        }
        for name in list(sizes, "toolsRemoved").filter_map(|tool| tool.as_str().or(tool["name"].as_str())) {
            if let Some(tool) = self.tools.get_mut(name) {
                tool.on = false;
            }
        }
    }

    /// The conversation so far was replaced by a summary of so many characters.
    pub(super) fn compacted(&mut self, chars: u64) {
        for part in CONVERSATION {
            self.conversation.remove(part);
        }
        self.summarised(chars);
    }

    /// A summary of so many characters stands in the context.
    pub(super) fn summarised(&mut self, chars: u64) {
        self.add("compaction", chars);
    }

    fn add(&mut self, part: &'static str, chars: u64) {
        *self.conversation.entry(part).or_default() += chars;
    }

    /// Characters of one part.
    fn part(&self, part: &str) -> u64 {
        let of = |section: &str| SECTIONS.iter().find(|row| row.0 == section).map_or("system", |row| row.1);
        let mut chars = self.conversation.get(part).copied().unwrap_or_default();
        chars += self.sections.iter().filter(|(name, _)| of(name) == part).map(|(_, chars)| chars).sum::<u64>();
        if part == "tools" {
            chars += self.tools.values().filter(|tool| tool.on).map(|tool| tool.chars).sum::<u64>();
        }
        if self.sections.is_empty() {
            let sum = |named: &[Named]| named.iter().filter(|one| one.on).map(|one| one.chars).sum::<u64>();
            let (skills, files) = (sum(&self.skills), sum(&self.files));
            chars += match part {
                "system" => self.prompt.saturating_sub(skills + files),
                "skills" => skills.min(self.prompt),
                "contextFiles" => files.min(self.prompt.saturating_sub(skills)),
                _ => 0,
            };
        }
        chars
    }

    /// The document: scaled so that its parts sum to `tokens`, the agent's own last real count; without one, an
    /// estimate. `None` while nothing is known to fill the context.
    pub(super) fn detail(
        &self,
        at: Option<Timestamp>,
        tokens: Option<u64>,
        window: Option<u64>,
    ) -> Option<ContextDetail> {
        let chars: Vec<u64> = PARTS.iter().map(|part| self.part(part)).collect();
        let sum: u64 = chars.iter().sum();
        if sum == 0 {
            return None;
        }
        let tokens = tokens.filter(|tokens| *tokens > 0);
        let total = tokens.unwrap_or(sum.div_ceil(CHARS_PER_TOKEN));
        let scaled =
            |chars: u64| u64::try_from(u128::from(chars) * u128::from(total) / u128::from(sum)).unwrap_or(u64::MAX);
        let of = |named: &Named| named.kept.unwrap_or_else(|| scaled(named.chars));
        let shares = shared_out(&chars, sum, total);
        let mut tools: Vec<_> = self.tools.iter().collect();
        tools.sort_by(|a, b| (b.1.on, b.1.chars).cmp(&(a.1.on, a.1.chars)).then_with(|| a.0.cmp(b.0)));
        let parts = PARTS.iter().zip(shares).filter(|(_, tokens)| *tokens > 0);
        let parts =
            parts.filter_map(|(part, tokens)| Some(ContextPart::new().part(PartName::new(*part)?).tokens(tokens)));
        let tools = tools.into_iter().map(|(name, tool)| {
            let tokens = scaled(tool.chars);
            ContextTool::new().name(name.clone()).source(tool.source.clone()).tokens(tokens).on(tool.on)
        });
        let skills = self.skills.iter().map(|skill| {
            let tokens = of(skill);
            ContextSkill::new().name(skill.name.clone()).path(skill.path.clone()).tokens(tokens).on(skill.on)
        });
        let files = self.files.iter().map(|file| ContextFile::new().path(file.name.clone()).tokens(of(file)));
        let basis = if tokens.is_some() { Basis::Measured } else { Basis::Estimate };
        let detail = ContextDetail::new().at(at).basis(basis).window(window).total(Some(total));
        Some(
            detail
                .parts(parts.collect())
                .tools(tools.collect())
                .skills(skills.collect())
                .context_files(files.collect()),
        )
    }
}

/// Shares of `total` in proportion to `chars`, whole numbers that sum to `total`: what rounding down leaves over
/// goes to the largest remainders.
fn shared_out(chars: &[u64], sum: u64, total: u64) -> Vec<u64> {
    let exact: Vec<u128> = chars.iter().map(|chars| u128::from(*chars) * u128::from(total)).collect();
    let mut shares: Vec<u64> =
        exact.iter().map(|exact| u64::try_from(exact / u128::from(sum)).unwrap_or(u64::MAX)).collect();
    let mut left = total.saturating_sub(shares.iter().sum());
    let mut order: Vec<usize> = (0..chars.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(exact[*index] % u128::from(sum)));
    for index in order {
        if left == 0 {
            break;
        }
        shares[index] += 1;
        left -= 1;
    }
    shares
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at() -> Option<Timestamp> {
        Some(Timestamp::from_epoch_ms(1_795_976_328_757))
    }

    fn filled() -> Breakdown {
        let mut breakdown = Breakdown::default();
        breakdown
            .offers(&json!({"tools": [{"name": "read", "source": "builtin"}, {"name": "grep", "source": "builtin"}],
            "active": ["read"], "skills": ["git-notes", "pdf-tools"]}));
        breakdown.message(
            "system",
            None,
            &json!({"sections": {"preamble": 400, "tools": 100, "skills": 80,
            "project_context": 60, "cwd": 20}, "toolsAdded": [{"name": "read", "chars": 300}]}),
        );
        breakdown.prompt(&json!({"skills": [{"name": "git-notes", "path": "/s/g", "chars": 40}],
            "contextFiles": [{"path": "/p/AGENTS.md", "chars": 50}], "promptChars": 660}));
        breakdown.message("user", None, &json!({"chars": {"text": 40}}));
        breakdown.message("assistant", None, &json!({"chars": {"text": 8, "thinking": 12, "toolCalls": 20}}));
        breakdown.message("toolResult", None, &json!({"chars": {"toolResult": 60}}));
        breakdown.message("custom", Some("session-bus"), &json!({"chars": {"text": 16}}));
        breakdown
    }

    fn parts(detail: &ContextDetail) -> Vec<(String, u64)> {
        detail.parts.iter().map(|part| (part.part.to_string(), part.tokens)).collect()
    }

    #[test]
    fn an_estimate_is_a_quarter_of_the_characters() {
        let detail = filled().detail(at(), None, Some(1000)).unwrap();
        assert_eq!(detail.basis, Basis::Estimate);
        assert_eq!(detail.total, Some(279));
        let right = [
            ("system", 105),
            ("tools", 100),
            ("skills", 20),
            ("contextFiles", 15),
            ("user", 10),
            ("assistant", 2),
            ("thinking", 3),
            ("toolCalls", 5),
            ("toolResults", 15),
            ("jig", 4),
        ];
        assert_eq!(parts(&detail), right.map(|(part, tokens)| (part.to_owned(), tokens)));
    }

    #[test]
    fn measured_parts_sum_to_the_agents_own_count() {
        for tokens in [1, 7, 279, 1000, 1_000_003, 9_007_199_254_740_991] {
            let detail = filled().detail(at(), Some(tokens), None).unwrap();
            assert_eq!((detail.total, detail.basis), (Some(tokens), Basis::Measured));
            assert_eq!(detail.parts.iter().map(|part| part.tokens).sum::<u64>(), tokens);
        }
    }

    #[test]
    fn tools_skills_and_files_are_listed_with_what_is_off() {
        let detail = filled().detail(at(), None, None).unwrap();
        let tools: Vec<_> = detail.tools.iter().map(|tool| (tool.name.as_str(), tool.tokens, tool.on)).collect();
        assert_eq!(tools, [("read", 75, true), ("grep", 0, false)]);
        let skills: Vec<_> = detail.skills.iter().map(|skill| (skill.name.as_str(), skill.on)).collect();
        assert_eq!(skills, [("git-notes", true), ("pdf-tools", false)]);
        assert_eq!((detail.context_files[0].path.as_str(), detail.context_files[0].tokens), ("/p/AGENTS.md", 12));
    }

    #[test]
    fn a_later_system_message_patches_sections_and_tools() {
        let mut breakdown = filled();
        breakdown.message(
            "system",
            None,
            &json!({"sections": {"skills": null, "preamble": 40}, "toolsRemoved": ["read"]}),
        );
        let detail = breakdown.detail(at(), None, None).unwrap();
        assert!(detail.parts.iter().all(|part| part.part != PartName::SKILLS));
        assert_eq!(detail.tools.iter().filter(|tool| tool.on).count(), 0);
    }

    #[test]
    fn skills_and_files_keep_their_tokens_until_the_next_prompt() {
        let before = filled().detail(at(), Some(558), None).unwrap();
        let fresh = |skills: &[&str]| {
            let mut breakdown = Breakdown::default();
            breakdown.offers(&json!({"tools": [], "active": [], "skills": skills}));
            breakdown.message("system", None, &json!({"sections": {"preamble": 400, "skills": 80}}));
            breakdown.kept(&before);
            breakdown
        };
        let skills = |detail: &ContextDetail| {
            detail.skills.iter().map(|skill| (skill.name.clone(), skill.path.clone(), skill.tokens)).collect::<Vec<_>>()
        };
        let mut breakdown = fresh(&["pdf-tools", "git-notes"]);
        let detail = breakdown.detail(at(), Some(100), None).unwrap();
        let right = [("pdf-tools".to_owned(), None, 0), ("git-notes".to_owned(), Some("/s/g".to_owned()), 20)];
        assert_eq!(skills(&detail), right);
        assert_eq!((detail.context_files[0].path.as_str(), detail.context_files[0].tokens), ("/p/AGENTS.md", 25));
        breakdown.prompt(&json!({"skills": [{"name": "git-notes", "path": "/s/g", "chars": 48}], "contextFiles": []}));
        let detail = breakdown.detail(at(), Some(100), None).unwrap();
        assert_eq!((skills(&detail)[1].2, detail.context_files.len()), (10, 0));
        for other in [&["git-notes"][..], &["git-notes", "other"], &["git-notes", "pdf-tools", "other"]] {
            let detail = fresh(other).detail(at(), Some(100), None).unwrap();
            assert!(
                detail.skills.iter().all(|skill| skill.tokens == 0) && detail.context_files.is_empty(),
                "{other:?}"
            );
        }
    }

    #[test]
    fn a_compaction_replaces_the_conversation() {
        let mut breakdown = filled();
        breakdown.compacted(80);
        let names: Vec<_> =
            parts(&breakdown.detail(at(), None, None).unwrap()).into_iter().map(|part| part.0).collect();
        assert_eq!(names, ["system", "tools", "skills", "contextFiles", "compaction"]);
    }

    #[test]
    fn without_sections_the_prompts_length_tells_the_system_part() {
        let mut breakdown = Breakdown::default();
        assert!(breakdown.detail(at(), None, None).is_none());
        breakdown.prompt(&json!({"skills": [{"name": "a", "path": "/a", "chars": 40}],
            "contextFiles": [{"path": "/p", "chars": 60}], "promptChars": 500}));
        let detail = breakdown.detail(at(), None, None).unwrap();
        let right = [("system", 100), ("skills", 10), ("contextFiles", 15)];
        assert_eq!(parts(&detail), right.map(|(part, tokens)| (part.to_owned(), tokens)));
    }
}
