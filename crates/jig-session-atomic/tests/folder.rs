//! What a folder must be before anything in it is touched.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;

use jig_session_atomic::{Fault, Notice, PrivateDir};
use jig_session_testing::child::{Child, NOBODY, has, is_root, mode, mode_of, names, place, temp};
use jig_session_testing::skipped;

#[test]
fn a_missing_folder_is_made_for_us_alone_with_its_parents() {
    let temp = temp();
    let path = temp.path().join("state/jig/sessions");
    let dir = PrivateDir::open(&path).expect("it is made");
    assert_eq!(dir.path(), path);
    assert_eq!(dir.notices(), []);
    for folder in [temp.path().join("state"), temp.path().join("state/jig"), path.clone()] {
        assert_eq!(mode_of(&folder), 0o700, "{}", folder.display());
    }
    assert_eq!(names(&path), [""; 0]);
}

#[test]
fn the_umask_changes_no_mode() {
    if let Some(place) = place() {
        let dir = PrivateDir::open(place.join("a/b")).expect("it is made");
        dir.write("x.json", b"{}").expect("written");
        dir.create_new("y.json", b"{}").expect("written");
        dir.sub("inbox").expect("made");
        return;
    }
    for mask in ["000", "022", "077", "177", "277"] {
        let temp = temp();
        let line = format!("umask {mask}; exec \"$0\" \"$@\"");
        Child::behind(&["sh", "-c", &line], "the_umask_changes_no_mode", temp.path()).passes();
        for (path, bits) in
            [("a", 0o700), ("a/b", 0o700), ("a/b/inbox", 0o700), ("a/b/x.json", 0o600), ("a/b/y.json", 0o600)]
        {
            assert_eq!(mode_of(&temp.path().join(path)), bits, "{path} under umask {mask}");
        }
    }
}

#[test]
fn a_folder_that_lets_others_in_is_closed_once() {
    let temp = temp();
    let path = temp.path().join("open");
    std::fs::create_dir(&path).expect("made");
    for bits in [0o755, 0o777, 0o750, 0o701, 0o1777] {
        mode(&path, bits);
        let dir = PrivateDir::open(&path).expect("it is ours");
        assert_eq!(dir.notices(), [Notice::ModeMended { from: bits }]);
        assert_eq!(mode_of(&path), 0o700);
        dir.require_modes().expect("its file system keeps modes");
        assert_eq!(PrivateDir::open(&path).expect("it is ours").notices(), []);
    }
}

#[test]
fn a_reader_makes_and_changes_nothing() {
    let temp = temp();
    let path = temp.path().join("none");
    assert!(PrivateDir::open_existing(&path).expect("no error").is_none());
    assert!(!path.exists());
    std::fs::create_dir(&path).expect("made");
    mode(&path, 0o755);
    let dir = PrivateDir::open_existing(&path).expect("no error").expect("it is there");
    assert_eq!(dir.notices(), [Notice::ModeOpen { mode: 0o755 }]);
    assert!(dir.sub_existing("inbox").expect("no error").is_none());
    assert_eq!(mode_of(&path), 0o755);
    assert_eq!(names(&path), [""; 0]);
}

#[test]
fn what_is_no_folder_is_refused() {
    let temp = temp();
    let file = temp.path().join("file");
    std::fs::write(&file, "x").expect("written");
    let nowhere = temp.path().join("nowhere");
    symlink(temp.path().join("not there"), &nowhere).expect("linked");
    let circle = temp.path().join("circle");
    symlink(&circle, &circle).expect("linked");
    let below = file.join("below");
    for path in [&file, &nowhere, &circle, &below] {
        for error in
            [PrivateDir::open(path).expect_err("no folder"), PrivateDir::open_existing(path).expect_err("no folder")]
        {
            let text = error.to_string();
            assert!(text.contains(&path.display().to_string()), "{text}");
            assert!(error.hint().is_some(), "{text}");
        }
    }
    let refused = PrivateDir::open(&file).expect_err("a file");
    assert_eq!(refused.fault(), &Fault::NotAFolder);
    // The way out names the variable that leads to that folder.
    let way_out = |error: &jig_session_atomic::Error| error.hint().expect("a way out");
    assert!(way_out(&refused).ends_with("with JIG_STATE_DIR"));
    assert!(way_out(&refused.named_by("ELSEWHERE_DIR")).ends_with("with ELSEWHERE_DIR"));
    assert_eq!(std::fs::read(&file).expect("untouched"), b"x");
}

#[test]
fn our_own_link_is_resolved_once_and_told() {
    let temp = temp();
    let real = std::fs::canonicalize(temp.path()).expect("a real path").join("disk");
    std::fs::create_dir(&real).expect("made");
    mode(&real, 0o700);
    let link = temp.path().join("jig");
    symlink(&real, &link).expect("linked");
    let dir = PrivateDir::open(&link).expect("both are ours");
    assert_eq!(dir.path(), real);
    assert_eq!(dir.notices(), [Notice::ThroughLink { link: link.clone() }]);
    dir.write("a.json", b"{}").expect("written");
    assert_eq!(names(&real), ["a.json"]);
    // Inside a folder of ours a link is nobody's way to organise a disk: it is refused.
    symlink(&real, real.join("sub")).expect("linked");
    assert!(dir.sub("sub").expect_err("a link").is_unsafe());
    assert!(dir.sub_existing("sub").expect_err("a link").is_unsafe());
}

#[test]
fn a_folder_of_another_user_is_refused_for_root_too() {
    if !is_root() {
        return skipped("a_folder_of_another_user_is_refused_for_root_too", "only root can give a folder away");
    }
    let temp = temp();
    let theirs = temp.path().join("theirs");
    std::fs::create_dir(&theirs).expect("made");
    mode(&theirs, 0o777);
    chown(&theirs, Some(NOBODY), None).expect("given away");
    let ours = temp.path().join("ours");
    std::fs::create_dir(&ours).expect("made");
    let their_link = temp.path().join("link");
    symlink(&ours, &their_link).expect("linked");
    std::os::unix::fs::lchown(&their_link, Some(NOBODY), None).expect("given away");
    let our_link = temp.path().join("to-theirs");
    symlink(&theirs, &our_link).expect("linked");
    for path in [&theirs, &their_link, &our_link] {
        for error in
            [PrivateDir::open(path).expect_err("foreign"), PrivateDir::open_existing(path).expect_err("foreign")]
        {
            assert_eq!(error.fault(), &Fault::ForeignOwner { owner: NOBODY, us: 0 });
            assert!(error.is_unsafe());
            let text = error.to_string();
            assert!(text.contains("65534") && text.contains("user 0"), "both users are named: {text}");
        }
    }
    assert_eq!(names(&theirs), [""; 0]);
    assert_eq!(mode_of(&theirs), 0o777, "what is not ours is not changed");
}

#[test]
fn a_folder_that_cannot_hold_modes_is_told() {
    const NAME: &str = "a_folder_that_cannot_hold_modes_is_told";
    if let Some(place) = place() {
        let dir = PrivateDir::open(&place).expect("it is used all the same");
        assert_eq!(dir.notices(), [Notice::ModesNotHeld]);
        dir.write("a.json", b"{}").expect("a status may be published there");
        let refused = dir.require_modes().expect_err("a request may not");
        assert_eq!(refused.fault(), &Fault::OpenToOthers);
        assert!(refused.is_unsafe() && refused.hint().is_some());
        return;
    }
    if !has("strace") {
        return skipped(NAME, "strace is not installed, so no file system without modes can be acted");
    }
    let temp = temp();
    mode(temp.path(), 0o777);
    let wrapper = ["strace", "-f", "-o", "/dev/null", "-e", "trace=fchmod", "-e", "inject=fchmod:error=EPERM"];
    Child::behind(&wrapper, NAME, temp.path()).passes();
    assert_eq!(names(temp.path()), ["a.json"]);
}

#[test]
fn a_folder_that_went_away_is_made_again() {
    let temp = temp();
    let path = temp.path().join("sessions");
    let dir = PrivateDir::open(&path).expect("made");
    dir.write("a.json", b"1").expect("written");
    std::fs::remove_dir_all(&path).expect("removed under us");
    assert!(!dir.is_current());
    assert_eq!(dir.list().expect("a folder that went away is empty"), [""; 0]);
    dir.write("a.json", b"2").expect("the folder is made again");
    assert!(dir.is_current());
    assert_eq!(std::fs::read(path.join("a.json")).expect("it is there"), b"2");
    assert_eq!(mode_of(&path), 0o700);
    // Renamed away: what is held is not where readers look.
    std::fs::rename(&path, temp.path().join("aside")).expect("renamed under us");
    assert!(!dir.is_current());
    dir.refresh().expect("made again");
    dir.write("b.json", b"3").expect("written");
    assert_eq!(names(&path), ["b.json"]);
}

/// As the second user: nothing of the first one's can be read, written, or misused.
#[test]
fn the_second_user_gets_nowhere() {
    const NAME: &str = "the_second_user_gets_nowhere";
    if let Some(place) = place() {
        return attack(&place);
    }
    if !is_root() {
        return skipped(NAME, "only root can start a process as another user");
    }
    let temp = temp();
    let ours = temp.path().join("ours");
    let dir = PrivateDir::open(&ours).expect("made");
    dir.write("a.json", b"secret").expect("written");
    let shared = temp.path().join("shared");
    std::fs::create_dir(&shared).expect("made");
    mode(&shared, 0o1777);
    Child::as_user(NOBODY, NAME, temp.path(), temp.path()).passes();
    assert_eq!(names(&ours), ["a.json"]);
    assert_eq!(dir.read("a.json", 100).expect("untouched").bytes, b"secret");

    // What that user left in a place where both may write is not taken for ours.
    for trap in ["trap-folder", "trap-link", "trap-file"] {
        let error = PrivateDir::open(shared.join(trap)).expect_err("a trap");
        assert!(error.is_unsafe(), "{trap}: {error}");
    }
    assert_eq!(std::fs::symlink_metadata(shared.join("trap-folder")).expect("there").uid(), NOBODY);
    assert_eq!(names(&shared.join("trap-folder")), [""; 0]);
}

fn attack(place: &Path) {
    assert!(!is_root());
    let ours = place.join("ours");
    for error in [
        PrivateDir::open(&ours).expect_err("closed"),
        PrivateDir::open_existing(&ours).expect_err("closed, and told so"),
    ] {
        assert_eq!(error.errno(), Some(13), "{error}");
        assert!(error.to_string().contains("EACCES"), "{error}");
    }
    for result in [
        std::fs::read(ours.join("a.json")).map(|_| ()),
        std::fs::write(ours.join("a.json"), "x"),
        std::fs::write(ours.join("b.json"), "x"),
        std::fs::remove_file(ours.join("a.json")),
        std::fs::rename(ours.join("a.json"), ours.join("b.json")),
        std::fs::read_dir(&ours).map(|_| ()),
        symlink("/etc/passwd", ours.join("c.json")),
        std::fs::hard_link(ours.join("a.json"), place.join("shared/a.json")),
    ] {
        assert!(result.is_err());
    }
    let shared = place.join("shared");
    std::fs::create_dir(shared.join("trap-folder")).expect("made");
    mode(&shared.join("trap-folder"), 0o777);
    symlink(&ours, shared.join("trap-link")).expect("linked");
    std::fs::write(shared.join("trap-file"), "x").expect("written");
}
