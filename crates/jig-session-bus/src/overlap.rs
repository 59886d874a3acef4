//! Whether two claims overlap: the one predicate for it.

use std::collections::HashMap;

/// Whether holding `a` and holding `b` exclude each other.
///
/// Paths are stored ones: relative to the repository's root, `/` between parts, `.` for the whole
/// repository. A resource (`@build`) collides with its equal only.
pub fn overlap(a: &str, b: &str) -> bool {
    if is_resource(a) || is_resource(b) {
        return a == b;
    }
    a == "." || b == "." || a == b || is_below(a, b) || is_below(b, a)
}

/// The pairs that collide, as places in the list, the smaller one first: what [`overlap`] says of every pair, without
/// asking about every pair.
pub(crate) fn overlapping(paths: &[String]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, path) in paths.iter().enumerate() {
        places.entry(path).or_default().push(place);
    }
    let mut pairs = Vec::new();
    let mut collide = |place: usize, holder: &str| {
        let others = places.get(holder).into_iter().flatten().filter(|other| **other != place);
        pairs.extend(others.map(|other| (place.min(*other), place.max(*other))));
    };
    for (place, path) in paths.iter().enumerate() {
        collide(place, path);
        if is_resource(path) || path == "." {
            continue;
        }
        collide(place, ".");
        // The folders above: what is below is met from there.
        path.match_indices('/').for_each(|(end, _)| collide(place, &path[..end]));
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Whether the claim names a resource and not a path.
pub fn is_resource(path: &str) -> bool {
    path.starts_with('@')
}

/// `src/api/routes.ts` is below `src/api`; `src/api2` is not.
fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_collide_in_both_directions_and_siblings_do_not() {
        // Behaviours 92 to 95.
        let table = [
            ("src/api", "src/api/routes.ts", true),
            ("src/api/routes.ts", "src/api", true),
            ("src/api", "src/api2", false),
            ("src/api", "src/api", true),
            (".", "src/api", true),
            ("docs", ".", true),
            (".", ".", true),
            ("@build", "@build", true),
            ("@build", "@build2", false),
            ("@build", ".", false),
            (".", "@build", false),
            ("@a", "@a/b", false),
            ("./@types", "./@types/node", true),
            ("./@types", "@types", false),
            ("a", "A", false),
        ];
        for (a, b, expected) in table {
            assert_eq!(overlap(a, b), expected, "{a} and {b}");
            assert_eq!(overlap(b, a), expected, "{b} and {a}");
        }
    }

    #[test]
    fn the_pairs_are_those_that_the_predicate_names() {
        let words = [
            "src",
            "src/api",
            "src/api/routes.ts",
            "src/api2",
            ".",
            "docs",
            "@build",
            "@build",
            "@build/x",
            "./@types",
            "./@types/node",
            "src/api",
            "src/ui",
            ".",
            "a",
            "A",
            "@",
            "docs/x/y",
        ];
        let paths: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut expected = Vec::new();
        for a in 0..paths.len() {
            expected.extend((a + 1..paths.len()).filter(|b| overlap(&paths[a], &paths[*b])).map(|b| (a, b)));
        }
        assert_eq!(overlapping(&paths), expected);
    }
}
