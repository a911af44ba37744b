//! Tables of a large plugin, joined at compile time: each family of routes, tasks or collections keeps a list of its own.

/// How many there are in all lists together.
pub const fn count<T>(lists: &[&[T]]) -> usize {
    let (mut total, mut rest) = (0, lists);
    while let [list, tail @ ..] = rest {
        total += list.len();
        rest = tail;
    }
    total
}

/// All of them, in order: `const ALL: &[Route] = &join::<Route, { count(LISTS) }>(LISTS)`. The first list is not empty.
#[allow(clippy::indexing_slicing, clippy::panic, reason = "runs at compile time, where both are errors of the build")]
pub const fn join<T: Copy, const N: usize>(lists: &[&[T]]) -> [T; N] {
    let [[first, ..], ..] = lists else { panic!("the first list is empty") };
    let (mut joined, mut place, mut rest) = ([*first; N], 0, lists);
    while let [list, tail @ ..] = rest {
        let mut items = *list;
        while let [item, others @ ..] = items {
            joined[place] = *item;
            place += 1;
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
