//! Nothing: its tests are built with a `serde_json` whose maps keep their order.
