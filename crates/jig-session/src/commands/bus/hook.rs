//! The two hook entries of the bus: `guard` before an edit, `notice` around a turn. Both end with 0 whatever happens.

use std::ffi::OsString;
use std::process::ExitCode;

use jig_session_bus::view;
use jig_session_callbacks as callbacks;
use jig_session_schema::bus_result::{BusResult, GuardResult};

use crate::app::App;
use crate::failure::{Exit, Outcome};

/// Runs `bus guard AGENT` and `bus notice AGENT EVENT` without the command line's parser, which costs as much as the
/// rest of them; `None` for every other command line.
pub(crate) fn fast(args: &[OsString]) -> Option<ExitCode> {
    let words: Vec<&str> = args.iter().skip(1).take(6).map(|word| word.to_str()).collect::<Option<_>>()?;
    let ("bus", rest) = (*words.first()?, words.get(1..)?) else { return None };
    let json = rest.contains(&"--json");
    let plain: Vec<&str> = rest.iter().copied().filter(|word| *word != "--json").collect();
    if args.len() > 6 || plain.iter().any(|word| word.starts_with('-')) {
        return None;
    }
    // Neither has an exit code but 0.
    let _ = match plain.as_slice() {
        ["guard", agent] => guard(agent, None, &App::new(json, Some(false))),
        ["notice", agent, event] => notice(agent, event, None, &App::new(json, Some(false))),
        _ => return None,
    };
    Some(ExitCode::SUCCESS)
}

/// Denies an edit of a path that another live session holds.
pub(crate) fn guard(agent: &str, named: Option<&str>, app: &App) -> Outcome {
    let env = app.environment();
    let denial = callbacks::guard(agent, named, &env);
    let printed = if app.json {
        let deny = denial.as_ref().map(|denial| view::conflict(&denial.conflict));
        let message = denial.map(|denial| denial.message);
        app.print_json(&BusResult::Guard(GuardResult::new().ok(true).deny(deny).message(message)))
    } else {
        denial.and_then(|denial| denial.form).map_or(Ok(()), |form| app.print_agents_form(&form))
    };
    if let Err(failure) = printed {
        callbacks::unheard(&env, &failure.to_string());
    }
    Ok(Exit::OK)
}

/// Notifies a listening member of unannounced mail.
pub(crate) fn notice(agent: &str, event: &str, named: Option<&str>, app: &App) -> Outcome {
    callbacks::notice(agent, event, named, &app.environment(), |form| app.print_agents_form(form).is_ok());
    Ok(Exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_entries_are_fast() {
        let fast_words = |words: &[&str]| {
            let args: Vec<OsString> = std::iter::once(&"jig-session").chain(words).map(OsString::from).collect();
            // A line that is fast would read stdin, so only the others are tried.
            fast(&args).is_some()
        };
        for words in [
            vec!["bus"],
            vec!["bus", "status"],
            vec!["bus", "guard"],
            vec!["bus", "guard", "--help"],
            vec!["bus", "guard", "claude", "--as", "x"],
            vec!["bus", "notice", "claude"],
            vec!["ls", "guard", "claude"],
            vec![],
        ] {
            assert!(!fast_words(&words), "{words:?}");
        }
    }
}
