//! The contract in `wit/` as Rust: the only `generate!` of the guest side.
//!
//! The world is what a host offers today; imports that a plugin does not use are dropped when it is linked. Natively the
//! imports are there as types only and are never called: see `host::Host`.

wit_bindgen::generate!({
    path: "../../wit",
    world: "offered",
    generate_all,
    pub_export_macro: true,
    export_macro_name: "export_handler",
    default_bindings_module: "tenon_plugin::bindings",
    additional_derives: [PartialEq],
});
