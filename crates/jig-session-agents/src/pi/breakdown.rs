//! What fills Pi's context, counted in characters from what Pi reports and scaled to the last real token count.

use std::collections::BTreeMap;

use jig_session_schema::bridge::{BridgeEvent, BridgeTool, Chars, Entry, Prompt, PromptFile, ToolChars};
use jig_session_schema::shape::Named as ByName;
use jig_session_schema::status::{Basis, ContextDetail, ContextFile, ContextPart, ContextSkill, ContextTool, PartName};
use jig_session_schema::time::Timestamp;

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
    /// Its tokens as an earlier document of this session has them, until Pi reports its size again.
    kept: Option<u64>,
}

/// What a line says of the sizes of one message: its parts and, for a system message, the patches to sections and
/// tools.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes<'a> {
    chars: Option<&'a Chars>,
    sections: Option<&'a ByName<Option<u64>>>,
    tools_added: &'a [ToolChars],
    tools_removed: &'a [String],
}

macro_rules! sizes_of {
    ($Line:ty) => {
        impl<'a> From<&'a $Line> for Sizes<'a> {
            fn from(line: &'a $Line) -> Self {
                Self {
                    chars: line.chars.as_ref(),
                    sections: line.sections.as_ref(),
                    tools_added: &line.tools_added,
                    tools_removed: &line.tools_removed,
                }
            }
        }
    };
}

sizes_of!(BridgeEvent);
sizes_of!(Entry);

/// The running count of one session.
#[derive(Debug, Default)]
pub(super) struct Breakdown {
    /// Characters of each section of the system prompt, as the transcript's system messages patched it.
    sections: BTreeMap<String, u64>,
    /// The system prompt's length as of the last prompt, for a Pi without sections.
    prompt: u64,
    conversation: BTreeMap<&'static str, u64>,
    tools: BTreeMap<String, Tool>,
    skills: Vec<Named>,
    files: Vec<Named>,
}

impl Breakdown {
    /// What there is: the tools, which of them are on, and the skills.
    pub(super) fn offers(&mut self, tools: &[BridgeTool], active: &[String], skills: &[String]) {
        let mut before = std::mem::take(&mut self.tools);
        for tool in tools {
            let mut known = before.remove(&tool.name).unwrap_or_default();
            known.source.clone_from(&tool.source);
            // What the transcript says was declared is exact; what the tool would be declared as is a good guess.
            if let Some(chars) = tool.chars.filter(|_| known.chars == 0) {
                known.chars = chars;
            }
            self.tools.insert(tool.name.clone(), known);
        }
        self.active(active);
        let mut before = std::mem::take(&mut self.skills);
        for name in skills {
            let known = before.iter().position(|skill| skill.name == *name).map(|at| before.swap_remove(at));
            self.skills.push(known.unwrap_or_else(|| Named {
                name: name.clone(),
                path: None,
                chars: 0,
                on: true,
                kept: None,
            }));
        }
    }

    /// Which tools are declared to the model now.
    pub(super) fn active(&mut self, names: &[String]) {
        for (name, tool) in &mut self.tools {
            tool.on = names.contains(name);
        }
    }

    /// The content of a `prompt` line: skills, context files and the prompt's length.
    pub(super) fn prompt(&mut self, line: &Prompt) {
        let named = |item: &PromptFile, name: Option<&String>| {
            let chars = item.chars.unwrap_or_default();
            Some(Named { name: name?.clone(), path: item.path.clone(), chars, on: true, kept: None })
        };
        if let Some(skills) = &line.skills {
            // A skill that was switched off is left out of the question, and stays in the list as one that is off.
            for skill in &mut self.skills {
                skill.on = false;
            }
            for skill in skills.iter().filter_map(|skill| named(skill, skill.name.as_ref())) {
                match self.skills.iter_mut().find(|known| known.name == skill.name) {
                    Some(known) => *known = skill,
                    None => self.skills.push(skill),
                }
            }
        }
        if let Some(files) = &line.context_files {
            self.files = files.iter().filter_map(|file| named(file, file.path.as_ref())).collect();
        }
        if let Some(chars) = line.prompt_chars {
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

    /// One message, of the live run or of the transcript.
    pub(super) fn message(&mut self, role: &str, custom_type: Option<&str>, sizes: Sizes<'_>) {
        let chars = |of: fn(&Chars) -> Option<u64>| sizes.chars.and_then(of).unwrap_or_default();
        let text = chars(|chars| chars.text);
        match role {
            "system" => self.system(sizes),
            "user" => self.add("user", text),
            "assistant" => {
                self.add("assistant", text);
                self.add("thinking", chars(|chars| chars.thinking));
                self.add("toolCalls", chars(|chars| chars.tool_calls));
            }
            "toolResult" => self.add("toolResults", chars(|chars| chars.tool_result).max(text)),
            "custom" => {
                let ours = custom_type.is_some_and(|kind| OUR_MESSAGES.iter().any(|ours| kind.starts_with(ours)));
                self.add(if ours { "jig" } else { "other" }, text);
            }
            _ => self.add("other", text),
        }
    }

    /// The patches of a system message: sections by name, tools added and removed.
    pub(super) fn system(&mut self, sizes: Sizes<'_>) {
        for (name, chars) in sizes.sections.into_iter().flat_map(ByName::iter) {
            match chars {
                Some(chars) => self.sections.insert(name.to_owned(), *chars),
                None => self.sections.remove(name),
            };
        }
        for tool in sizes.tools_added {
            let known = self.tools.entry(tool.name.clone()).or_default();
            known.chars = tool.chars;
            known.on = true;
        }
        for name in sizes.tools_removed {
            if let Some(tool) = self.tools.get_mut(name) {
                tool.on = false;
            }
        }
    }

    /// The transcript is read from its beginning.
    pub(super) fn restart(&mut self) {
        self.conversation.clear();
        self.sections.clear();
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
        let sum = self.conversation.entry(part).or_default();
        *sum = sum.saturating_add(chars);
    }

    /// Characters of one part.
    fn part(&self, part: &str) -> u64 {
        let of = |section: &str| SECTIONS.iter().find(|row| row.0 == section).map_or("system", |row| row.1);
        let told = self.conversation.get(part).copied();
        let sections = self.sections.iter().filter(|(name, _)| of(name) == part).map(|(_, chars)| *chars);
        let tools = self.tools.values().filter(|tool| part == "tools" && tool.on).map(|tool| tool.chars);
        let mut chars = total(told.into_iter().chain(sections).chain(tools));
        if self.sections.is_empty() {
            let sum = |named: &[Named]| total(named.iter().filter(|one| one.on).map(|one| one.chars));
            let (skills, files) = (sum(&self.skills), sum(&self.files));
            chars = chars.saturating_add(match part {
                "system" => self.prompt.saturating_sub(skills.saturating_add(files)),
                "skills" => skills.min(self.prompt),
                "contextFiles" => files.min(self.prompt.saturating_sub(skills)),
                _ => 0,
            });
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
        let sum = total(chars.iter().copied());
        if sum == 0 {
            return None;
        }
        let tokens = tokens.filter(|tokens| *tokens > 0);
        let whole = tokens.unwrap_or(sum.div_ceil(CHARS_PER_TOKEN));
        let scaled =
            |chars: u64| u64::try_from(u128::from(chars) * u128::from(whole) / u128::from(sum)).unwrap_or(u64::MAX);
        let of = |named: &Named| named.kept.unwrap_or_else(|| scaled(named.chars));
        let shares = shared_out(&chars, sum, whole);
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
        let detail = ContextDetail::new().at(at).basis(basis).window(window).total(Some(whole));
        Some(
            detail
                .parts(parts.collect())
                .tools(tools.collect())
                .skills(skills.collect())
                .context_files(files.collect()),
        )
    }
}

/// A sum of numbers that another program reports: the largest there is rather than one that wraps.
fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Shares of `whole` in proportion to `chars`, whole numbers that sum to `whole`: what rounding down leaves over
/// goes to the largest remainders.
fn shared_out(chars: &[u64], sum: u64, whole: u64) -> Vec<u64> {
    let exact: Vec<u128> = chars.iter().map(|chars| u128::from(*chars) * u128::from(whole)).collect();
    let mut shares: Vec<u64> =
        exact.iter().map(|exact| u64::try_from(exact / u128::from(sum)).unwrap_or(u64::MAX)).collect();
    let mut left = whole.saturating_sub(total(shares.iter().copied()));
    let mut order: Vec<usize> = (0..chars.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(exact[*index] % u128::from(sum)));
    for index in order {
        if left == 0 {
            break;
        }
        shares[index] = shares[index].saturating_add(1);
        left -= 1;
    }
    shares
}

#[cfg(test)]
#[path = "breakdown_tests.rs"]
mod tests;
