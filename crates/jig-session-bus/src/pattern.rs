//! Which spellings stand for other names than their own: claims are files and folders, and a pattern is none.

use std::path::{Component, Path};

use crate::path::Worktree;

/// Names of one folder that are looked at for brackets.
const NEIGHBOURS: usize = 10_000;

/// Whether a path can only be a pattern: `*`, `?`, `{a,b}`, `{1..3}`, or `[ab].rs` where no name has brackets.
///
/// What is there is no pattern, which is asked of the longest part that is there. Of the rest, a part that is nothing
/// but a word in brackets is a name (`[id]`, `[...slug]`, `[[lang]]`: routes are called so), and so is each one with
/// brackets that is to be made below or beside such a name (`app/[id]/[slug].tsx`).
pub(crate) fn is_pattern(spelled: &str, place: &Worktree) -> bool {
    let there = existing(spelled, place);
    let missing = &spelled[there..];
    let mut parts = missing.split('/').filter(|part| !part.is_empty());
    if parts.clone().all(|part| !is_wild(part) && !has_brackets(part)) {
        return false;
    }
    let mut bracketed = None;
    parts.any(|part| {
        if is_wild(part) {
            return true;
        }
        if !has_brackets(part) {
            return false;
        }
        let known = bracketed.get_or_insert_with(|| knows_brackets(&spelled[..there], place));
        let is_name = is_bracketed_word(part) || (*known && !has_class(part));
        *known |= is_name;
        !is_name
    })
}

/// Whether what is there has names with brackets: on the way to the root, or beside what is to be made.
fn knows_brackets(there: &str, place: &Worktree) -> bool {
    let folder = place.cwd.join(if there.is_empty() { "." } else { there });
    let below = folder.strip_prefix(&place.root).unwrap_or(Path::new(there));
    let named = |part: Component<'_>| part.as_os_str().to_str().is_some_and(has_brackets);
    let beside = || jig_session_atomic::list_folder(&folder).into_iter().flatten().flatten().take(NEIGHBOURS);
    below.components().any(named) || beside().any(|entry| entry.name.to_str().is_some_and(has_brackets))
}

/// Where the longest part of a path that is there ends.
fn existing(spelled: &str, place: &Worktree) -> usize {
    let ends = spelled.match_indices('/').map(|(at, _)| at).chain([spelled.len()]);
    ends.take_while(|at| place.cwd.join(&spelled[..*at]).symlink_metadata().is_ok()).last().unwrap_or(0)
}

/// `*`, `?`, `{a,b}`, `{1..3}`.
fn is_wild(part: &str) -> bool {
    let braced = part.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let mut braced = braced.map(|(inside, _)| inside);
    part.contains(['*', '?']) || braced.any(|inside| inside.contains(',') || inside.contains(".."))
}

/// `[` and, behind it, `]`.
fn has_brackets(part: &str) -> bool {
    part.split_once('[').is_some_and(|(_, rest)| rest.contains(']'))
}

/// A part that is one word in brackets and no class of characters.
fn is_bracketed_word(part: &str) -> bool {
    // A route that stands in for another one: `(.)[photo]`, `(..)[photo]`.
    let part = ["(.)", "(..)", "(...)"].iter().find_map(|before| part.strip_prefix(before)).unwrap_or(part);
    let inside = |text: &str| text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).map(str::to_owned);
    let Some(word) = inside(part).map(|once| inside(&once).unwrap_or(once)) else { return false };
    !word.is_empty() && !word.contains(['[', ']']) && !is_class(&word)
}

/// Whether brackets in a part hold a class that no name would have, such as `[a-z]` or `[!x]`.
fn has_class(part: &str) -> bool {
    part.split('[').skip(1).filter_map(|rest| rest.split_once(']')).any(|(inside, _)| is_class(inside))
}

/// A negation, a named class, or a range of single characters: `!x`, `^x`, `:alpha:`, `a-z`, `a-z0-9`.
fn is_class(inside: &str) -> bool {
    let range = || inside.contains('-') && inside.split('-').any(|end| end.chars().count() < 2);
    inside.starts_with(['!', '^', ':']) || range()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_can_be_claimed_before_it_is_there_and_a_pattern_cannot() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("its real path");
        for folder in ["src", "app/[id]", "routes/(shop)", "pages"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        std::fs::write(root.join("pages/[id].tsx"), "x").expect("a file");
        let place = |cwd: &str| Worktree {
            cwd: root.join(cwd),
            spelled_root: None,
            common: root.clone(),
            git: Vec::new(),
            root: root.clone(),
            folds_case: false,
        };
        let names = [
            "app/[id]",                       // it is there
            "app/[id]/page.tsx",              // its folder is
            "app/[id]/[slug].tsx",            // below a name with brackets
            "app/[id]/new/[slug]-[lang].tsx", //
            "app/[user]/page.tsx",            // beside one
            "pages/[slug].tsx",               //
            "src/[id]/page.tsx",              // a word in brackets is a name, there or not
            "src/[id]/[slug].tsx",            // and so is what is to be made below it
            "src/[...path]/x.ts",             //
            "src/[[...path]]",                //
            "src/[[lang]]/[id=integer]",      //
            "src/(.)[photo]/page.tsx",
            "src/[my-page]/x.ts", //
            "src/a[b",            // half of a bracket is none
            "src/a{b}.rs",        //
        ];
        for name in names {
            assert!(!is_pattern(name, &place("")), "{name}");
        }
        let patterns = [
            "src/[ab].rs",             // nothing here has brackets
            "src/x[0-9].rs",           //
            "src/[a-z]",               // classes
            "src/[a-z0-9]/x",          //
            "src/[!a]",                //
            "src/[^a]/x",              //
            "src/[[:alpha:]]",         //
            "app/[id]/[a-z].tsx",      // also beside and below names with brackets
            "app/[id]/*.tsx",          //
            "app/[id]/[slug].{ts,js}", //
            "src/[id]/?.rs",           //
            "src/[]",                  //
        ];
        for pattern in patterns {
            assert!(is_pattern(pattern, &place("")), "{pattern}");
        }
        assert!(!is_pattern("[slug].tsx", &place("app/[id]")), "where one stands counts too");
        assert!(!is_pattern("../pages/[slug].tsx", &place("src")));
        assert!(is_pattern("[ab].rs", &place("src")));
        let absolute = root.join("app/[id]/[slug].tsx").display().to_string();
        assert!(!is_pattern(&absolute, &place("src")));
    }
}
