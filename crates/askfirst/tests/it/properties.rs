//! Property tests of the judge and the modes, with random policies, calls and assessments.

#[path = "properties_judge.rs"]
mod judge;
#[path = "properties_model.rs"]
mod model;
#[path = "properties_permits.rs"]
mod permits;
#[path = "properties_random.rs"]
mod random;
