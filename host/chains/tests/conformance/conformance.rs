//! Requirements of every adapter.

use ethnum::U256;
use tenon_chains::{ChainError, NewTransfer, State, TransferQuery, read_signed};
use tenon_keyring::Family;

use crate::testbed::{Testbed, on_each};

#[tokio::test]
async fn coin_transfer_arrives_and_costs_its_fee() {
    on_each(async |testbed: Testbed| {
        let (from, to) = (testbed.address(0), testbed.address(1));
        testbed.control.fund(&from, None, testbed.coin()).await;
        let signed = testbed.sign(0, &to, None, testbed.coin() / 4).await;
        testbed.submit(&signed).await;
        assert_eq!(testbed.transaction(&signed.hash).await.state, State::Waiting);
        testbed.control.mine(1).await;
        let found = testbed.transaction(&signed.hash).await;
        assert_eq!((found.state, found.confirmations, found.sender.as_str()), (State::Done, 1, from.as_str()));
        assert!(found.fee > 0 && found.fee <= signed.fee, "{} of {}", found.fee, signed.fee);
        assert_eq!(testbed.balance(&to, None).await, testbed.coin() / 4);
        assert_eq!(testbed.balance(&from, None).await, testbed.coin() - testbed.coin() / 4 - found.fee);
        assert_eq!(found.movements.len(), 1);
        let movement = &found.movements[0];
        assert_eq!((&movement.sender, &movement.recipient, &movement.token), (&from, &to, &None));
    })
    .await;
}

#[tokio::test]
async fn token_transfer_arrives_and_pays_its_fee_in_the_coin() {
    on_each(async |testbed: Testbed| {
        let Some(token) = testbed.token() else { return };
        let (from, to) = (testbed.address(0), testbed.address(2));
        testbed.control.fund(&from, None, testbed.coin() * 50).await;
        testbed.control.fund(&from, Some(&token), U256::new(1_000)).await;
        let signed = testbed.sign(0, &to, Some(&token), U256::new(400)).await;
        testbed.submit(&signed).await;
        testbed.control.mine(1).await;
        let found = testbed.transaction(&signed.hash).await;
        assert_eq!(found.state, State::Done);
        assert!(found.fee > 0 && found.fee <= signed.fee);
        assert_eq!(testbed.balance(&to, Some(&token)).await, U256::new(400));
        assert_eq!(testbed.balance(&from, Some(&token)).await, U256::new(600));
        assert_eq!(testbed.balance(&from, None).await, testbed.coin() * 50 - found.fee);
        assert_eq!(found.movements[0].recipient, to, "the owner, not the token account");
        assert_eq!(found.movements[0].token, Some(token));
    })
    .await;
}

#[tokio::test]
async fn token_transfer_without_balance_fails_in_a_block_and_burns_its_fee() {
    on_each(async |testbed: Testbed| {
        let Some(token) = testbed.token() else { return };
        let from = testbed.address(0);
        testbed.control.fund(&from, None, testbed.coin() * 50).await;
        let signed = testbed.sign(0, &testbed.address(1), Some(&token), U256::ONE).await;
        testbed.submit(&signed).await;
        testbed.control.mine(1).await;
        let found = testbed.transaction(&signed.hash).await;
        assert_eq!((found.state, found.movements.len()), (State::Failed, 0));
        assert!(found.fee > 0);
        assert_eq!(testbed.balance(&from, None).await, testbed.coin() * 50 - found.fee);
        assert_eq!(testbed.balance(&testbed.address(1), Some(&token)).await, U256::ZERO);
        assert_eq!(testbed.chain.sequence(&from).await.unwrap(), 1, "a failed transaction counts");
    })
    .await;
}

#[tokio::test]
async fn transfer_without_enough_coins_is_rejected() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        let all = testbed.sign(0, &testbed.address(1), None, testbed.coin()).await;
        assert!(testbed.rejection_reason(&all.raw).await.contains("needs"), "the fee is on top");
        let nothing = testbed.sign(5, &testbed.address(1), None, U256::ONE).await;
        testbed.rejection_reason(&nothing.raw).await;
        assert_eq!(testbed.chain.find_transaction(&all.hash).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn resubmitted_bytes_are_the_same_transaction() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
        testbed.submit(&signed).await;
        testbed.submit(&signed).await;
        testbed.control.mine(3).await;
        testbed.submit(&signed).await;
        testbed.control.mine(3).await;
        assert_eq!(testbed.balance(&testbed.address(1), None).await, testbed.coin() / 8);
        assert_eq!(testbed.transaction(&signed.hash).await.confirmations, 6);
    })
    .await;
}

#[tokio::test]
async fn equal_transfers_differ_by_their_sequence() {
    on_each(async |testbed: Testbed| {
        let (from, to) = (testbed.address(0), testbed.address(1));
        testbed.control.fund(&from, None, testbed.coin() * 2).await;
        let new_transfer = NewTransfer { recipient: &to, token: None, amount: testbed.coin() / 8, sequence: 0 };
        for sequence in [0, 1, 2] {
            testbed.submit(&testbed.sign_as(0, sequence, new_transfer).await).await;
        }
        testbed.control.mine(1).await;
        assert_eq!(testbed.balance(&to, None).await, testbed.coin() / 8 * 3);
        assert_eq!(testbed.chain.sequence(&from).await.unwrap(), 3);
    })
    .await;
}

#[tokio::test]
async fn altered_bytes_are_invalid() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
        let shorter = &signed.raw[..signed.raw.len() - 4];
        for raw in ["", "0x", "00", "zz", shorter, &format!("{}00", signed.raw), &"f".repeat(1 << 20)] {
            testbed.invalid_reason(raw).await;
        }
        testbed.submit(&signed).await;
    })
    .await;
}

#[tokio::test]
async fn rejected_transfer_is_accepted_after_funding() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() * 2).await;
        testbed.rejection_reason(&signed.raw).await;
        testbed.control.fund(&testbed.address(0), None, testbed.coin() * 2).await;
        testbed.submit(&signed).await;
    })
    .await;
}

#[tokio::test]
async fn used_sequence_is_invalid_until_a_reorganisation_frees_it() {
    on_each(async |testbed: Testbed| {
        if testbed.chain.facts().family != Family::Evm {
            return;
        }
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        testbed.control.mine(10).await;
        let late = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
        let first = testbed.sign(0, &testbed.address(2), None, testbed.coin() / 8).await;
        testbed.submit(&first).await;
        testbed.control.mine(1).await;
        testbed.invalid_reason(&late.raw).await;
        assert_eq!(testbed.chain.find_transaction(&late.hash).await.unwrap(), None);
        testbed.submit(&first).await;
        testbed.control.reorganise(2, true).await;
        testbed.submit(&late).await;
        testbed.control.mine(1).await;
        testbed.invalid_reason(&first.raw).await;
    })
    .await;
}

#[tokio::test]
async fn invalid_address_or_token_is_an_error() {
    on_each(async |testbed: Testbed| {
        for address in ["", "0x00", "T", testbed.address(0).trim_end_matches(|_| true), "1".repeat(100_000).as_str()] {
            assert_eq!(testbed.chain.balance(address, None).await, Err(ChainError::NotAnAddress));
            assert_eq!(testbed.chain.sequence(address).await, Err(ChainError::NotAnAddress));
        }
        let address = testbed.address(0);
        for token in ["", "USDC", address.as_str()] {
            assert_eq!(testbed.chain.balance(&address, Some(token)).await, Err(ChainError::NotAToken));
        }
        assert_eq!(testbed.balance(&address, None).await, U256::ZERO, "an unknown address");
    })
    .await;
}

#[tokio::test]
async fn every_block_names_its_parent() {
    on_each(async |testbed: Testbed| {
        testbed.control.mine(5).await;
        let head = testbed.chain.head().await.unwrap();
        let newest = testbed.chain.find_block(head.height).await.unwrap().unwrap();
        assert_eq!(newest.hash, head.hash);
        for height in 1..=head.height {
            let block = testbed.chain.find_block(height).await.unwrap().unwrap();
            let before = testbed.chain.find_block(height - 1).await.unwrap().unwrap();
            assert_eq!((block.height, block.parent), (height, before.hash));
        }
        assert_eq!(testbed.chain.find_block(head.height + 1_000).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn transfers_are_paged_and_filtered_by_recipient() {
    on_each(async |testbed: Testbed| {
        let (first, second) = (testbed.address(1), testbed.address(2));
        for count in 1..=3_u32 {
            testbed.control.fund(&first, None, U256::from(count)).await;
            testbed.control.fund(&second, None, U256::from(10 * count)).await;
        }
        let mut query = TransferQuery { limit: 2, ..testbed.transfer_query(Some(vec![second.clone()])).await };
        let page = testbed.chain.transfers(&query).await.unwrap();
        let amounts = |page: &tenon_chains::TransferPage| {
            page.transfers.iter().map(|transfer| transfer.movement.amount.as_u64()).collect::<Vec<_>>()
        };
        assert_eq!((amounts(&page), page.next.is_some()), (vec![10, 20], true));
        query.after = page.next;
        let page = testbed.chain.transfers(&query).await.unwrap();
        assert_eq!((amounts(&page), page.next), (vec![30], None));
        let position = page.transfers[0].position;
        let found = testbed.transaction(&page.transfers[0].hash).await;
        assert_eq!(found.block, Some(position.height));
        let all = testbed.chain.transfers(&testbed.transfer_query(None).await).await.unwrap();
        assert_eq!(amounts(&all), [1, 10, 2, 20, 3, 30]);
        let below = TransferQuery { to: position.height - 1, ..testbed.transfer_query(None).await };
        assert_eq!(testbed.chain.transfers(&below).await.unwrap().transfers.len(), 5);
    })
    .await;
}

#[tokio::test]
async fn reorganisation_changes_hashes_and_returns_transactions_to_waiting() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        testbed.control.mine(10).await;
        let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
        testbed.submit(&signed).await;
        testbed.control.mine(2).await;
        let block = testbed.transaction(&signed.hash).await.block.unwrap();
        let before = testbed.chain.find_block(block).await.unwrap().unwrap();
        testbed.control.reorganise(3, false).await;
        let after = testbed.chain.find_block(block).await.unwrap().unwrap();
        assert_ne!(before.hash, after.hash);
        assert_eq!(testbed.transaction(&signed.hash).await.state, State::Waiting);
        assert_eq!(testbed.balance(&testbed.address(1), None).await, U256::ZERO);
        assert_eq!(testbed.chain.sequence(&testbed.address(0)).await.unwrap(), 0);
        testbed.control.mine(1).await;
        let found = testbed.transaction(&signed.hash).await;
        assert!(found.state == State::Done && found.block.unwrap() > block);
        assert_eq!(testbed.balance(&testbed.address(1), None).await, testbed.coin() / 8);
    })
    .await;
}

#[tokio::test]
async fn transaction_dropped_by_a_reorganisation_is_unknown_and_can_be_resubmitted() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        testbed.control.mine(10).await;
        let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
        testbed.submit(&signed).await;
        testbed.control.mine(1).await;
        testbed.control.reorganise(2, true).await;
        assert_eq!(testbed.chain.find_transaction(&signed.hash).await.unwrap(), None);
        assert_eq!(testbed.balance(&testbed.address(0), None).await, testbed.coin());
        testbed.submit(&signed).await;
        testbed.control.mine(1).await;
        assert_eq!(testbed.balance(&testbed.address(1), None).await, testbed.coin() / 8);
    })
    .await;
}

#[tokio::test]
async fn transactions_are_found_in_the_order_of_the_query() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
        testbed.submit(&signed).await;
        let hashes = ["nothing".to_owned(), signed.hash.clone(), String::new()];
        let found = testbed.chain.find_transactions(&hashes).await.unwrap();
        assert!(found[0].is_none() && found[2].is_none());
        assert_eq!(found[1].as_ref().unwrap().hash, signed.hash);
        let many = vec![String::new(); 1_001];
        assert_eq!(testbed.chain.find_transactions(&many).await, Err(ChainError::TooMany { max: 1_000 }));
    })
    .await;
}

#[tokio::test]
async fn decoded_transaction_matches_its_effects_on_the_chain() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin() * 50).await;
        if let Some(token) = testbed.token() {
            testbed.control.fund(&testbed.address(0), Some(&token), U256::new(9)).await;
        }
        let signed = testbed.sign(0, &testbed.address(1), testbed.token().as_deref(), U256::new(9)).await;
        let decoded = read_signed(testbed.chain.facts(), &signed.raw).unwrap();
        assert_eq!((&decoded.hash, &decoded.sender, decoded.fee), (&signed.hash, &signed.sender, signed.fee));
        testbed.submit(&signed).await;
        testbed.control.mine(1).await;
        assert_eq!(testbed.transaction(&signed.hash).await.movements, decoded.movements);
    })
    .await;
}

#[tokio::test]
async fn changed_resolves_for_a_transaction_and_for_its_block() {
    on_each(async |testbed: Testbed| {
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        let changed = testbed.chain.changed();
        testbed.submit(&testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await).await;
        changed.await;
        let changed = testbed.chain.changed();
        testbed.control.mine(1).await;
        changed.await;
    })
    .await;
}
