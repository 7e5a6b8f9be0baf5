//! Rules about the links between documents.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{root, sources, wrong};

/// The targets of the links in a document, without those to other sites. Code is left out.
fn links(page: &str) -> Vec<String> {
    let text: String = page.split("```").step_by(2).collect();
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.to_owned());
    targets.filter(|target| !target.contains("://")).collect()
}

/// The anchors of the headings in a document.
fn anchors(page: &str) -> BTreeSet<String> {
    let text: String = page.split("```").step_by(2).collect();
    let headings = text.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    let kept = |c: &char| c.is_alphanumeric() || ['-', '_', ' '].contains(c);
    headings
        .map(|title| title.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-"))
        .collect()
}

#[test]
fn links_in_documents_lead_to_files_and_headings() {
    let mut places = Vec::new();
    let mut checked = 0;
    for path in sources(&root(), ".md") {
        let page = std::fs::read_to_string(&path).unwrap();
        for link in links(&page) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let heading = |page: String| anchors(&page).contains(anchor);
            let leads =
                target.exists() && (anchor.is_empty() || std::fs::read_to_string(target).is_ok_and(heading));
            if !leads {
                places.push(format!("{}: {link}", path.display()));
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} links");
    wrong("links that lead nowhere", places);
}

#[test]
fn readme_links_every_page_of_the_guide() {
    let linked = links(&std::fs::read_to_string(root().join("README.md")).unwrap());
    let guide = sources(&root().join("docs/guide"), ".md");
    let name = |path: PathBuf| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    let missing = guide.into_iter().map(name).filter(|name| !linked.contains(name));
    wrong("pages that the README does not link", missing.collect());
}
