//! The same as `ask`, in a file of its own: the tests of the rules build it with one rule left out.

#[path = "ask.rs"]
mod ask;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    ask::main()
}
