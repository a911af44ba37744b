//! Small plugins written as component text, for behaviour that the built guests do not have.

use serde_json::Value;

/// Memory address of the answer of [`TextGuest::answering`].
const ANSWER_AT: usize = 32 << 10;
/// Memory address of the body of that answer.
const BODY_AT: usize = 128 << 10;
const MEDIA_TYPE: &str = "application/octet-stream";

/// A component with a fixed manifest, whose `handle` does one thing.
pub struct TextGuest {
    manifest: String,
    handle: String,
    answer: Vec<u8>,
    memory_pages: usize,
    extra_memories: usize,
}

impl TextGuest {
    /// Returns a guest whose `handle` computes without end.
    pub fn looping(manifest: &Value) -> TextGuest {
        let handle = "(loop $on (br $on)) unreachable".to_owned();
        TextGuest { manifest: manifest.to_string(), handle, answer: Vec::new(), memory_pages: 2, extra_memories: 0 }
    }

    /// Returns a guest whose `handle` commits an answer with `body_bytes` zeros, and changes nothing.
    pub fn answering(manifest: &Value, body_bytes: usize) -> TextGuest {
        let media_type_at = ANSWER_AT + 40;
        // Fields of the answer: `ok`, `commit`, the status, no headers, `other` with a media type and bytes.
        let words = [0, 0, 200, 0, 0, 2, media_type_at, MEDIA_TYPE.len(), BODY_AT, body_bytes];
        let mut answer: Vec<u8> = words.iter().flat_map(|word| (*word as u32).to_le_bytes()).collect();
        answer.extend_from_slice(MEDIA_TYPE.as_bytes());
        let memory_pages = (BODY_AT + body_bytes).div_ceil(64 << 10);
        let handle = format!("i32.const {ANSWER_AT}");
        TextGuest { manifest: manifest.to_string(), handle, answer, memory_pages, extra_memories: 0 }
    }

    /// Returns a guest whose `handle` writes `bytes` of its memory with one instruction and commits an answer without a
    /// body.
    pub fn filling(manifest: &Value, bytes: usize) -> TextGuest {
        let guest = TextGuest::answering(manifest, 0);
        let fill = format!("(memory.fill (i32.const {BODY_AT}) (i32.const 1) (i32.const {bytes}))");
        let memory_pages = (BODY_AT + bytes).div_ceil(64 << 10);
        TextGuest { handle: format!("{fill} {}", guest.handle), memory_pages, ..guest }
    }

    /// Sets the total number of memories. Each belongs to its own core instance.
    pub fn memories(self, count: usize) -> TextGuest {
        TextGuest { extra_memories: count - 1, ..self }
    }

    pub fn build(&self) -> Vec<u8> {
        let extra: String = (0..self.extra_memories).map(|_| "(core instance (instantiate $memory))").collect();
        let text = format!(
            r#"(component
              (core module $memory (memory 1))
              {extra}
              (core module $code
                (memory (export "memory") {pages})
                (data (i32.const 0) "\10\00\00\00{length}")
                (data (i32.const 16) "{manifest}")
                (data (i32.const {ANSWER_AT}) "{answer}")
                (func (export "describe") (result i32) i32.const 0)
                (func (export "handle") (param i32) (result i32) {handle})
                (func (export "run") (param i32) (result i32) unreachable)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 65536))
              (core instance $i (instantiate $code))
              {HANDLER})"#,
            pages = self.memory_pages,
            length = escaped(&(self.manifest.len() as u32).to_le_bytes()),
            manifest = escaped(self.manifest.as_bytes()),
            answer = escaped(&self.answer),
            handle = self.handle,
        );
        wat::parse_str(text).expect("the text of a component")
    }
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}

/// The `handler` interface as text, shared by the components of host tests and of interface tests.
const HANDLER: &str = include_str!("../guests/handler.wat");
