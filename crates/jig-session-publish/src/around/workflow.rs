//! The workflow a ticket stands in: `workflow.json`, written by another program and read leniently.

use std::path::PathBuf;

use jig_session_schema::status::Workflow;
use serde_json::Value;

use super::tickets;

/// The first of these files that exists. One that does not parse is reported as the workflow's `problem`.
pub(super) fn read(files: &[PathBuf]) -> Option<Workflow> {
    let file = files.iter().find(|file| file.is_file())?;
    let problem = |why: &str| {
        let folder =
            file.parent().and_then(|folder| folder.file_name()).map(|name| name.to_string_lossy().into_owned());
        Workflow::new().name(folder).problem(Some(format!("{}: {why}", file.display())))
    };
    let Some(bytes) = tickets::bounded(file) else { return Some(problem("cannot be read")) };
    Some(match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(document)) => parse(&Value::Object(document)),
        Ok(_) => problem("is not an object"),
        Err(error) => problem(&format!("does not parse: {error}")),
    })
}

fn parse(document: &Value) -> Workflow {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    // A stage may be its bare name, or an object that names it.
    let named =
        |value: &Value| ["name", "id", "title"].iter().find_map(|key| text(&value[*key])).or_else(|| text(value));
    let list = |name: &str| document[name].as_array().into_iter().flatten();
    let mut workflow = Workflow::new().name(text(&document["name"])).stages(list("stages").filter_map(named).collect());
    workflow.current = named(&document["current"]).or_else(|| {
        let index = usize::try_from(document["current"].as_u64()?).ok()?;
        workflow.stages.get(index).cloned()
    });
    workflow.since = text(&document["since"]);
    workflow.prs = list("prs").cloned().collect();
    let lacks = [("name", workflow.name.is_none()), ("stages", workflow.stages.is_empty())];
    let lacks: Vec<_> = lacks.iter().filter(|(_, lacks)| *lacks).map(|(name, _)| *name).collect();
    workflow.problem =
        text(&document["problem"]).or_else(|| (!lacks.is_empty()).then(|| format!("no {}", lacks.join(", no "))));
    workflow
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of(text: &str) -> Workflow {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("workflow.json");
        fs::write(&file, text).unwrap();
        read(&[dir.path().join("absent.json"), file]).unwrap()
    }

    #[test]
    fn all_fields_are_read() {
        let workflow = of(r#"{"name":"delivery","stages":["plan",{"name":"build"},"review"],"current":"build",
            "since":"2026-11-29T10:00:00Z","prs":["https://git.example.org/pr/7"]}"#);
        assert_eq!(workflow.name.as_deref(), Some("delivery"));
        assert_eq!(workflow.stages, ["plan", "build", "review"]);
        assert_eq!(workflow.current.as_deref(), Some("build"));
        assert_eq!(workflow.since.as_deref(), Some("2026-11-29T10:00:00Z"));
        assert_eq!(workflow.prs, [Value::from("https://git.example.org/pr/7")]);
        assert_eq!(workflow.problem, None);
    }

    #[test]
    fn the_current_stage_may_be_a_number_or_missing() {
        assert_eq!(of(r#"{"name":"w","stages":["a","b"],"current":1}"#).current.as_deref(), Some("b"));
        assert_eq!(of(r#"{"name":"w","stages":["a","b"],"current":9}"#).current, None);
        assert_eq!(of(r#"{"name":"w","stages":["a","b"]}"#).current, None);
    }

    #[test]
    fn what_is_wrong_is_the_problem_and_never_a_failure() {
        for (text, right) in
            [("{", "does not parse"), ("[]", "is not an object"), ("{}", "no name, no stages"), ("", "does not parse")]
        {
            let problem = of(text).problem.unwrap();
            assert!(problem.contains(right), "{text}: {problem}");
        }
    }

    #[test]
    fn no_file_is_no_workflow() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[PathBuf::from("/nonexistent/workflow.json")]), None);
    }
}
