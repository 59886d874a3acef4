//! What speaks against burdening this machine. All that applies, in one order.

use jig_session_schema::bulk::Action;

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The most active panes among those captured.
    pub max_active_agents: u64,
    /// The greatest load of the last minute; none: any.
    pub max_load1: Option<f64>,
    /// The greatest load a processor.
    pub max_load_per_core: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_active_agents: 12, max_load1: None, max_load_per_core: 1.5 }
    }
}

/// The machine's load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Of the last minute.
    pub load1: f64,
    /// Processors.
    pub cpus: u64,
}

impl Load {
    /// Load a processor.
    pub fn per_core(&self) -> f64 {
        self.load1 / (self.cpus.max(1) as f64)
    }
}

/// The guard's reasons; none: all is well.
pub fn reasons(action: Action, machines: usize, active: u64, load: Load, limits: &Limits) -> Vec<String> {
    let mut reasons = Vec::new();
    if !action.is_read_only() && machines > 1 {
        reasons.push("mutating bulk operations are limited to one machine per run".to_owned());
    }
    if active > limits.max_active_agents {
        reasons.push(format!("active agent count {active} exceeds max {}", limits.max_active_agents));
    }
    if let Some(max) = limits.max_load1.filter(|&max| load.load1 > max) {
        reasons.push(format!("1m load {} exceeds max {}", rounded(load.load1), rounded(max)));
    }
    if load.per_core() > limits.max_load_per_core {
        let max = rounded(limits.max_load_per_core);
        reasons.push(format!("1m load per core {} exceeds max {max}", rounded(load.per_core())));
    }
    reasons
}

/// At most two decimals, none that are zero.
fn rounded(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_come_in_order_and_only_above_the_limit() {
        let load = Load { load1: 16.184, cpus: 2 };
        let limits = Limits { max_active_agents: 1, max_load1: Some(10.0), max_load_per_core: 1.5 };
        assert_eq!(
            reasons(Action::Stop, 2, 20, load, &limits),
            [
                "mutating bulk operations are limited to one machine per run",
                "active agent count 20 exceeds max 1",
                "1m load 16.18 exceeds max 10",
                "1m load per core 8.09 exceeds max 1.5",
            ]
        );
        let even = Limits { max_active_agents: 20, max_load1: Some(16.184), max_load_per_core: 8.092 };
        assert!(reasons(Action::Status, 2, 20, load, &even).is_empty());
        assert_eq!(rounded(25.0), "25");
        assert_eq!(rounded(100.0), "100");
    }
}
