//! What the commands around pi-king's files print with `--json`, beside the listing.

use crate::row::Verdict;
use crate::shape::{Named, Tag};
use crate::time::Timestamp;

record! {
    /// `king pin`, `king order`, `king name --json`: the layout after the change.
    pub struct KingLayout {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The layout's file.
        required path: String = "path",
        /// The pinned sessions, in their order.
        needed pinned: Vec<String> = "pinned",
        /// The manual order.
        needed order: Vec<String> = "order",
        /// The names of the sessions that were requested, by id.
        needed names: Named<String> = "names",
    }
}

record! {
    /// `king fingerprint --json`: what a Pi started now would load, as one value.
    pub struct KingFingerprint {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The folder Pi would be started in.
        required cwd: String = "cwd",
        /// The agent's configuration folder.
        required agent_dir: String = "agentDir",
        /// The value, compared for equality only.
        required fingerprint: String = "fingerprint",
    }
}

record! {
    /// `king dismiss --json`: the card that was removed.
    pub struct KingDismiss {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The file that was removed.
        required removed: String = "removed",
        /// Whether its session lived.
        needed verdict: Verdict = "verdict",
        /// Whether the card itself said that its session had ended.
        needed exited: bool = "exited",
    }
}

record! {
    /// `king metrics --json`: the figures of the call logs, each with its window.
    pub struct KingMetrics {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When it was measured.
        required at: Timestamp = "at",
        /// The time zone of the days.
        needed zone: String = "zone",
        /// The folder of the logs; null when none is named, and then nothing was measured.
        seed logs: Option<String> = "logs",
        /// The day that was requested, `YYYY-MM-DD`.
        seed day: Option<String> = "day",
        /// Whether anything of any day could not be read.
        needed partial: bool = "partial",
        /// The day that was requested; null without a call on it.
        seed band: Option<KingBand> = "band",
        /// That day and the six before it.
        needed seven_days: Vec<KingDay> = "sevenDays",
        /// The mean of the days with calls among them; null without one.
        seed average: Option<KingAverage> = "average",
        /// All days.
        seed lifetime: Option<KingSums> = "lifetime",
        /// Days with calls, one after another.
        seed streak: Option<KingStreak> = "streak",
        /// Every day with calls, oldest first.
        needed days: Vec<KingDay> = "days",
    }
}

/// A record of sums, with fields of its own before and after them.
macro_rules! sums {
    (
        $(#[doc = $about:literal])*
        $Name:ident { $( $(#[doc = $before:literal])* $first:ident : $First:ty = $first_key:literal ,)* }
        and { $( $(#[doc = $doc:literal])* $presence:ident $field:ident : $Ty:ty = $key:literal ,)* }
    ) => {
        record! {
            $(#[doc = $about])*
            pub struct $Name {
                $( $(#[doc = $before])* required $first : $First = $first_key ,)*
                /// Calls counted.
                needed calls: u64 = "calls",
                /// Those of them that the provider answered with an error.
                needed errors: u64 = "errors",
                /// Their tokens.
                needed tokens: KingTokens = "tokens",
                /// Whether anything of them could not be read.
                needed partial: bool = "partial",
                /// Records, or fields of counted records, that could not be read.
                needed unread: u64 = "unread",
                $( $(#[doc = $doc])* $presence $field : $Ty = $key ,)*
            }
        }

        impl $Name {
            /// These sums; the other fields are as they were.
            #[must_use]
            pub fn sums(mut self, sums: KingSums) -> Self {
                (self.calls, self.errors, self.tokens) = (sums.calls, sums.errors, sums.tokens);
                (self.partial, self.unread) = (sums.partial, sums.unread);
                self
            }
        }
    };
}

record! {
    /// Sums over calls.
    pub struct KingSums {
        /// Calls counted.
        needed calls: u64 = "calls",
        /// Those of them that the provider answered with an error.
        needed errors: u64 = "errors",
        /// Their tokens.
        needed tokens: KingTokens = "tokens",
        /// Whether anything of them could not be read.
        needed partial: bool = "partial",
        /// Records, or fields of counted records, that could not be read.
        needed unread: u64 = "unread",
    }
}

sums! {
    /// One day's sums.
    KingDay {
        /// The local day, `YYYY-MM-DD`.
        day: String = "day",
    } and {}
}

sums! {
    /// The mean of several days.
    KingAverage {} and {
        /// How many days.
        needed days: u64 = "days",
    }
}

sums! {
    /// One day in detail.
    KingBand {} and {
        /// Calls in the hour before now.
        needed last_hour: u64 = "lastHour",
        /// Calls by model, most first.
        needed models: Vec<KingModel> = "models",
        /// Cache reads as percent of the input; null without input.
        seed cache_share_percent: Option<u64> = "cacheSharePercent",
        /// The 95th percentile of the calls' durations, in milliseconds.
        seed p95_ms: Option<f64> = "p95Ms",
        /// Calls by local hour, from 0 to the latest hour with a call.
        needed hourly: Vec<u64> = "hourly",
    }
}

record! {
    /// A model's calls.
    pub struct KingModel {
        /// The model.
        required model: String = "model",
        /// Its calls.
        needed calls: u64 = "calls",
        /// They as percent of the day's.
        needed percent: u64 = "percent",
    }
}

record! {
    /// Tokens of calls.
    pub struct KingTokens {
        /// Tokens sent, cache reads included.
        needed input: u64 = "in",
        /// Tokens received.
        needed output: u64 = "out",
        /// The part of `in` that came from the cache.
        needed cache_read: u64 = "cacheRead",
        /// Tokens written to the cache.
        needed cache_write: u64 = "cacheWrite",
        /// Tokens spent on reasoning.
        needed reasoning: u64 = "reasoning",
        /// New text: input without what was only sent again.
        needed net: u64 = "net",
    }
}

record! {
    /// Days with calls, one after another.
    pub struct KingStreak {
        /// Up to today; a today without calls yet does not end it.
        needed current: u64 = "current",
        /// The longest there was.
        needed longest: u64 = "longest",
    }
}
