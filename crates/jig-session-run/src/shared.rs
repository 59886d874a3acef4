//! What the threads of the proxy share: open questions, what the program has reported, and the events that come of it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jig_session_agents::TitleTells;
use jig_session_publish::Now;
use jig_session_schema::event::Event;

use crate::query::Questions;
use crate::reports::{Reports, Shown};
use crate::scan::Sequence;
use crate::tap::asks;

/// Events that wait for a slow disk; older ones go, since each says how things are.
const WAITING: usize = 64;

/// Shared between the two directions and the publisher.
pub(crate) struct Shared {
    clock: fn() -> Now,
    /// Beginnings of titles that tell what the program does.
    titles: &'static [(&'static str, TitleTells)],
    questions: Mutex<Questions>,
    /// A question is open, or input is held back: input must be looked at.
    asking: AtomicBool,
    /// Reports are taken out of the output.
    takes_out: AtomicBool,
    news: Mutex<News>,
    bell: Condvar,
}

/// What the publisher is handed.
#[derive(Default)]
pub(crate) struct News {
    pub(crate) reports: Reports,
    pub(crate) events: VecDeque<Event>,
    pub(crate) pid: Option<u32>,
    pub(crate) ended: bool,
    /// Something has changed that is no event.
    fresh: bool,
}

impl Shared {
    pub(crate) fn new(clock: fn() -> Now, titles: &'static [(&'static str, TitleTells)]) -> Self {
        Self {
            clock,
            titles,
            questions: Mutex::default(),
            asking: AtomicBool::new(false),
            takes_out: AtomicBool::new(false),
            news: Mutex::default(),
            bell: Condvar::new(),
        }
    }

    pub(crate) fn now(&self) -> Now {
        (self.clock)()
    }

    /// Whether the program's reports are taken out.
    pub(crate) fn takes_out(&self) -> bool {
        self.takes_out.load(Ordering::SeqCst)
    }

    /// Takes a sequence of the program's output. True: a question has been opened.
    pub(crate) fn output(&self, sequence: Sequence<'_>) -> bool {
        match sequence {
            Sequence::Status(body) if !asks(body) => self.change(|reports, now| reports.report(body, now)),
            Sequence::Reset => self.change(Reports::reset),
            Sequence::Prompt => self.change(Reports::prompt),
            Sequence::Status(_) | Sequence::AskAttributes => return self.asked(sequence),
            Sequence::Title(title) => self.shown(Shown::of_title(title, self.titles)),
            Sequence::Progress(body) => self.shown(Shown::of_progress(body)),
            _ => {}
        }
        false
    }

    fn shown(&self, shown: Option<Shown>) {
        if let Some(shown) = shown {
            self.change(|reports, now| reports.shown(shown, now));
        }
    }

    fn asked(&self, sequence: Sequence<'_>) -> bool {
        let mut questions = lock(&self.questions);
        let opened = questions.output(sequence, self.now().mono);
        self.questions_changed(&questions);
        opened
    }

    fn questions_changed(&self, questions: &Questions) {
        self.asking.store(questions.are_open(), Ordering::SeqCst);
        self.takes_out.store(questions.answered_by_us(), Ordering::SeqCst);
    }

    /// Keys on their way to the program, the terminal's answers among them.
    pub(crate) fn keys(&self, bytes: &[u8], out: &mut Vec<u8>) {
        if bytes.contains(&b'\r') || bytes.contains(&b'\n') || memchr::memmem::find(bytes, b"\x1b[13u").is_some() {
            let now = self.now();
            lock(&self.news).reports.entered(now);
        }
        if !self.asking.load(Ordering::SeqCst) {
            return out.extend_from_slice(bytes);
        }
        let mut questions = lock(&self.questions);
        questions.input(bytes, self.now().mono, out);
        self.questions_changed(&questions);
    }

    /// What time alone does to open questions.
    pub(crate) fn expire_questions(&self, now: Duration, out: &mut Vec<u8>) {
        if self.asking.load(Ordering::SeqCst) {
            let mut questions = lock(&self.questions);
            questions.expire(now, out);
            self.questions_changed(&questions);
        }
    }

    pub(crate) fn questions_deadline(&self) -> Option<Duration> {
        if self.asking.load(Ordering::SeqCst) { lock(&self.questions).deadline() } else { None }
    }

    /// The program runs.
    pub(crate) fn started(&self, pid: u32) {
        let mut news = lock(&self.news);
        news.pid = Some(pid);
        news.fresh = true;
        drop(news);
        self.bell.notify_all();
    }

    /// The program was stopped, or goes on.
    pub(crate) fn stopped(&self, stopped: bool) {
        let now = self.now();
        lock(&self.news).reports.stopped(stopped, now);
        self.bell.notify_all();
    }

    /// The program has ended.
    pub(crate) fn ended(&self) {
        lock(&self.news).ended = true;
        self.bell.notify_all();
    }

    fn change(&self, change: impl FnOnce(&mut Reports, Now) -> Vec<Event>) {
        let now = self.now();
        let mut news = lock(&self.news);
        let events = change(&mut news.reports, now);
        if events.is_empty() && news.reports.deadline().is_none() {
            return;
        }
        news.events.extend(events);
        let over = news.events.len().saturating_sub(WAITING);
        news.events.drain(..over);
        drop(news);
        self.bell.notify_all();
    }

    /// Waits until there is something to publish, or until this long has passed.
    pub(crate) fn wait(&self, longest: Duration) -> MutexGuard<'_, News> {
        let until = self.now().mono + longest;
        let mut news = lock(&self.news);
        loop {
            let now = self.now();
            let due = news.reports.tick(now);
            news.events.extend(due);
            let left = news.reports.deadline().map_or(until, |at| at.min(until)).saturating_sub(now.mono);
            let fresh = std::mem::take(&mut news.fresh);
            if fresh || !news.events.is_empty() || news.ended || now.mono >= until || left.is_zero() {
                return news;
            }
            let waited = self.bell.wait_timeout(news, left);
            news = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Whatever another thread did, what it left is still a question or a report.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
