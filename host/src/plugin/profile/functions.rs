//! Lists the functions of a profile by their samples. Pure.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use crate::{
    capability::sampler::{Frame, Samples, Stack},
    limits::PROFILE_FUNCTIONS_LISTED,
};

/// The samples of one function, or of one kind of work of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSamples {
    pub name: String,
    /// Samples in which the function is the innermost frame.
    pub own: u64,
    /// Samples in which the function is any frame: `own`, and those of the functions that it called.
    pub total: u64,
}

/// Returns the functions with the most own samples in descending order. Functions with equal names are counted as one.
/// `names`: the name of each frame.
pub fn list(samples: &Samples, names: &[String]) -> Vec<FunctionSamples> {
    let mut by_stack: HashMap<u32, u64> = HashMap::new();
    for sample in &samples.taken {
        *by_stack.entry(sample.stack).or_default() += 1;
    }
    let mut by_name: HashMap<&str, FunctionSamples> = HashMap::new();
    for (stack, count) in by_stack {
        let mut seen = HashSet::new();
        for (depth, name) in names_of(samples, names, stack).enumerate() {
            let function =
                by_name.entry(name).or_insert_with(|| FunctionSamples { name: name.to_owned(), own: 0, total: 0 });
            function.own += if depth == 0 { count } else { 0 };
            // A recursive function is in a stack several times.
            function.total += if seen.insert(name) { count } else { 0 };
        }
    }
    let mut functions: Vec<FunctionSamples> = by_name.into_values().filter(|function| function.own > 0).collect();
    functions.sort_unstable_by(|a, b| (Reverse(a.own), &a.name).cmp(&(Reverse(b.own), &b.name)));
    functions.truncate(PROFILE_FUNCTIONS_LISTED);
    functions
}

/// Returns the functions of a stack and the work of the host in it, the innermost first.
fn names_of<'a>(samples: &'a Samples, names: &'a [String], stack: u32) -> impl Iterator<Item = &'a str> {
    let find = |index: u32| samples.stacks.get_index(index as usize);
    let stacks = std::iter::successors(find(stack), move |stack: &&Stack| find(stack.caller?));
    let is_function = |frame: &u32| {
        let frame = samples.frames.get_index(*frame as usize);
        matches!(frame, Some(Frame::Function(_) | Frame::Host(_)))
    };
    let frames = stacks.map(|stack| stack.frame).filter(is_function);
    frames.filter_map(|frame| names.get(frame as usize)).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::sampler::HostWork;

    fn samples(stacks: &[&[&str]]) -> Samples {
        let mut samples = Samples::default();
        for (at_us, names) in stacks.iter().enumerate() {
            let functions = names.iter().map(|name| Frame::Function((*name).into()));
            samples.add(at_us as u32, [Frame::Operation("list".into())].into_iter().chain(functions));
        }
        samples
    }

    fn table(samples: &Samples) -> Vec<(String, u64, u64)> {
        let names: Vec<String> = samples.frames.iter().map(super::super::name).collect();
        list(samples, &names).into_iter().map(|function| (function.name, function.own, function.total)).collect()
    }

    #[test]
    fn functions_are_listed_by_their_own_samples() {
        let samples = samples(&[&["main", "parse"], &["main", "parse"], &["main"], &["main", "write"]]);
        let expected = [("parse".to_owned(), 2, 2), ("main".to_owned(), 1, 4), ("write".to_owned(), 1, 1)];
        assert_eq!(table(&samples), expected);
    }

    #[test]
    fn recursive_function_counts_once_for_each_sample() {
        assert_eq!(table(&samples(&[&["visit", "visit", "visit"]])), [("visit".to_owned(), 1, 1)]);
    }

    #[test]
    fn function_without_samples_of_its_own_is_not_listed() {
        assert_eq!(table(&samples(&[&["main", "parse"]])), [("parse".to_owned(), 1, 1)]);
    }

    #[test]
    fn functions_whose_decoded_names_are_equal_are_one() {
        let samples =
            samples(&[&["_ZN3foo3bar17h0123456789abcdefE"], &["_ZN3foo3bar17hfedcba9876543210E"], &["other"]]);
        assert_eq!(table(&samples), [("foo::bar".to_owned(), 2, 2), ("other".to_owned(), 1, 1)]);
    }

    #[test]
    fn list_is_bounded() {
        let names: Vec<String> = (0..100).map(|number| format!("f{number}")).collect();
        let stacks: Vec<[&str; 1]> = names.iter().map(|name| [name.as_str()]).collect();
        let stacks: Vec<&[&str]> = stacks.iter().map(|stack| stack.as_slice()).collect();
        assert_eq!(table(&samples(&stacks)).len(), PROFILE_FUNCTIONS_LISTED);
    }

    #[test]
    fn work_of_the_host_is_listed_separately() {
        let mut samples = Samples::default();
        for (at_us, work) in [(1, HostWork::Call), (2, HostWork::Call), (3, HostWork::Wait)] {
            samples.add(at_us, [Frame::Function("load".into()), Frame::Host(work)]);
        }
        let expected = [("(in the host)".to_owned(), 2, 2), ("(waiting in the host)".to_owned(), 1, 1)];
        assert_eq!(table(&samples), expected);
    }
}
