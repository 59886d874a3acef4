//! Any bytes, cut anywhere: nothing is lost or moved, and nothing panics.

use std::time::Duration;

use jig_session_run::query::{HOLD, PATIENCE, Questions};
use jig_session_run::scan::Sequence;
use jig_session_run::tap::{Tap, asks};
use proptest::prelude::*;
use termstate_core::scan::{Event, Scanner};

/// Pieces that sequences are made of, whole, broken off and nearly right, among plain bytes.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            &b"\x1b]7501;state=working:app=x\x1b\\"[..],
            b"\x1b]7501;state=blocked:kind=auth\x07",
            b"\x1b]7501;?\x1b\\",
            b"\x1b]7501;?\x07",
            b"\x1b[c",
            b"\x1b[0c",
            b"\x1b[?62;22c",
            b"\x1b]7501;?:states=idle:kinds=\x1b\\",
            b"\x1b]7501;state=idle",
            b"\x1b]750",
            b"\x1b]7501;\x00state=do\x01ne\x07",
            b"\x1b]\x007501;state=idle\x07",
            b"\x1b",
            b"\x1b\x1b",
            b"\x1bc",
            b"\\",
            b"\x07",
            b"\x18",
            b"\x1a",
            b"]",
            b"\x1b]0;title\x07",
            b"\x1b]133;A\x07",
            b"\x1b[31mred\x1b[0m",
            b"\x1bP7501;state=idle\x1b\\",
            "é✳".as_bytes(),
        ])
        .prop_map(<[u8]>::to_vec),
        proptest::collection::vec(any::<u8>(), 0..12),
        (4070_usize..4110).prop_map(|n| [b"\x1b]7501;state=idle:x=".as_slice(), &vec![b'a'; n], b"\x07"].concat()),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Where a stream is cut.
fn cuts() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1_usize..40, 1..60)
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut found = Vec::new();
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (head, tail) = rest.split_at((*cut).min(rest.len()));
        found.push(head);
        rest = tail;
    }
    found
}

fn bodies(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let mut tap = Tap::default();
    let mut found = Vec::new();
    for piece in pieces(bytes, cuts) {
        tap.listen(piece, |sequence| {
            if let Sequence::Status(body) = sequence {
                found.push(body.to_vec());
            }
        });
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The library that terminals use finds the same messages.
    #[test]
    fn the_reports_found_are_those_of_a_terminals_parser(bytes in stream(), cuts in cuts()) {
        let mut expected = Vec::new();
        Scanner::new().feed(&bytes, |event| {
            if let Event::Sequence { message: Ok(message), .. } = event {
                expected.push(format!("{message:?}"));
            }
        });
        let found: Vec<String> = bodies(&bytes, &cuts)
            .iter()
            .filter_map(|body| termstate_core::parse_body(body).ok().map(|message| format!("{message:?}")))
            .collect();
        prop_assert_eq!(found, expected);
    }

    /// What is taken out are whole reports; all else passes in its order, and the question too.
    #[test]
    fn a_filter_takes_out_reports_and_nothing_else(bytes in stream(), cuts in cuts()) {
        let mut tap = Tap::default();
        let mut out = Vec::new();
        for piece in pieces(&bytes, &cuts) {
            tap.filter(piece, &mut out, |_| {});
        }
        tap.finish(&mut out);
        // Cut as a whole it is the same.
        let mut whole = Vec::new();
        let mut tap = Tap::default();
        tap.filter(&bytes, &mut whole, |_| {});
        tap.finish(&mut whole);
        prop_assert_eq!(&out, &whole);
        let left = bodies(&out, &[usize::MAX]);
        prop_assert!(left.iter().all(|body| asks(body)) || joined(&bytes, &out), "{:?}", left);
        let asked = bodies(&bytes, &[usize::MAX]).into_iter().filter(|body| asks(body)).count();
        prop_assert!(left.iter().filter(|body| asks(body)).count() >= asked);
        let taken: usize = bytes.len() - out.len();
        let reports = bodies(&bytes, &[usize::MAX]).into_iter().filter(|body| !asks(body)).count();
        prop_assert_eq!(taken == 0, reports == 0);
    }

    /// While no question is open, input passes as it came; while one is, nothing is lost and only the answer is added.
    #[test]
    fn input_passes_whole(bytes in stream(), cuts in cuts(), asked in any::<bool>()) {
        let mut questions = Questions::default();
        if asked {
            questions.output(Sequence::Status(b"?"), Duration::ZERO);
            questions.output(Sequence::AskAttributes, Duration::ZERO);
        }
        let mut out = Vec::new();
        for piece in pieces(&bytes, &cuts) {
            questions.input(piece, Duration::ZERO, &mut out);
        }
        questions.expire(PATIENCE * 2, &mut out);
        prop_assert!(!questions.are_open() || !asked || questions.deadline().is_none());
        let answer = answer();
        let answers = count(&out, &answer);
        prop_assert!(answers <= 1);
        if answers == 0 {
            prop_assert_eq!(out, bytes);
        } else {
            prop_assert!(asked);
            let place = find(&out, &answer).expect("counted");
            let without = [&out[..place], &out[place + answer.len()..]].concat();
            prop_assert_eq!(without, bytes);
        }
    }
}

/// Two broken pieces can become a sequence when what stood between them is gone.
fn joined(bytes: &[u8], out: &[u8]) -> bool {
    bytes.len() != out.len()
}

fn answer() -> Vec<u8> {
    b"\x1b]7501;?:states=idle,working,done,blocked,error:kinds=permission,question,auth\x1b\\".to_vec()
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn count(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).filter(|window| *window == part).count()
}

const ATTRIBUTES: &[u8] = b"\x1b[?62;22c";
const TERMINALS: &[u8] = b"\x1b]7501;?:states=idle,done:kinds=\x1b\\";

/// One exchange: what the program asks, then what comes in and when, then what the program gets.
fn exchange(asks: &[Sequence<'_>], input: &[(u64, &[u8])]) -> (Vec<u8>, Questions) {
    let mut questions = Questions::default();
    for sequence in asks {
        questions.output(*sequence, Duration::ZERO);
    }
    let mut out = Vec::new();
    for (ms, bytes) in input {
        let now = Duration::from_millis(*ms);
        questions.expire(now, &mut out);
        questions.input(bytes, now, &mut out);
    }
    (out, questions)
}

const QUESTION: Sequence<'_> = Sequence::Status(b"?");

#[test]
fn our_answer_stands_before_the_attributes_that_were_asked_behind_the_question() {
    let (out, questions) = exchange(&[QUESTION, Sequence::AskAttributes], &[(5, ATTRIBUTES)]);
    assert_eq!(out, [answer(), ATTRIBUTES.to_vec()].concat());
    assert!(questions.answered_by_us() && !questions.are_open());
}

#[test]
fn attributes_asked_before_the_question_are_no_answer_to_it() {
    let asks = [Sequence::AskAttributes, QUESTION, Sequence::AskAttributes];
    let (out, _) = exchange(&asks, &[(5, ATTRIBUTES), (6, b"x"), (7, ATTRIBUTES)]);
    assert_eq!(out, [ATTRIBUTES, b"x", &answer(), ATTRIBUTES].concat());
}

#[test]
fn a_terminal_that_answers_answers_alone() {
    let (out, questions) = exchange(&[QUESTION, Sequence::AskAttributes], &[(5, TERMINALS), (6, ATTRIBUTES)]);
    assert_eq!(out, [TERMINALS, ATTRIBUTES].concat());
    assert!(!questions.answered_by_us() && !questions.are_open());
}

#[test]
fn a_terminal_that_says_nothing_is_answered_for_after_a_while() {
    let (out, mut questions) = exchange(&[QUESTION, Sequence::AskAttributes], &[(5, b"k")]);
    assert_eq!(out, b"k");
    assert_eq!(questions.deadline(), Some(PATIENCE));
    let mut late = Vec::new();
    questions.expire(PATIENCE, &mut late);
    assert_eq!(late, answer());
}

#[test]
fn an_escape_key_waits_for_a_moment_only() {
    let (out, mut questions) = exchange(&[QUESTION, Sequence::AskAttributes], &[(5, b"\x1b")]);
    assert_eq!(out, b"");
    assert_eq!(questions.deadline(), Some(Duration::from_millis(5) + HOLD));
    let mut passed = Vec::new();
    questions.expire(Duration::from_millis(5) + HOLD, &mut passed);
    assert_eq!(passed, b"\x1b");
    questions.input(b"[?62;22c", Duration::from_millis(30), &mut passed);
    assert!(questions.answered_by_us(), "attributes that came in two parts are known all the same");
    assert_eq!(passed.len(), answer().len() + ATTRIBUTES.len());
}

#[test]
fn an_escape_key_waits_for_nothing_when_nothing_is_asked() {
    let (out, questions) = exchange(&[], &[(5, b"\x1b")]);
    assert_eq!(out, b"\x1b");
    assert!(!questions.are_open());
    let (out, _) = exchange(&[Sequence::AskAttributes], &[(5, b"\x1b")]);
    assert_eq!(out, b"\x1b", "the attributes alone are nobody's answer of ours");
}

#[test]
fn a_second_question_is_answered_again() {
    let asks = [QUESTION, Sequence::AskAttributes, QUESTION, Sequence::AskAttributes];
    let (out, _) = exchange(&asks, &[(5, ATTRIBUTES), (6, ATTRIBUTES)]);
    assert_eq!(out, [answer(), ATTRIBUTES.to_vec(), answer(), ATTRIBUTES.to_vec()].concat());
}
