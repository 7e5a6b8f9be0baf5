//! Words that have several spellings: kinds of things in a cluster (`po`, `pods`, `pod/x`), signals (`-9`, `-KILL`),
//! services, and what `grep` searches in.

use super::{has, made};
use crate::line::tree::Word;
use crate::programs::used::Used;

/// The names of one kind.
const KINDS: &[&[&str]] = &[
    &["pod", "pods", "po"],
    &["service", "services", "svc"],
    &["deployment", "deployments", "deploy"],
    &["namespace", "namespaces", "ns"],
    &["node", "nodes", "no"],
    &["configmap", "configmaps", "cm"],
    &["secret", "secrets"],
    &["job", "jobs"],
    &["cronjob", "cronjobs", "cj"],
    &["daemonset", "daemonsets", "ds"],
    &["statefulset", "statefulsets", "sts"],
    &["replicaset", "replicasets", "rs"],
    &["ingress", "ingresses", "ing"],
    &["persistentvolume", "persistentvolumes", "pv"],
    &["persistentvolumeclaim", "persistentvolumeclaims", "pvc"],
    &["serviceaccount", "serviceaccounts", "sa"],
    &["networkpolicy", "networkpolicies", "netpol"],
    &["customresourcedefinition", "customresourcedefinitions", "crd", "crds"],
    &["role", "roles"],
    &["rolebinding", "rolebindings"],
    &["clusterrole", "clusterroles"],
    &["clusterrolebinding", "clusterrolebindings"],
    &["storageclass", "storageclasses", "sc"],
    &["horizontalpodautoscaler", "horizontalpodautoscalers", "hpa"],
];

/// The number and the name of each signal that people send.
const SIGNALS: &[(&str, &str)] = &[
    ("1", "HUP"),
    ("2", "INT"),
    ("3", "QUIT"),
    ("6", "ABRT"),
    ("9", "KILL"),
    ("10", "USR1"),
    ("12", "USR2"),
    ("15", "TERM"),
    ("18", "CONT"),
    ("19", "STOP"),
];

/// The same words for a cluster, with each kind by all its names: `pod,svc`, `pod/x` and `deployments.apps` too.
pub(super) fn kinds(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    for operand in &used.operands {
        let Some(word) = words.get(operand.word) else { continue };
        let Some(text) = word.literal() else { continue };
        for part in text.split(',') {
            let (kind, name) = part.split_once('/').map_or((part, None), |(kind, name)| (kind, Some(name)));
            let kind = kind.split_once('.').map_or(kind, |(kind, _)| kind).to_lowercase();
            let names = KINDS.iter().find(|names| names.contains(&kind.as_str()));
            for other in names.into_iter().flat_map(|names| names.iter()) {
                let mut made = words.to_vec();
                let meant =
                    std::iter::once(*other).chain(name).map(|text| Word::text(text, word.span.clone()));
                made.splice(operand.word..=operand.word, meant);
                // Of `pod/a ns/b` each is named for itself.
                let before =
                    used.operands.iter().filter(|before| name.is_some() && before.word < operand.word);
                for before in before.rev() {
                    made.remove(before.word);
                }
                found.push(made);
            }
        }
    }
    found
}

/// The same words with the signal in its other spellings, in front.
pub(super) fn signals(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(text) = word.literal() else { continue };
        let value = used.options.iter().find(|given| {
            given.value.as_ref().is_some_and(|value| value.span == word.span)
                && given.names.iter().any(|name| matches!(name.as_str(), "-s" | "-n" | "--signal"))
        });
        // The value may stand in a word of its own, behind `=`, or without a gap.
        let (said, from) = match (value, text.strip_prefix('-')) {
            (Some(given), _) => {
                let own = given.value.as_ref().and_then(Word::literal).unwrap_or_default();
                (own, if own == text { at - 1 } else { at })
            }
            (None, Some(dashed)) => (dashed, at),
            (None, None) => continue,
        };
        let upper = said.to_uppercase();
        let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
        let Some((number, name)) = SIGNALS.iter().find(|(number, name)| *number == bare || *name == bare)
        else {
            continue;
        };
        let rest: Vec<Word> = words
            .iter()
            .skip(1)
            .enumerate()
            .filter(|(index, _)| !(from..=at).contains(&(index + 1)))
            .map(|(_, word)| word.clone())
            .collect();
        let ways = [
            vec![format!("-{number}")],
            vec![format!("-{name}")],
            vec![format!("-SIG{name}")],
            vec!["-s".to_owned(), (*name).to_owned()],
            vec!["-s".to_owned(), (*number).to_owned()],
            vec!["-s".to_owned(), format!("SIG{name}")],
        ];
        for way in ways {
            let own = way.into_iter().map(|text| Word::text(text, word.span.clone()));
            found.push(words.first().cloned().into_iter().chain(own).chain(rest.iter().cloned()).collect());
        }
    }
    found
}

/// `systemctl disable --now x` and `service x stop` are `systemctl stop x`.
pub(super) fn services(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let text = |at: usize| words.get(at).and_then(Word::literal);
    if used.program != "systemctl" {
        if let (Some(service), Some(order)) = (words.get(1), text(2)) {
            let mut other = made(words, &["systemctl", order], words.len());
            other.push(service.clone());
            found.push(other);
        }
        return found;
    }
    let places = super::places(used);
    let Some((at, order)) = places.first().and_then(|at| Some((*at, text(*at)?))) else { return found };
    let now = match order {
        "disable" | "mask" => Some("stop"),
        "enable" | "reenable" | "unmask" => Some("start"),
        _ => None,
    };
    found.extend(now.filter(|_| has(used, "--now")).map(|order| made(words, &["systemctl", order], at + 1)));
    for place in places.iter().skip(1) {
        let Some(service) = text(*place) else { continue };
        let short = service.strip_suffix(".service");
        let other = short.map_or_else(|| format!("{service}.service"), str::to_owned);
        found.push(super::replaced(words, *place, Word::text(other, 0..0)));
        found.push(made(&[], &["service", short.unwrap_or(service), order], 0));
    }
    found
}

/// `grep -R` is `grep -r` and `rgrep`, `grep -E` is `egrep`.
pub(super) fn greps(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let ways: [(&str, &[&str]); 4] =
        [("-r", &["grep", "-R"]), ("-R", &["grep", "-r"]), ("-E", &["egrep"]), ("-F", &["fgrep"])];
    let mut found: Vec<Vec<Word>> =
        ways.iter().filter(|(option, _)| has(used, option)).map(|(_, head)| made(words, head, 1)).collect();
    if has(used, "-r") || has(used, "-R") {
        found.push(made(words, &["rgrep"], 1));
    }
    let text = |word: &Word, options: &[&str]| word.literal().is_some_and(|text| options.contains(&text));
    let pairs = words.iter().zip(words.iter().skip(1));
    let recursive = words.iter().any(|word| text(word, &["--directories=recurse", "-drecurse"]))
        || pairs.into_iter().any(|(one, two)| text(one, &["-d", "--directories"]) && text(two, &["recurse"]));
    found.extend(recursive.then(|| made(words, &["grep", "-r"], 1)));
    found
}
