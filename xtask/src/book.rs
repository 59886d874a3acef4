//! The documentation as a site: `docs/` and the README, staged as mdBook wants them. `cargo xtask release-check book`
//! builds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::run::{ask, cargo, root, run, target};
use crate::test::Tally;

const VERSION: &str = "0.5.1";
const REPOSITORY: &str = "https://github.com/jig-session/jig-session/blob/main/";

/// The pages by their readers. A page that is not here is not in the book, which a check does not let pass.
const CHAPTERS: &[(&str, &[&str])] = &[
    (
        "For users",
        &[
            "install.md",
            "agents.md",
            "run.md",
            "board.md",
            "pi.md",
            "panes.md",
            "bars.md",
            "machines.md",
            "fleet.md",
            "bus.md",
            "skill.md",
            "platform.md",
        ],
    ),
    (
        "For authors of readers",
        &[
            "readers.md",
            "drift.md",
            "contract/status-v1.md",
            "contract/documents-v1.md",
            "contract/live-v1.md",
            "contract/fleet-v1.md",
        ],
    ),
    (
        "For authors of publishers",
        &[
            "publish.md",
            "contract/event-v1.md",
            "contract/request-v1.md",
            "contract/bus-v1.md",
            "contract/bulk-v1.md",
            "contract/bridge-v1.md",
            "contract/pi-king-v1.md",
        ],
    ),
    ("For contributors", &["architecture.md", "decisions.md", "reliability.md", "performance.md"]),
];

/// Stages the pages and builds the site.
pub(crate) fn check() -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let place = stage(&mut tally)?;
    let Some(program) = mdbook() else {
        tally.skipped.push("the documentation site: mdbook cannot be installed".to_owned());
        return Ok(tally);
    };
    let ran = run(Command::new(program).arg("build").arg(&place), |_| false)?;
    tally.check(ran.status.success(), format!("mdbook build: {}", ran.lines.join(" | ")));
    let index = place.join("book/index.html");
    tally.check(index.is_file(), "the site has a first page");
    tally.check(has_search(&place)?, "the site can be searched");
    Ok(tally)
}

fn has_search(place: &Path) -> anyhow::Result<bool> {
    let entries = fs::read_dir(place.join("book")).context("the site has no folder")?;
    Ok(entries.filter_map(Result::ok).any(|entry| entry.file_name().to_string_lossy().starts_with("searcher")))
}

/// `target/book`: the pages where mdBook looks for them, and the table of contents.
pub(crate) fn stage(tally: &mut Tally) -> anyhow::Result<PathBuf> {
    let place = target().join("book");
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot empty {}", place.display()))?;
    }
    let pages = place.join("src");
    fs::create_dir_all(&pages)?;
    fs::write(
        place.join("book.toml"),
        "[book]\ntitle = \"jig-session\"\nlanguage = \"en\"\n\n[output.html]\ngit-repository-url = \"https://github.com/jig-session/jig-session\"\n",
    )?;
    let mut summary = String::from("# Summary\n\n[jig-session](index.md)\n");
    let readme = fs::read_to_string(root().join("README.md")).context("cannot read README.md")?;
    fs::write(pages.join("index.md"), relinked(&readme, ""))?;
    let mut listed = Vec::new();
    for (reader, files) in CHAPTERS {
        summary.push_str(&format!("\n# {reader}\n\n"));
        for file in *files {
            let text = fs::read_to_string(root().join("docs").join(file)).with_context(|| format!("docs/{file}"))?;
            let title = text.lines().next().unwrap_or_default().trim_start_matches("# ").replace('`', "");
            summary.push_str(&format!("- [{title}]({file})\n"));
            let to = pages.join(file);
            fs::create_dir_all(to.parent().context("a page lies in a folder")?)?;
            let folder = Path::new("docs").join(file);
            let folder = folder.parent().map_or_else(String::new, |folder| format!("{}/", folder.display()));
            fs::write(&to, relinked(&text, &folder))?;
            listed.push((*file).to_owned());
        }
    }
    fs::write(pages.join("SUMMARY.md"), summary)?;
    if root().join("docs/pictures").is_dir() {
        copy(&root().join("docs/pictures"), &pages.join("pictures"))?;
    }
    for file in all_pages()? {
        tally.check(listed.contains(&file), format!("docs/{file} is in no chapter of the site (xtask/src/book.rs)"));
    }
    Ok(place)
}

/// Every page below `docs`.
fn all_pages() -> anyhow::Result<Vec<String>> {
    let mut all = Vec::new();
    for folder in ["", "contract/"] {
        for entry in fs::read_dir(root().join("docs").join(folder)).context("cannot list docs")? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                all.push(format!("{folder}{name}"));
            }
        }
    }
    Ok(all)
}

/// Links as they are right in the site: a page keeps its place below `docs`, and what is outside of it is looked at in
/// the repository. `folder` is where the page lies in the repository, with a slash.
fn relinked(text: &str, folder: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at + 2);
        out.push_str(before);
        let end = after.find([')', ' ', '\n']).unwrap_or(after.len());
        let (link, more) = after.split_at(end);
        let path = link.split('#').next().unwrap_or_default();
        let is_path = !path.is_empty()
            && !path.contains(':')
            && path.chars().all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c));
        if is_path {
            let whole = normal(&format!("{folder}{path}"));
            let anchor = &link[path.len()..];
            match whole.strip_prefix("docs/") {
                Some(_) if !folder.is_empty() => out.push_str(link),
                Some(below) => out.push_str(&format!("{below}{anchor}")),
                None => out.push_str(&format!("{REPOSITORY}{whole}{anchor}")),
            }
        } else {
            out.push_str(link);
        }
        rest = more;
    }
    out.push_str(rest);
    // Pictures of the README.
    if folder.is_empty() { out.replace("\"docs/pictures/", "\"pictures/") } else { out }
}

/// A path without `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// mdbook, installed once below the target folder.
fn mdbook() -> Option<PathBuf> {
    let place = target().join("tools");
    let program = place.join("bin/mdbook");
    if program.exists() {
        return Some(program);
    }
    let mut install = cargo(&["install", "mdbook", "--quiet", "--locked", "--version", VERSION, "--root"]);
    let ran = ask(install.arg(&place), |_| false).ok()?;
    ran.status.success().then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_inside_the_site_or_lead_to_the_repository() {
        for (text, folder, right) in [
            ("[a](docs/agents.md)", "", "[a](agents.md)".to_owned()),
            ("[a](docs/contract/status-v1.md#is-it-alive)", "", "[a](contract/status-v1.md#is-it-alive)".to_owned()),
            ("[a](CONTRIBUTING.md)", "", format!("[a]({REPOSITORY}CONTRIBUTING.md)")),
            ("[a](bus.md)", "docs/", "[a](bus.md)".to_owned()),
            ("[a](../../schemas/x.json)", "docs/contract/", format!("[a]({REPOSITORY}schemas/x.json)")),
            ("[a](https://docs.rs/x)", "docs/", "[a](https://docs.rs/x)".to_owned()),
            ("[a](#here)", "docs/", "[a](#here)".to_owned()),
        ] {
            assert_eq!(relinked(text, folder), right);
        }
    }

    #[test]
    fn every_page_is_in_a_chapter() {
        let listed: Vec<&str> = CHAPTERS.iter().flat_map(|(_, files)| *files).copied().collect();
        for page in all_pages().unwrap() {
            assert!(listed.contains(&page.as_str()), "docs/{page} is in no chapter");
            // The text of the skill is for models: it is copied as it stands.
            let text = fs::read_to_string(root().join("docs").join(&page)).unwrap();
            let says = text.lines().nth(2).is_some_and(|line| line.starts_with("For "));
            assert!(says || page == "skill.md", "docs/{page} does not begin with whom it is for");
        }
    }
}
