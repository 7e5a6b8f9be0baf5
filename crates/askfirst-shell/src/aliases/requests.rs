//! Requests: what is sent says how, and an address may stand behind an option.

use crate::line::tree::Word;
use crate::programs::used::{Role, Used};

/// Options of `curl` that send text.
const DATA: [&str; 6] = ["-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json"];

/// Options of `curl` that send a form.
const FORM: [&str; 2] = ["-F", "--form-string"];

/// The same request with its method and its addresses in their plain places.
pub(super) fn others(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let name = used.program.as_str();
    let data = DATA.iter().any(|option| super::has(used, option));
    let form = FORM.iter().any(|option| super::has(used, option));
    let value = |option: &str| {
        let given = used.options.iter().filter(|given| given.names.iter().any(|name| name == option));
        given.filter_map(|given| given.value.as_ref()).next_back()
    };
    let method = value(if name == "curl" { "-X" } else { "--method" });
    let upper = method.and_then(Word::literal).map(str::to_uppercase);
    let posts = ["--post-data", "--post-file"].iter().any(|option| super::has(used, option));
    let sent = match (name, &upper) {
        ("curl", _) if super::has(used, "-G") => None,
        (_, Some(upper)) => Some(upper.as_str()),
        ("curl", None) if data || form => Some("POST"),
        ("curl", None) if super::has(used, "-T") => Some("PUT"),
        ("curl", None) if super::has(used, "-I") => Some("HEAD"),
        ("wget" | "wget2", None) if posts => Some("POST"),
        (_, None) => None,
    };
    match (name, sent) {
        ("curl", Some(sent)) => {
            let head: &[&str] = if data { &["curl", "-X", sent, "-d", "x"] } else { &["curl", "-X", sent] };
            found.push(super::made(words, head, 1));
        }
        ("wget" | "wget2", Some("POST")) => {
            found.push(super::made(words, &[name, "--method=POST", "--post-data=x", "--post-file=x"], 1));
        }
        _ => {}
    }
    if name == "curl"
        && let Some(address) = value("--url")
    {
        found.push(words.iter().take(1).chain([address]).chain(words.iter().skip(1)).cloned().collect());
    }
    // In two parts it is not looked for by its letters: `deny: curl localhost` is about `http://localhost/x`.
    let addresses = used.operands.iter().filter(|operand| operand.role == Role::Url);
    for operand in addresses {
        let word = words.get(operand.word).and_then(super::in_two);
        found.extend(word.map(|word| super::replaced(words, operand.word, word)));
    }
    found
}
