//! Components that are expensive to compile, made from a valid one by adding a core module that nothing instantiates.
//!
//! Owns the shapes. Each component is valid, and would be published if its compilation ended.

use super::{push_number, push_section};

/// Loop that decrements a parameter: `loop local.get 0 i32.const 1 i32.sub local.tee 0 br_if 0 end`.
const LOOP: [u8; 12] = [0x03, 0x40, 0x20, 0x00, 0x41, 0x01, 0x6b, 0x22, 0x00, 0x0d, 0x00, 0x0b];
const END: u8 = 0x0b;

/// Adds `count` empty functions.
pub fn empty_functions(component: &[u8], count: usize) -> Vec<u8> {
    with_functions(component, count, 0)
}

/// Adds `count` functions of `loops` sequential loops each.
pub fn looping_functions(component: &[u8], count: usize, loops: usize) -> Vec<u8> {
    with_functions(component, count, loops)
}

/// Adds one function of at least `bytes` bytes.
pub fn large_function(component: &[u8], bytes: usize) -> Vec<u8> {
    with_functions(component, 1, bytes.div_ceil(LOOP.len()))
}

fn with_functions(component: &[u8], count: usize, loops: usize) -> Vec<u8> {
    let mut body = vec![0]; // no locals
    (0..loops).for_each(|_| body.extend_from_slice(&LOOP));
    body.push(END);
    let mut types = Vec::new();
    push_number(&mut types, count);
    let mut code = types.clone();
    types.resize(types.len() + count, 0);
    for _ in 0..count {
        push_number(&mut code, body.len());
        code.extend_from_slice(&body);
    }
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    push_section(&mut module, 1, &[1, 0x60, 1, 0x7f, 0]); // one type: takes an i32, returns nothing
    push_section(&mut module, 3, &types);
    push_section(&mut module, 10, &code);
    let mut bytes = component.to_vec();
    push_section(&mut bytes, 1, &module);
    bytes
}
