//! What the benches found: printed as it comes, and kept as a table in docs/performance.md.

use crate::bench::measure::{Pair, What, median, quantile};
use crate::run::say;

/// One figure against its goal.
pub(super) struct Figure {
    group: &'static str,
    what: String,
    ours: String,
    base: String,
    result: String,
    goal: String,
    ok: Option<bool>,
}

/// All figures of a run.
#[derive(Default)]
pub(super) struct Report {
    figures: Vec<Figure>,
    skipped: Vec<(&'static str, String)>,
}

impl Report {
    /// A ratio of two programs' costs: its median must not be above the goal.
    pub(super) fn ratio(&mut self, group: &'static str, what: &str, pair: &Pair, cost: What, goal: f64) {
        let ratios = pair.ratios(cost);
        let middle = quantile(&ratios, 0.5);
        self.add(Figure {
            group,
            what: format!("{what}, {}", cost.word()),
            ours: milliseconds(median(pair.ours.iter().map(|ours| cost.of(ours)))),
            base: milliseconds(median(pair.base.iter().map(|base| cost.of(base)))),
            result: format!("{middle:.2} x (p10 {:.2})", quantile(&ratios, 0.1)),
            goal: format!("<= {goal} x"),
            ok: Some(middle <= goal),
        });
    }

    /// How much faster ours is: the median must not be below the goal.
    pub(super) fn speedup(&mut self, group: &'static str, what: &str, pair: &Pair, cost: What, goal: f64) {
        let middle = 1.0 / quantile(&pair.ratios(cost), 0.5);
        self.add(Figure {
            group,
            what: format!("{what}, {}", cost.word()),
            ours: milliseconds(median(pair.ours.iter().map(|ours| cost.of(ours)))),
            base: milliseconds(median(pair.base.iter().map(|base| cost.of(base)))),
            result: format!("{middle:.1} x faster"),
            goal: format!(">= {goal} x faster"),
            ok: Some(middle >= goal),
        });
    }

    /// Ours beside another program's, by the clock: ours must not take longer.
    pub(super) fn beside(&mut self, what: &str, pair: &Pair) {
        let [ours, base] = [&pair.ours, &pair.base].map(|costs| median(costs.iter().map(|cost| What::Wall.of(cost))));
        self.add(Figure {
            group: "beside",
            what: what.to_owned(),
            ours: milliseconds(ours),
            base: milliseconds(base),
            result: format!("{:.2} x", ours / base),
            goal: "<= 1 x".to_owned(),
            ok: Some(ours <= base),
        });
    }

    /// What ours takes more than a baseline of the same run, in milliseconds; without a goal it is only told.
    pub(super) fn added(
        &mut self,
        group: &'static str,
        what: &str,
        (ours, base): (f64, f64),
        added: f64,
        goal: Option<f64>,
    ) {
        self.add(Figure {
            group,
            what: what.to_owned(),
            ours: format!("{ours:.2} ms"),
            base: format!("{base:.2} ms"),
            result: format!("{added:+.2} ms"),
            goal: goal.map(|goal| format!("<= +{goal} ms")).unwrap_or_default(),
            ok: goal.map(|goal| added <= goal),
        });
    }

    /// A rate of ours against a baseline's: not below this share of it.
    pub(super) fn at_least(&mut self, group: &'static str, what: &str, (ours, base): (f64, f64), share: f64) {
        self.add(Figure {
            group,
            what: what.to_owned(),
            ours: format!("{ours:.0}"),
            base: format!("{base:.0}"),
            result: format!("{:.2} x", ours / base),
            goal: format!(">= {share} x"),
            ok: Some(ours >= base * share),
        });
    }

    /// A number with its unit against the most it may be.
    pub(super) fn at_most(&mut self, group: &'static str, what: &str, value: f64, unit: &str, goal: f64) {
        self.add(Figure {
            group,
            what: what.to_owned(),
            ours: String::new(),
            base: String::new(),
            result: format!("{value:.2} {unit}"),
            goal: format!("<= {goal} {unit}"),
            ok: Some(value <= goal),
        });
    }

    /// A bench that cannot run here.
    pub(super) fn skip(&mut self, group: &'static str, why: impl Into<String>) {
        let why = why.into();
        say(&format!("SKIPPED {group}: {why}"));
        self.skipped.push((group, why));
    }

    fn add(&mut self, figure: Figure) {
        let verdict = verdict(figure.ok);
        say(&format!(
            "{:8} {:58} {:>10} {:>10}  {:22} {:14} {verdict}",
            figure.group, figure.what, figure.ours, figure.base, figure.result, figure.goal
        ));
        self.figures.push(figure);
    }

    /// Figures that miss their goal.
    pub(super) fn missed(&self) -> usize {
        self.figures.iter().filter(|figure| figure.ok == Some(false)).count()
    }

    /// The page for docs/performance.md.
    pub(super) fn page(&self, command: &str, machine: &str) -> String {
        let mut page = format!(
            "# Performance\n\n\
             For contributors, and for users who compare.\n\n\
             Made by `{command}` on {machine}. A ratio compares whole processes, built statically with the profile\n\
             `dist`, against the shortest straight code for the same raw work (`xtask/baselines`), in turns within the\n\
             same run; it is the median over the rounds, with the tenth percentile in brackets. CPU is user and system\n\
             time of the process and its children.\n\n\
             | group | what | ours | baseline | result | goal | |\n|---|---|---|---|---|---|---|\n"
        );
        for figure in &self.figures {
            page.push_str(&format!(
                "| {} | {} | {} | {} | {} | {} | {} |\n",
                figure.group,
                figure.what,
                figure.ours,
                figure.base,
                figure.result,
                figure.goal,
                verdict(figure.ok)
            ));
        }
        for (group, why) in &self.skipped {
            page.push_str(&format!("\nNot measured: {group}, {why}.\n"));
        }
        page
    }
}

fn verdict(ok: Option<bool>) -> &'static str {
    match ok {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "",
    }
}

fn milliseconds(seconds: f64) -> String {
    let ms = seconds * 1000.0;
    if ms >= 100.0 { format!("{ms:.0} ms") } else { format!("{ms:.2} ms") }
}
