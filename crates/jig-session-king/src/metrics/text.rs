//! The metrics as lines for people.

use jig_session_view::{ages, sanitise};

use super::document::{cache_share, share};
use super::{Band, Metrics, Zone};

/// Models named in the text; all of them are in the document.
const MODELS_SHOWN: usize = 3;
/// A sparkline over fewer days with calls says nothing.
const LEAST_DAYS: usize = 3;

/// The figures in lines, each with its window.
#[must_use]
pub fn text(metrics: &Metrics, zone: &Zone) -> String {
    let today = metrics.date == metrics.today;
    let word = if today { "today".to_owned() } else { metrics.date.to_string() };
    let mut lines = Vec::new();
    match &metrics.band {
        None if today => lines.push(format!("today {} ({}): no calls yet", metrics.date, zone.name())),
        None => lines.push(format!("{word} ({}): no calls", zone.name())),
        Some(band) => band_lines(&word, band, metrics, zone, &mut lines),
    }
    if metrics.partial() {
        let unread = metrics.days.get(&metrics.date).map_or(0, |sums| sums.unread);
        lines.push(format!(
            "{word} is partial: {}",
            counted(unread, "record or field", "records or fields") + " not readable"
        ));
    }
    let week = metrics.seven_days();
    if week.iter().filter(|(_, sums)| sums.is_some_and(|sums| sums.calls > 0)).count() >= LEAST_DAYS {
        let input: Vec<u64> = week.iter().map(|(_, sums)| sums.map_or(0, |sums| sums.tokens.input)).collect();
        lines.push(format!(
            "7d in: {}  {}",
            sparkline(&input),
            ages::tokens(input.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens)))
        ));
    }
    if let Some(average) = metrics.average() {
        let tokens = &average.sums.tokens;
        lines.push(format!(
            "avg ({} days): in {} out {} net {} a day",
            average.days,
            ages::tokens(tokens.input),
            ages::tokens(tokens.output),
            ages::tokens(tokens.net())
        ));
    }
    let streak = metrics.streak();
    if streak.longest > 1 {
        lines.push(format!("streak: {}, longest {}", counted(streak.current, "day", "days"), streak.longest));
    }
    lines.join("\n") + "\n"
}

fn band_lines(word: &str, band: &Band, metrics: &Metrics, zone: &Zone, lines: &mut Vec<String>) {
    let mut head = format!(
        "{}: {}, {}",
        if metrics.date == metrics.today {
            format!("today {} ({})", band.date, zone.name())
        } else {
            format!("{word} ({})", zone.name())
        },
        counted(band.sums.calls, "call", "calls"),
        counted(band.sums.errors, "error", "errors"),
    );
    if let Some(p95) = band.p95_ms {
        head.push_str(&format!(", p95 {}", duration(p95)));
    }
    if metrics.date == metrics.today {
        head.push_str(&format!(", last hour {}", counted(band.last_hour, "call", "calls")));
    }
    lines.push(head);
    let tokens = &band.sums.tokens;
    let cache = cache_share(tokens).map_or_else(String::new, |share| format!(" cache {share} %"));
    lines.push(format!(
        "tok {word}: in {} out {} net {}{cache}",
        ages::tokens(tokens.input),
        ages::tokens(tokens.output),
        ages::tokens(tokens.net())
    ));
    let models: Vec<String> = band
        .models
        .iter()
        .take(MODELS_SHOWN)
        .map(|(model, calls)| format!("{} {} %", sanitise::clean(model), share(*calls, band.sums.calls)))
        .collect();
    if !models.is_empty() {
        lines.push(format!("models {word}: {}", models.join(", ")));
    }
    lines.push(format!("calls {word} by hour: {}", sparkline(&band.hourly)));
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Eight heights; nothing is a blank.
fn sparkline(values: &[u64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0);
    let block = |value: u64| match value {
        0 => ' ',
        _ => BLOCKS[usize::try_from(u128::from(value) * 7 / u128::from(most)).unwrap_or(0).min(7)],
    };
    values.iter().map(|value| block(*value)).collect()
}

fn duration(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.0} ms") } else { format!("{:.1} s", ms / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::{duration, share, sparkline};

    #[test]
    fn figures_as_people_read_them() {
        assert_eq!([duration(950.4), duration(12_340.0)], ["950 ms", "12.3 s"]);
        assert_eq!((share(1, 3), share(2, 3), share(0, 0)), (33, 67, 0));
    }

    #[test]
    fn a_sparkline_has_a_blank_for_nothing_and_its_height_for_the_most() {
        assert_eq!(sparkline(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(sparkline(&[0, 0]), "  ");
        assert_eq!(sparkline(&[]), "");
    }
}
