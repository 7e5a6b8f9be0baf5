//! Property tests of merged configs: a floor never loosens a verdict, and `loosens` reports what trust loosens.

use askfirst::{ApprovalContext, Args, Assessment, SandboxStatus, judge};
use proptest::prelude::*;
use serde_json::json;

use super::layers::{ProjectTrust, load_with};
use super::loosens::loosens;
use super::testing::World;

fn approval() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("none"), Just("once_per_session"), Just("required"), Just("human"), Just("deny")]
}

fn entry() -> impl Strategy<Value = String> {
    let name =
        prop_oneof![Just("a"), Just("b"), Just("shell"), Just("\"a*\""), Just("\"*b\""), Just("\"*\"")];
    let value = prop_oneof![
        approval().prop_map(|word| format!("{{ approval: {word} }}")),
        approval().prop_map(|word| format!("{{ approval: {word}, when: {{ x: 1 }} }}")),
        (approval(), approval()).prop_map(|(one, two)| {
            format!("[ {{ approval: {one}, when: {{ x: [1, \"y*\"] }} }}, {{ approval: {two} }} ]")
        }),
        Just("{}".to_owned()),
        Just("{ allowed: false }".to_owned()),
        Just("{ pre_approved: true }".to_owned()),
    ];
    (name, value).prop_map(|(name, value)| format!("  {name}: {value}\n"))
}

prop_compose! {
    fn config()(default in prop::option::of(approval()), entries in prop::collection::vec(entry(), 0..4)) -> String {
        let mut seen = Vec::new();
        let entries: String = entries
            .into_iter()
            .filter(|entry| {
                let name = entry.split(':').next().unwrap_or_default().to_owned();
                let new = !seen.contains(&name);
                seen.push(name);
                new
            })
            .collect();
        let default = default.map(|word| format!("default_approval: {word}\n")).unwrap_or_default();
        format!("version: 1\n{default}tools:\n{entries}")
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn floor_never_loosens_and_trust_reports_what_it_loosens(user in config(), project in config(), managed in config()) {
        let world = World::new();
        world.write("home/.config/askfirst/askfirst.yaml", &user);
        let alone = world.load().unwrap();
        world.write("project/askfirst.yaml", &project);
        let untrusted = load_with(&world.options(), ProjectTrust::Withheld).unwrap();
        world.write("etc/askfirst.yaml", &managed);
        let both = load_with(&world.options(), ProjectTrust::Withheld).unwrap();
        let trusted_above = load_with(&world.options(), ProjectTrust::Assumed).unwrap();
        std::fs::remove_file(world.path("etc/askfirst.yaml")).unwrap();
        let trusted = load_with(&world.options(), ProjectTrust::Assumed).unwrap();
        let reported = loosens(&untrusted, &trusted);
        for tool in ["a", "ab", "b", "shell", "z"] {
            for args in [json!({}), json!({ "x": 1 }), json!({ "x": "yz" })] {
                let args: Args = args.as_object().unwrap().clone();
                let call = ApprovalContext::new(tool, args);
                for assessment in [Assessment::silent(), Assessment::harmless(), Assessment::blocked("no")] {
                    let of = |config: &super::Config| {
                        judge(&call, &assessment, &config.policy(SandboxStatus::Settled)).approval()
                    };
                    prop_assert!(of(&untrusted) >= of(&alone));
                    prop_assert!(of(&both) >= of(&untrusted));
                    prop_assert!(of(&trusted_above) >= of(&trusted));
                    let is_reported = !reported.is_empty();
                    prop_assert!(of(&trusted) >= of(&alone) || is_reported, "{tool}: looser, but not reported");
                }
            }
        }
    }
}
