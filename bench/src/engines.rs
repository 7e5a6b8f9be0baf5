//! The other engines, each behind one function from a call to a verdict. The clock does not include preparation.

use std::str::FromStr;

use askfirst::{ApprovalContext, Verdict};
use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
use regorus::Value as Rego;
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::vm::RegoVM;
use serde_json::json;

use crate::Failure;

/// Cedar with its rules and prepared requests.
pub struct Cedar {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    requests: Vec<Request>,
}

impl Cedar {
    /// Reads the rules and prepares the calls.
    pub fn new(rules: &str, calls: &[ApprovalContext]) -> Result<Self, Failure> {
        let requests = calls.iter().map(cedar_request).collect::<Result<_, _>>()?;
        let policies = PolicySet::from_str(rules)?;
        Ok(Self { authorizer: Authorizer::new(), policies, entities: Entities::empty(), requests })
    }

    /// The verdict on call `at`.
    pub fn decide(&self, at: usize) -> Verdict {
        let Some(request) = self.requests.get(at) else { return Verdict::Deny };
        let response = self.authorizer.is_authorized(request, &self.policies, &self.entities);
        match response.decision() {
            Decision::Allow => Verdict::Allow,
            Decision::Deny => {
                let reason = response.diagnostics().reason().next();
                let word = reason.and_then(|id| self.policies.policy(id)?.annotation("verdict"));
                verdict(word.unwrap_or("ask"))
            }
        }
    }
}

fn cedar_request(call: &ApprovalContext) -> Result<Request, Failure> {
    let context = json!({ "tool": call.tool_name, "table": call.args.get("table") });
    Ok(Request::new(
        EntityUid::from_str("Agent::\"a\"")?,
        EntityUid::from_str(&format!("Action::\"{}\"", call.tool_name))?,
        EntityUid::from_str("Tool::\"t\"")?,
        Context::from_json_value(context, None)?,
        None,
    )?)
}

/// regorus with its rules and prepared inputs.
pub struct Regorus {
    run: Runner,
    inputs: Vec<Rego>,
}

enum Runner {
    Engine(Box<regorus::Engine>),
    Machine(Box<RegoVM>),
}

/// The mode in which regorus runs its rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Its interpreter.
    Interpreted,
    /// Its virtual machine.
    Compiled,
}

const ENTRY: &str = "data.bench.verdict";

impl Regorus {
    /// Reads the rules and prepares the calls.
    pub fn new(
        rules: &str,
        data: Option<&serde_json::Value>,
        calls: &[ApprovalContext],
        how: How,
    ) -> Result<Self, Failure> {
        let mut engine = regorus::Engine::new();
        let data = data.map(|data| Rego::from_json_str(&data.to_string())).transpose()?;
        engine.add_policy("bench.rego".to_owned(), rules.to_owned())?;
        if let Some(data) = &data {
            engine.add_data(data.clone())?;
        }
        let run = match how {
            How::Interpreted => Runner::Engine(Box::new(engine)),
            How::Compiled => {
                let compiled = engine.compile_with_entrypoint(&ENTRY.into())?;
                let program = Compiler::compile_from_policy(&compiled, &[ENTRY])?;
                let mut machine = RegoVM::new();
                machine.set_max_instructions(usize::MAX);
                machine.load_program(program);
                if let Some(data) = data {
                    machine.set_data(data)?;
                }
                Runner::Machine(Box::new(machine))
            }
        };
        let input = |call: &ApprovalContext| json!({ "tool": call.tool_name, "args": call.args }).to_string();
        let inputs = calls.iter().map(|call| Rego::from_json_str(&input(call))).collect::<Result<_, _>>()?;
        Ok(Self { run, inputs })
    }

    /// The verdict on call `at`.
    pub fn decide(&mut self, at: usize) -> Verdict {
        let Some(input) = self.inputs.get(at).cloned() else { return Verdict::Deny };
        let found = match &mut self.run {
            Runner::Engine(engine) => {
                engine.set_input(input);
                engine.eval_rule(ENTRY.to_owned()).ok()
            }
            Runner::Machine(machine) => {
                machine.set_input(input);
                machine.execute().ok()
            }
        };
        let word = found.as_ref().and_then(|value| value.as_string().ok());
        verdict(word.map_or("deny", |word| word))
    }
}

fn verdict(word: &str) -> Verdict {
    match word {
        "allow" => Verdict::Allow,
        "ask" => Verdict::Ask,
        _ => Verdict::Deny,
    }
}
