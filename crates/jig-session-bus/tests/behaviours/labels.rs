use std::fs;

use jig_session_liveness::Verdict;

use crate::town::{Town, session};

#[test]
fn a_held_label_is_refused_and_nothing_changes() {
    // bus-v1 22, 23, 27
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("BlueLake"));
    town.join_as(&b, Some("other"));
    let record = || fs::read(town.folder().join("sessions/s-b.json")).expect("a file");
    let before = record();
    town.pass(1_000);
    let refused = town.join_as(&b, Some("bluelake"));
    assert!(!refused.ok);
    assert_eq!(refused.code.as_deref(), Some("label-held"));
    assert_eq!(refused.holder.as_deref(), Some("s-a"));
    assert!(refused.message.expect("words").contains("s-a"));
    assert_eq!(record(), before);
    let newcomer = town.join_as(&session("s-c", 13), Some("BLUELAKE"));
    assert!(!newcomer.ok);
    assert_eq!(town.files("sessions"), ["s-a.json", "s-b.json"], "a refused newcomer is not on the bus");
    assert!(town.join_as(&a, Some("bluelake")).ok, "one's own label is no obstacle");
}

#[test]
fn a_dead_sessions_label_is_free_at_once() {
    // bus-v1 24
    let town = Town::new();
    town.join_as(&session("s-a", 11), Some("api"));
    town.life(11, Verdict::Gone);
    assert_eq!(town.join_as(&session("s-b", 12), Some("api")).label.as_deref(), Some("api"));
}

#[test]
fn derived_labels_are_told_apart_by_the_end_of_the_id() {
    // bus-v1 25, 26, 28
    let town = Town::new();
    let ids = [
        "019fb27c-6804-7fa5-8000-00000000aaaa",
        "019fb27c-6804-7fa6-8000-00000000bbbb",
        "019fb27c-6804-7fa7-8000-00000000cccc",
    ];
    let labels: Vec<_> =
        ids.iter().zip(11..).map(|(id, pid)| town.join(&session(id, pid)).label.expect("a label")).collect();
    assert_eq!(labels, ["shop", "shop-bbbb", "shop-cccc"]);
    let base = town.base();
    std::os::unix::fs::symlink(&town.root, base.join("nickname")).expect("a link");
    let through = town.at(&base.join("nickname"), &session("s-x", 20), &crate::town::join(None));
    let label = crate::town::result!(through, Join).label.expect("a label");
    assert!(label.starts_with("shop-"), "the folder's real name counts, not the link's: {label}");
}

use jig_session_schema::bus_result::BusResult;

#[test]
fn words_with_a_meaning_are_no_labels() {
    // bus-v1 29, 30, 33
    let town = Town::new();
    town.join_as(&session("s-other", 11), Some("other"));
    let me = session("s-a", 12);
    for bad in ["*", "all", "All", "", "   ", "\u{1b}\u{7}", "-x", "@x", "a\u{202e}b"] {
        let refused = town.join_as(&me, Some(bad));
        assert_eq!(refused.code.as_deref(), Some("refused"), "{bad:?}");
    }
    assert_eq!(town.join_as(&me, Some(&"x".repeat(49))).code.as_deref(), Some("refused"));
    let anothers_id = town.join_as(&me, Some("s-other"));
    assert_eq!(anothers_id.code.as_deref(), Some("label-held"));
    assert_eq!(anothers_id.holder.as_deref(), Some("s-other"));
    assert_eq!(town.join_as(&me, Some("  billing  core ")).label.as_deref(), Some("billing-core"));
}

#[test]
fn a_new_label_frees_the_old_one() {
    // bus-v1 32
    let town = Town::new();
    let (a, b) = (session("s-a", 11), session("s-b", 12));
    town.join_as(&a, Some("one"));
    town.join_as(&a, Some("two"));
    assert!(town.join_as(&b, Some("one")).ok);
    town.send(&b, "two", "hello");
    assert_eq!(town.texts(&a), ["hello"]);
    assert_eq!(town.join(&a).label.as_deref(), Some("two"), "a plain join keeps the label");
}
