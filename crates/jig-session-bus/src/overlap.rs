//! Do two claims collide? The one predicate everything asks.

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
}
