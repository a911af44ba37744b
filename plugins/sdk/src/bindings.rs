//! Rust bindings of the contract in `wit/`: the only `generate!` of the SDK.
//!
//! The world contains what a host offers today. The linker drops the imports that a plugin does not use. On native
//! targets only the types are used, and the imports are never called (see `host::Host`).

wit_bindgen::generate!({
    path: "../../wit",
    world: "offered",
    generate_all,
    pub_export_macro: true,
    export_macro_name: "export_handler",
    default_bindings_module: "tenon_plugin::bindings",
    additional_derives: [PartialEq],
});
