//! Rust bindings of the contract in `wit/`: the only `bindgen!` of the host.
//!
//! Imports are asynchronous and may trap (`wasmtime::Result`), because a read may query the database and a violated
//! rule ends the call. The guest's exports are called asynchronously, so that a deadline can end them.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "offered",
    imports: { default: async | trappable },
    exports: { default: async },
    require_store_data_send: true,
});
