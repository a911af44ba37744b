//! Concatenation of lists at compile time: a large plugin has one list of routes, tasks or collections per module.

/// Returns the number of items in all lists.
pub const fn count<T>(lists: &[&[T]]) -> usize {
    let (mut total, mut rest) = (0, lists);
    while let [list, tail @ ..] = rest {
        total += list.len();
        rest = tail;
    }
    total
}

/// Concatenates lists: `const ALL: &[Route] = &join::<Route, { count(LISTS) }>(LISTS)`. The first list must not be
/// empty.
#[allow(clippy::indexing_slicing, clippy::panic, reason = "runs at compile time, where both are errors of the build")]
pub const fn join<T: Copy, const N: usize>(lists: &[&[T]]) -> [T; N] {
    let [[first, ..], ..] = lists else { panic!("the first list is empty") };
    let (mut joined, mut position, mut rest) = ([*first; N], 0, lists);
    while let [list, tail @ ..] = rest {
        let mut items = *list;
        while let [item, others @ ..] = items {
            joined[position] = *item;
            position += 1;
            items = others;
        }
        rest = tail;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: &[&[u8]] = &[&[1, 2], &[], &[3]];

    #[test]
    fn joined_lists_keep_their_order() {
        assert_eq!(join::<u8, { count(LISTS) }>(LISTS), [1, 2, 3]);
    }
}
