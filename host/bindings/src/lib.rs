//! The contract in `wit/` as Rust types: the only `bindgen!` of the host.
//!
//! Imports are asynchronous and may trap (`wasmtime::Result`), because a read may have to ask the database and a
//! broken rule ends the call; the guest's exports are called asynchronously, so that a deadline can end them.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "offered",
    imports: { default: async | trappable },
    exports: { default: async },
    require_store_data_send: true,
});
