//! What every adapter has to do.

use ethnum::U256;
use tenon_chains::{ChainError, NewTransfer, State, TransferQuestion, read_signed};
use tenon_keyring::Family;

use crate::bed::{Bed, on_each};

#[tokio::test]
async fn a_transfer_of_the_coin_arrives_and_costs_its_fee() {
    on_each(async |bed: Bed| {
        let (from, to) = (bed.address(0), bed.address(1));
        bed.lab.fund(&from, None, bed.coin()).await;
        let signed = bed.sign(0, &to, None, bed.coin() / 4).await;
        bed.take(&signed).await;
        assert_eq!(bed.found(&signed.hash).await.state, State::Waiting);
        bed.lab.mine(1).await;
        let found = bed.found(&signed.hash).await;
        assert_eq!((found.state, found.confirmations, found.sender.as_str()), (State::Done, 1, from.as_str()));
        assert!(found.fee > 0 && found.fee <= signed.fee, "{} of {}", found.fee, signed.fee);
        assert_eq!(bed.balance(&to, None).await, bed.coin() / 4);
        assert_eq!(bed.balance(&from, None).await, bed.coin() - bed.coin() / 4 - found.fee);
        assert_eq!(found.movements.len(), 1);
        let movement = &found.movements[0];
        assert_eq!((&movement.sender, &movement.recipient, &movement.token), (&from, &to, &None));
    })
    .await;
}

#[tokio::test]
async fn a_transfer_of_a_token_arrives_and_its_fee_is_paid_in_the_coin() {
    on_each(async |bed: Bed| {
        let Some(token) = bed.token() else { return };
        let (from, to) = (bed.address(0), bed.address(2));
        bed.lab.fund(&from, None, bed.coin() * 50).await;
        bed.lab.fund(&from, Some(&token), U256::new(1_000)).await;
        let signed = bed.sign(0, &to, Some(&token), U256::new(400)).await;
        bed.take(&signed).await;
        bed.lab.mine(1).await;
        let found = bed.found(&signed.hash).await;
        assert_eq!(found.state, State::Done);
        assert!(found.fee > 0 && found.fee <= signed.fee);
        assert_eq!(bed.balance(&to, Some(&token)).await, U256::new(400));
        assert_eq!(bed.balance(&from, Some(&token)).await, U256::new(600));
        assert_eq!(bed.balance(&from, None).await, bed.coin() * 50 - found.fee);
        assert_eq!(found.movements[0].recipient, to, "the owner, not an account of his");
        assert_eq!(found.movements[0].token, Some(token));
    })
    .await;
}

#[tokio::test]
async fn a_token_that_the_sender_lacks_fails_in_a_block_and_its_fee_is_burnt() {
    on_each(async |bed: Bed| {
        let Some(token) = bed.token() else { return };
        let from = bed.address(0);
        bed.lab.fund(&from, None, bed.coin() * 50).await;
        let signed = bed.sign(0, &bed.address(1), Some(&token), U256::ONE).await;
        bed.take(&signed).await;
        bed.lab.mine(1).await;
        let found = bed.found(&signed.hash).await;
        assert_eq!((found.state, found.movements.len()), (State::Failed, 0));
        assert!(found.fee > 0);
        assert_eq!(bed.balance(&from, None).await, bed.coin() * 50 - found.fee);
        assert_eq!(bed.balance(&bed.address(1), Some(&token)).await, U256::ZERO);
        assert_eq!(bed.chain.sequence(&from).await.unwrap(), 1, "a failed one counts");
    })
    .await;
}

#[tokio::test]
async fn coins_that_the_sender_lacks_are_refused() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        let all = bed.sign(0, &bed.address(1), None, bed.coin()).await;
        assert!(bed.refusal(&all.raw).await.contains("needs"), "the fee is on top");
        let nothing = bed.sign(5, &bed.address(1), None, U256::ONE).await;
        bed.refusal(&nothing.raw).await;
        assert_eq!(bed.chain.find_transaction(&all.hash).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn the_same_bytes_again_are_the_same_transaction() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
        bed.take(&signed).await;
        bed.take(&signed).await;
        bed.lab.mine(3).await;
        bed.take(&signed).await;
        bed.lab.mine(3).await;
        assert_eq!(bed.balance(&bed.address(1), None).await, bed.coin() / 8);
        assert_eq!(bed.found(&signed.hash).await.confirmations, 6);
    })
    .await;
}

#[tokio::test]
async fn equal_transfers_differ_by_their_sequence() {
    on_each(async |bed: Bed| {
        let (from, to) = (bed.address(0), bed.address(1));
        bed.lab.fund(&from, None, bed.coin() * 2).await;
        let wanted = NewTransfer { recipient: &to, token: None, amount: bed.coin() / 8, sequence: 0 };
        for sequence in [0, 1, 2] {
            bed.take(&bed.sign_as(0, sequence, wanted).await).await;
        }
        bed.lab.mine(1).await;
        assert_eq!(bed.balance(&to, None).await, bed.coin() / 8 * 3);
        assert_eq!(bed.chain.sequence(&from).await.unwrap(), 3);
    })
    .await;
}

#[tokio::test]
async fn bytes_that_were_changed_are_refused() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
        let shorter = &signed.raw[..signed.raw.len() - 4];
        for raw in ["", "0x", "00", "zz", shorter, &format!("{}00", signed.raw), &"f".repeat(1 << 20)] {
            bed.void(raw).await;
        }
        bed.take(&signed).await;
    })
    .await;
}

#[tokio::test]
async fn what_lacks_coins_is_taken_once_they_have_come() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        let signed = bed.sign(0, &bed.address(1), None, bed.coin() * 2).await;
        bed.refusal(&signed.raw).await;
        bed.lab.fund(&bed.address(0), None, bed.coin() * 2).await;
        bed.take(&signed).await;
    })
    .await;
}

#[tokio::test]
async fn a_used_sequence_is_refused_for_good_until_a_reorganisation_frees_it() {
    on_each(async |bed: Bed| {
        if bed.chain.facts().family != Family::Evm {
            return;
        }
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        bed.lab.mine(10).await;
        let late = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
        let first = bed.sign(0, &bed.address(2), None, bed.coin() / 8).await;
        bed.take(&first).await;
        bed.lab.mine(1).await;
        bed.void(&late.raw).await;
        assert_eq!(bed.chain.find_transaction(&late.hash).await.unwrap(), None);
        bed.take(&first).await;
        bed.lab.reorganise(2, true).await;
        bed.take(&late).await;
        bed.lab.mine(1).await;
        bed.void(&first.raw).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_no_address_or_no_token_is_told() {
    on_each(async |bed: Bed| {
        for address in ["", "0x00", "T", bed.address(0).trim_end_matches(|_| true), "1".repeat(100_000).as_str()] {
            assert_eq!(bed.chain.balance(address, None).await, Err(ChainError::NotAnAddress));
            assert_eq!(bed.chain.sequence(address).await, Err(ChainError::NotAnAddress));
        }
        let address = bed.address(0);
        for token in ["", "USDC", address.as_str()] {
            assert_eq!(bed.chain.balance(&address, Some(token)).await, Err(ChainError::NotAToken));
        }
        assert_eq!(bed.balance(&address, None).await, U256::ZERO, "nobody has heard of it");
    })
    .await;
}

#[tokio::test]
async fn every_block_names_the_one_before() {
    on_each(async |bed: Bed| {
        bed.lab.mine(5).await;
        let head = bed.chain.head().await.unwrap();
        let newest = bed.chain.find_block(head.height).await.unwrap().unwrap();
        assert_eq!(newest.hash, head.hash);
        for height in 1..=head.height {
            let block = bed.chain.find_block(height).await.unwrap().unwrap();
            let before = bed.chain.find_block(height - 1).await.unwrap().unwrap();
            assert_eq!((block.height, block.parent), (height, before.hash));
        }
        assert_eq!(bed.chain.find_block(head.height + 1_000).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn transfers_are_told_in_pages_and_by_recipient() {
    on_each(async |bed: Bed| {
        let (first, second) = (bed.address(1), bed.address(2));
        for count in 1..=3_u32 {
            bed.lab.fund(&first, None, U256::from(count)).await;
            bed.lab.fund(&second, None, U256::from(10 * count)).await;
        }
        let mut question = TransferQuestion { limit: 2, ..bed.all(Some(vec![second.clone()])).await };
        let page = bed.chain.transfers(&question).await.unwrap();
        let amounts = |page: &tenon_chains::TransferPage| {
            page.transfers.iter().map(|transfer| transfer.movement.amount.as_u64()).collect::<Vec<_>>()
        };
        assert_eq!((amounts(&page), page.next.is_some()), (vec![10, 20], true));
        question.after = page.next;
        let page = bed.chain.transfers(&question).await.unwrap();
        assert_eq!((amounts(&page), page.next), (vec![30], None));
        let place = page.transfers[0].place;
        let found = bed.found(&page.transfers[0].hash).await;
        assert_eq!(found.block, Some(place.height));
        let all = bed.chain.transfers(&bed.all(None).await).await.unwrap();
        assert_eq!(amounts(&all), [1, 10, 2, 20, 3, 30]);
        let below = TransferQuestion { to: place.height - 1, ..bed.all(None).await };
        assert_eq!(bed.chain.transfers(&below).await.unwrap().transfers.len(), 5);
    })
    .await;
}

#[tokio::test]
async fn a_reorganisation_changes_hashes_and_lets_transactions_wait_again() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        bed.lab.mine(10).await;
        let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
        bed.take(&signed).await;
        bed.lab.mine(2).await;
        let block = bed.found(&signed.hash).await.block.unwrap();
        let before = bed.chain.find_block(block).await.unwrap().unwrap();
        bed.lab.reorganise(3, false).await;
        let after = bed.chain.find_block(block).await.unwrap().unwrap();
        assert_ne!(before.hash, after.hash);
        assert_eq!(bed.found(&signed.hash).await.state, State::Waiting);
        assert_eq!(bed.balance(&bed.address(1), None).await, U256::ZERO);
        assert_eq!(bed.chain.sequence(&bed.address(0)).await.unwrap(), 0);
        bed.lab.mine(1).await;
        let found = bed.found(&signed.hash).await;
        assert!(found.state == State::Done && found.block.unwrap() > block);
        assert_eq!(bed.balance(&bed.address(1), None).await, bed.coin() / 8);
    })
    .await;
}

#[tokio::test]
async fn what_a_reorganisation_drops_nobody_has_heard_of_and_can_be_sent_again() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        bed.lab.mine(10).await;
        let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
        bed.take(&signed).await;
        bed.lab.mine(1).await;
        bed.lab.reorganise(2, true).await;
        assert_eq!(bed.chain.find_transaction(&signed.hash).await.unwrap(), None);
        assert_eq!(bed.balance(&bed.address(0), None).await, bed.coin());
        bed.take(&signed).await;
        bed.lab.mine(1).await;
        assert_eq!(bed.balance(&bed.address(1), None).await, bed.coin() / 8);
    })
    .await;
}

#[tokio::test]
async fn many_are_asked_for_at_once_in_the_order_of_the_question() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
        bed.take(&signed).await;
        let hashes = ["nothing".to_owned(), signed.hash.clone(), String::new()];
        let found = bed.chain.find_transactions(&hashes).await.unwrap();
        assert!(found[0].is_none() && found[2].is_none());
        assert_eq!(found[1].as_ref().unwrap().hash, signed.hash);
        let many = vec![String::new(); 1_001];
        assert_eq!(bed.chain.find_transactions(&many).await, Err(ChainError::TooMany { max: 1_000 }));
    })
    .await;
}

#[tokio::test]
async fn a_reading_says_what_the_chain_then_does() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin() * 50).await;
        if let Some(token) = bed.token() {
            bed.lab.fund(&bed.address(0), Some(&token), U256::new(9)).await;
        }
        let signed = bed.sign(0, &bed.address(1), bed.token().as_deref(), U256::new(9)).await;
        let reading = read_signed(bed.chain.facts(), &signed.raw).unwrap();
        assert_eq!((&reading.hash, &reading.sender, reading.fee), (&signed.hash, &signed.sender, signed.fee));
        bed.take(&signed).await;
        bed.lab.mine(1).await;
        assert_eq!(bed.found(&signed.hash).await.movements, reading.movements);
    })
    .await;
}

#[tokio::test]
async fn who_waits_hears_of_a_transaction_and_of_its_block() {
    on_each(async |bed: Bed| {
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        let changed = bed.chain.changed();
        bed.take(&bed.sign(0, &bed.address(1), None, bed.coin() / 8).await).await;
        changed.await;
        let changed = bed.chain.changed();
        bed.lab.mine(1).await;
        changed.await;
    })
    .await;
}
