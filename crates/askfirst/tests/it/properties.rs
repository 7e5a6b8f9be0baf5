//! Properties of the judge and the modes, over random policies, calls and views.

#[path = "properties_judge.rs"]
mod judge;
#[path = "properties_model.rs"]
mod model;
#[path = "properties_random.rs"]
mod random;
#[path = "properties_permits.rs"]
mod permits;
