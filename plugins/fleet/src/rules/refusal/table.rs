//! Every refusal as a page of the documentation, so that a client finds each code with what it means.

use super::{Ending, Refusal};
use crate::rules::invalid::Invalid;
use crate::rules::order::ProofMethod;

/// One of each kind.
pub fn examples() -> Vec<Refusal> {
    let methods = [ProofMethod::Signature, ProofMethod::Scan, ProofMethod::Photo];
    let mut all = vec![
        Refusal::Invalid(vec![Invalid::Required("name")]),
        Refusal::NoDriverToDispatch,
        Refusal::NoDriverForDispatch,
        Refusal::AlreadyDispatched,
        Refusal::AlreadyStarted,
        Refusal::NoDriver,
        Refusal::NobodyAccepts,
        Refusal::NotAdhoc,
        Refusal::TakenByAnother,
        Refusal::NotDispatched,
        Refusal::NotStarted,
        Refusal::StopsNotStarted,
        Refusal::NotNext { from: "created".to_owned(), to: "completed".to_owned() },
        Refusal::StopsNotCompleted,
        Refusal::NotADestination,
        Refusal::ProofRequired(None),
        Refusal::InvalidConfiguration,
        Refusal::InvalidPayload,
        Refusal::WrongQrCode,
        Refusal::WrongPassword,
        Refusal::TooManyPasswords { retry_after_s: 60 },
        Refusal::UnknownPhone,
        Refusal::WrongCode,
        Refusal::CodeSentJustNow { retry_after_s: 60 },
        Refusal::DuplicateStatus,
        Refusal::NumberBelongs,
        Refusal::PictureBelongs,
        Refusal::PictureIsPhoto,
        Refusal::SameOrganization,
        Refusal::NotAMember,
        Refusal::NotForDrivers,
        Refusal::OnTheWay,
        Refusal::TooManyOrders,
    ];
    all.extend([Ending::Completed, Ending::Canceled, Ending::Failed].map(Refusal::Ended));
    all.extend(methods.map(|method| Refusal::ProofRequired(Some(method))));
    all.extend(methods.map(Refusal::NoProofData));
    all
}

/// A row for each sentence, sorted by status and code.
pub fn markdown() -> String {
    let mut rows: Vec<String> = examples().iter().map(row).collect();
    rows.sort();
    ["| status | code | for example |\n|---|---|---|\n", &rows.concat()].concat()
}

fn row(refusal: &Refusal) -> String {
    format!("| {} | `{}` | {} |\n", refusal.status(), refusal.code(), refusal.sentences().join(" "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_refusal_is_told_in_words_of_its_own() {
        let all = examples();
        let sentences: BTreeSet<String> =
            all.iter().filter_map(|refusal| refusal.sentences().into_iter().next()).collect();
        assert_eq!(sentences.len(), all.len());
        assert!(all.iter().all(|refusal| (400..=429).contains(&refusal.status()) && !refusal.code().is_empty()));
    }

    #[test]
    fn the_page_has_a_row_for_each() {
        let page = markdown();
        assert_eq!(page.lines().count(), 2 + examples().len());
        let row = "| 409 | `ORDER_TAKEN` | Order has already been accepted by another driver. |";
        assert!(page.lines().any(|line| line == row), "{page}");
    }
}
