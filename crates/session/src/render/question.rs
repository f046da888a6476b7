//! Claude's questions (`AskUserQuestion`) and the user's answers.

use serde_json::Value as Json;

use super::item::{Item, Look};
use super::text::{Origin, lines, one_line};
use super::tool_use::Call;
use crate::message::Part;
use crate::tool_result::Outcome;

pub(super) struct Question {
    text: String,
    answer: Option<String>,
    options: Vec<String>,
}

fn text_of(value: Option<&Json>) -> Option<String> {
    let text = match value? {
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Finds an answer in the text for the model: `"question"="answer", "question"="answer".` Either may contain quotes.
fn answer_in(said: &str, question: &str, others: &[String]) -> Option<String> {
    let (_, rest) = said.split_once(&format!("\"{question}\"=\""))?;
    let next = others.iter().map(|other| format!("\", \"{other}\"="));
    let ends = ["\". You can now ", "\" selected preview:", "\" notes: "].into_iter().map(str::to_owned);
    let end = next.chain(ends).filter_map(|end| rest.find(&end)).min().or_else(|| rest.rfind('"'))?;
    rest.get(..end).map(str::to_owned)
}

/// The questions of a call; `None` if it is another tool's.
pub(super) fn questions_of(call: &Call<'_>) -> Option<Vec<Question>> {
    let asked = call.input.get("questions").filter(|_| call.name == "AskUserQuestion")?;
    if !asked.is_array() && !asked.is_object() {
        return None;
    }
    let asked = asked.as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<String> = asked.iter().filter_map(|one| text_of(one.get("question"))).collect();
    let recorded: Option<Json> = call.result.and_then(|result| match &result.outcome {
        Some(Outcome::Other { raw }) => serde_json::from_str(raw.get()).ok(),
        _ => None,
    });
    let parts = call.result.map_or(&[][..], |result| &result.content);
    let said: Vec<&str> =
        parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(&*text.text) } else { None }).collect();
    let said = said.join("\n");
    let answer_to = |question: &str| {
        let recorded = recorded.as_ref().and_then(|recorded| recorded.get("answers")?.get(question));
        // Older CLIs record the answer only in the text for the model.
        recorded.map_or_else(
            || answer_in(&said, question, &texts).filter(|text| !text.is_empty()),
            |one| text_of(Some(one)),
        )
    };
    let questions = asked.iter().filter_map(|one| {
        let text = text_of(one.get("question"))?;
        let options = one.get("options").and_then(Json::as_array).into_iter().flatten().filter_map(|option| {
            let label = text_of(option.get("label"))?;
            Some(match text_of(option.get("description")) {
                Some(description) => format!("{label}: {description}"),
                None => label,
            })
        });
        Some(Question { answer: answer_to(&text), options: options.collect(), text })
    });
    Some(questions.collect())
}

/// The questions and what was chosen, in one line; of unanswered ones only the first.
pub(super) fn line_of(call: &Call<'_>) -> Option<String> {
    let questions = questions_of(call)?;
    let (first, others) = questions.split_first()?;
    let answered = |one: &Question| Some(format!("{} → {}", one.text, one.answer.as_ref()?));
    let answers: Vec<String> = questions.iter().filter_map(answered).collect();
    let line = if answers.is_empty() { first.text.clone() } else { answers.join(", ") };
    let left = if answers.is_empty() { others.len() } else { questions.len() - answers.len() };
    Some(if left == 0 { line } else { format!("{line} (and {left} more)") })
}

/// Adds the questions, each with its options and answer. Returns whether each has an answer.
pub(super) fn add(item: &mut Item, questions: &[Question], indent: usize) -> bool {
    for one in questions {
        item.say(&one.text, indent, Look::Input);
        for option in &one.options {
            item.block(&[format!("- {}", one_line(option))], indent + 2, Look::Dim, None);
        }
        if let Some(answer) = &one.answer {
            item.block(&lines(&format!("→ {answer}"), Origin::Said), indent, Look::You, None);
        }
    }
    !questions.is_empty() && questions.iter().all(|one| one.answer.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_in_the_text_for_the_model() {
        let questions = ["Which \"one\"?".to_owned(), "Why?".to_owned()];
        let said = r#"User has answered: "Which "one"?"="The "first"", "Why?"="It is". You can now continue"#;
        assert_eq!(answer_in(said, &questions[0], &questions).as_deref(), Some("The \"first\""));
        assert_eq!(answer_in(said, &questions[1], &questions).as_deref(), Some("It is"));
        assert_eq!(answer_in(said, "Who?", &questions), None);
        assert_eq!(answer_in(r#""Why?"="so""#, "Why?", &questions).as_deref(), Some("so"));
        // As CLI 2.1.329 says it.
        let said = r#"Your questions have been answered: "Why?"="so" notes: "x". You can now continue"#;
        assert_eq!(answer_in(said, "Why?", &questions).as_deref(), Some("so"));
    }
}
