//! Invariants under random faults: an error denies, only the shown call runs, and the log has its decision before.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use askfirst::machine::{Answer, Question};
use askfirst::ports::{Approver, Reply};
use askfirst::record::Record;
use askfirst::{
    Approval, ApprovalDecision, Args, Cause, FunctionTool, FunctionToolset, Mode, Outcome, ToolDefinition,
};
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{Records, args, no, policy, yes};

/// The behaviors of an approver, most of them wrong.
#[derive(Debug, Clone)]
enum Does {
    Yes,
    No,
    Edit(u8),
    Panics,
    DropsTheReply,
    NeverAnswers,
    AnswersTwoForOne,
    AnswersNothing,
    NamesAPattern,
    ClaimsToBe(Cause),
}

/// Plays a list of behaviors, one for each question, and keeps the calls that it approved.
struct Actor {
    plays: Mutex<Vec<Does>>,
    approved: Arc<Mutex<Vec<Args>>>,
    kept: Mutex<Vec<Reply>>,
}

impl Approver for Actor {
    fn ask(&self, question: Question, reply: Reply) {
        let does = self.plays.lock().unwrap().pop().unwrap_or(Does::No);
        let shown = question.members[0].request.args.clone();
        let answer = match does {
            Does::Yes => {
                self.approved.lock().unwrap().push(shown);
                Answer::all(yes())
            }
            Does::No => Answer::all(no()),
            Does::Edit(n) => {
                Answer::all(ApprovalDecision { edited_args: Some(args(json!({"n": n}))), ..yes() })
            }
            Does::Panics => panic!("on purpose"),
            Does::DropsTheReply => return,
            Does::NeverAnswers => return self.kept.lock().unwrap().push(reply),
            Does::AnswersTwoForOne => Answer { decisions: vec![yes(), yes()], seen: None },
            Does::AnswersNothing => Answer { decisions: Vec::new(), seen: None },
            Does::NamesAPattern => {
                let pattern = ApprovalDecision { pattern: Some(0), ..yes() };
                Answer::all(pattern.remembered(askfirst::ApprovalScope::Pattern))
            }
            Does::ClaimsToBe(cause) => Answer::all(ApprovalDecision::yes(cause)),
        };
        reply.send(answer);
    }
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        3 => Just(Does::Yes),
        2 => Just(Does::No),
        3 => any::<u8>().prop_map(Does::Edit),
        1 => Just(Does::Panics),
        1 => Just(Does::DropsTheReply),
        1 => Just(Does::NeverAnswers),
        1 => Just(Does::AnswersTwoForOne),
        1 => Just(Does::AnswersNothing),
        1 => Just(Does::NamesAPattern),
        1 => prop_oneof![Just(Cause::Policy), Just(Cause::Mode), Just(Cause::Memory), Just(Cause::TimeOut)]
            .prop_map(Does::ClaimsToBe),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    // invariant: 1, 3, 8
    #[test]
    fn only_shown_approved_and_logged_calls_run_despite_faults(
        plays in prop::collection::vec(does(), 0..5),
        fail_from in prop::option::of(0_usize..8),
        approval in prop::sample::select(vec![Approval::Required, Approval::OncePerSession, Approval::Human]),
        n in any::<u8>(),
    ) {
        let records = Arc::new(Records::failing_from(fail_from));
        let approved = Arc::new(Mutex::new(Vec::new()));
        let actor = Actor { plays: Mutex::new(plays), approved: approved.clone(), kept: Mutex::default() };
        let ran: Arc<Mutex<Vec<(Args, bool)>>> = Arc::default();
        let (sees, runs) = (records.clone(), ran.clone());
        let tool = FunctionTool::dynamic(ToolDefinition::new("t", "", json!({})), move |invocation| {
            let all = sees.all.lock().unwrap();
            let recorded = all.iter().any(|(record, _)| match record {
                Record::Decided(decided) => decided.approved && decided.call.call.args == invocation.call.args,
                Record::Session(_)
                | Record::Requested(_)
                | Record::Executed(_)
                | Record::Rehearsed(_)
                | Record::Committed(_)
                | Record::Undone(_)
                | Record::Trusted(_)
                | Record::Revoked(_)
                | Record::RuleAdded(_)
                | Record::RuleRemoved(_) => false,
            });
            runs.lock().unwrap().push((invocation.call.args.clone(), recorded));
            Box::pin(std::future::ready(Ok(Value::Null)))
        });
        let controller = ApprovalController::setup(Mode::Interactive)
            .approver(Arc::new(actor))
            .time_out(Some(Duration::from_millis(20)))
            .build();
        let tools = ApprovalToolset::new(FunctionToolset::new().with(tool), controller, policy(&[("t", approval)]))
            .recorder(records);
        let outcome = tools.call_sync("t", args(json!({"n": n})));
        let ran = ran.lock().unwrap().clone();
        let approved = approved.lock().unwrap();
        match &outcome {
            Outcome::Done(_) => prop_assert_eq!(ran.len(), 1),
            Outcome::Denied(_) => prop_assert!(ran.is_empty()),
            Outcome::Failed(_) => prop_assert!(ran.len() <= 1),
        }
        for (args, recorded) in &ran {
            prop_assert!(recorded, "it ran before it was recorded");
            prop_assert!(approved.contains(args), "{args:?} ran, but {approved:?} was shown and approved");
        }
    }
}
