//! The state folder and the folders in it that this project alone writes.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::ffi::OsStr;
use std::os::unix::fs::{chown, lchown, symlink};
use std::path::Path;

use jig_session_atomic::{Content, Fault, MARK, Notice, PrivateDir};
use jig_session_testing::child::{NOBODY, is_root, mode, mode_of, names, temp};
use jig_session_testing::skipped;

/// What belongs into the folders of these tests.
fn belongs(name: &OsStr, content: Content<'_>) -> bool {
    name.as_encoded_bytes().ends_with(b".json") && matches!(content, Content::File(bytes) if bytes.starts_with(b"ours"))
}

fn refused(path: &Path) -> Fault {
    let error = PrivateDir::open_own(path, belongs).expect_err("it is not safe");
    assert!(error.is_unsafe() && error.hint().is_some(), "{error}");
    error.fault().clone()
}

fn folder(path: &Path, bits: u32) {
    std::fs::create_dir(path).expect("made");
    mode(path, bits);
}

#[test]
fn a_writer_makes_and_marks_and_a_reader_does_neither() {
    let temp = temp();
    let state = temp.path().join("a/state");
    let path = state.join("sessions");
    assert!(PrivateDir::open_own_existing(&path).expect("no error").is_none());
    assert!(!state.exists());
    let dir = PrivateDir::open_own(&path, belongs).expect("made");
    assert_eq!((dir.path(), dir.notices(), dir.is_marked()), (path.as_path(), &[][..], Ok(true)));
    assert_eq!((names(&state), names(&path)), (vec!["sessions".to_owned()], vec![MARK.to_owned()]));
    assert_eq!((mode_of(&state), mode_of(&path), mode_of(&path.join(MARK))), (0o700, 0o700, 0o600));
    assert!(PrivateDir::open_own_existing(&path).expect("no error").expect("there").is_marked().expect("seen"));
    let plain = state.join("plain");
    folder(&plain, 0o700);
    assert!(!PrivateDir::open_own_existing(&plain).expect("no error").expect("there").is_marked().expect("seen"));
    assert_eq!(names(&plain), [""; 0]);
}

#[test]
fn the_state_folder_keeps_its_mode_and_lets_nobody_write() {
    let temp = temp();
    for bits in [0o700, 0o755, 0o750, 0o711] {
        let state = temp.path().join(format!("{bits:o}"));
        folder(&state, bits);
        PrivateDir::open_own(state.join("sessions"), belongs).expect("it is safe");
        assert_eq!((mode_of(&state), mode_of(&state.join("sessions"))), (bits, 0o700));
    }
    for bits in [0o777, 0o1777, 0o775, 0o722] {
        let state = temp.path().join(format!("{bits:o}"));
        folder(&state, bits);
        folder(&state.join("sessions"), 0o700);
        assert_eq!(refused(&state.join("sessions")), Fault::WritableByOthers { mode: bits });
        let error = PrivateDir::open_own_existing(state.join("sessions")).expect_err("a reader believes it as little");
        assert_eq!(error.fault(), &Fault::WritableByOthers { mode: bits });
        assert_eq!((mode_of(&state), names(&state.join("sessions")).len()), (bits, 0));
    }
}

#[test]
fn another_users_state_folder_is_refused_and_left_alone() {
    const NAME: &str = "another_users_state_folder_is_refused_and_left_alone";
    if !is_root() {
        return skipped(NAME, "only root can give a folder away");
    }
    let temp = temp();
    let at = |name: &str| temp.path().join(name);
    let foreign = Fault::ForeignOwner { owner: NOBODY, us: 0 };
    folder(&at("theirs"), 0o755);
    folder(&at("theirs/sessions"), 0o700);
    chown(at("theirs"), Some(NOBODY), None).expect("given away");
    folder(&at("ours"), 0o700);
    folder(&at("ours/inner"), 0o700);
    for (link, to) in [("link", "ours"), ("middle", "ours")] {
        symlink(to, at(link)).expect("linked");
        lchown(at(link), Some(NOBODY), None).expect("given away");
    }
    symlink("theirs", at("to-theirs")).expect("linked");
    for state in ["theirs", "link", "to-theirs", "middle/inner", "theirs/none/below"] {
        assert_eq!(refused(&at(state).join("sessions")), foreign, "{state}");
    }
    for state in ["theirs", "link", "to-theirs", "middle/inner"] {
        let error = PrivateDir::open_own_existing(at(state).join("sessions")).expect_err(state);
        assert_eq!(error.fault(), &foreign, "{state}");
    }
    assert_eq!(
        (names(&at("theirs")), names(&at("ours")), names(&at("ours/inner"))),
        (vec!["sessions".to_owned()], vec!["inner".to_owned()], vec![])
    );
    // Our own link to another disk is how people move a state folder.
    symlink("ours/inner", at("own-link")).expect("linked");
    let dir = PrivateDir::open_own(at("own-link/sessions"), belongs).expect("both are ours");
    assert_eq!(dir.notices(), [Notice::ThroughLink { link: at("own-link") }]);
    assert_eq!(names(&at("ours/inner/sessions")), [MARK]);
}

/// Puts something into a folder.
type Put = fn(&Path);

#[test]
fn a_folder_without_a_mark_is_adopted_only_if_all_in_it_is_ours() {
    let temp = temp();
    let state = temp.path().join("state");
    folder(&state, 0o700);
    let old = state.join("old");
    folder(&old, 0o755);
    std::fs::write(old.join("a.json"), "ours").expect("written");
    std::fs::write(old.join(".a.json.tmp-7-0123abcd"), "half").expect("written");
    assert!(PrivateDir::open_own(&old, belongs).expect("adopted").is_marked().expect("seen"));
    assert_eq!(mode_of(&old), 0o700);
    // What comes later is anybody's of ours: the mark stays.
    std::fs::write(old.join("b.json"), "broken").expect("written");
    PrivateDir::open_own(&old, belongs).expect("marked");

    let made: [(&str, Put); 6] = [
        ("theirs.json", |path| std::fs::write(path, "theirs").expect("written")),
        ("notes.txt", |path| std::fs::write(path, "ours").expect("written")),
        (".git", |path| folder(path, 0o700)),
        ("link.json", |path| symlink("a.json", path).expect("linked")),
        ("large.json", |path| std::fs::File::create(path).expect("made").set_len(1 << 40).expect("sparse")),
        (MARK, |path| folder(path, 0o700)),
    ];
    for (entry, make) in made {
        let path = state.join(format!("with-{entry}"));
        folder(&path, 0o755);
        std::fs::write(path.join("a.json"), "ours").expect("written");
        make(&path.join(entry));
        let before = names(&path);
        assert_eq!(refused(&path), Fault::NotOurs { entry: entry.into() });
        assert_eq!((names(&path), mode_of(&path)), (before, 0o755), "{entry}");
    }
}

#[test]
fn a_state_folder_that_was_moved_away_is_made_again() {
    let temp = temp();
    let state = temp.path().join("state");
    let dir = PrivateDir::open_own(state.join("bus"), belongs).expect("made");
    let inner = dir.sub("app").expect("made").sub("inbox").expect("made");
    std::fs::rename(&state, temp.path().join("aside")).expect("renamed under us");
    for held in [&dir, &inner] {
        assert!(!held.is_current());
        held.refresh().expect("made again");
        assert!(held.is_current());
    }
    assert_eq!(names(&state.join("bus")), [MARK, "app"]);
    inner.write("a.json", b"1").expect("written");
    assert_eq!(names(&state.join("bus/app/inbox")), ["a.json"]);
    // What stands there by now may be nobody's that we can trust.
    std::fs::remove_dir_all(&state).expect("removed");
    folder(&state, 0o777);
    assert!(inner.refresh().expect_err("it is not safe").is_unsafe());
    assert_eq!(names(&state), [""; 0]);
}
