//! The exports of a component that calls use. They are resolved once for each generation.
//!
//! The generated bindings check the types of all exports in each instance. A call uses one export, and only its type is
//! checked here. All types were checked when the component was loaded.

use tenon_bindings::OfferedPre;
use wasmtime::{
    Engine, Store,
    component::{ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower},
};

use super::CallState;

/// Name of the interface that a component exports. Must match `package` in `wit/`: `Callable::new` fails otherwise.
const HANDLER: &str = "tenon:plugin/handler@0.1.0";

/// A component with its imports resolved. One instance serves one call.
pub struct Callable {
    component: InstancePre<CallState>,
    handle: Export,
    run: Export,
}

/// Index of an exported function in its component.
pub struct Export(ComponentExportIndex);

impl Callable {
    /// Resolves the exports of a component.
    ///
    /// # Errors
    ///
    /// The component does not export all functions of `handler`.
    pub fn new(component: InstancePre<CallState>) -> wasmtime::Result<Callable> {
        let component = OfferedPre::new(component)?.instance_pre().clone();
        let find = |name| {
            let component = component.component();
            let handler = component.get_export_index(None, HANDLER);
            let export = handler.and_then(|handler| component.get_export_index(Some(&handler), name));
            export.map(Export).ok_or_else(|| wasmtime::format_err!("no export `{name}` of `{HANDLER}`"))
        };
        let (handle, run) = (find("handle")?, find("run")?);
        Ok(Callable { component, handle, run })
    }

    pub fn engine(&self) -> &Engine {
        self.component.engine()
    }

    pub fn handle(&self) -> &Export {
        &self.handle
    }

    pub fn run(&self) -> &Export {
        &self.run
    }

    pub async fn instantiate(&self, store: &mut Store<CallState>) -> wasmtime::Result<Instance> {
        self.component.instantiate_async(store).await
    }
}

impl Export {
    /// Calls a function of one parameter and one result.
    pub async fn call<P, R>(
        &self,
        instance: &Instance,
        store: &mut Store<CallState>,
        parameter: P,
    ) -> wasmtime::Result<R>
    where
        (P,): ComponentNamedList + Lower + Send + Sync,
        (R,): ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let function = instance.get_typed_func::<(P,), (R,)>(&mut *store, &self.0)?;
        let (result,) = function.call_async(store, (parameter,)).await?;
        Ok(result)
    }
}
