//! Which rule a deposit meets, as tables.

use super::*;
use crate::rules::amount::Units;
use crate::rules::asset;
use crate::rules::blockchain::Blockchain::*;

fn usdc(blockchain: Blockchain, whole: u128) -> Money {
    let asset = asset::find("USDC", blockchain).unwrap();
    Money::new(asset, Units::parse(&whole.to_string(), asset.decimals).unwrap())
}

fn whole(units: u128) -> Option<Whole> {
    Whole::parse(&units.to_string()).ok()
}

fn rule(id: &str, blockchain: Blockchain) -> SettlementRule {
    SettlementRule {
        id: id.into(),
        name: id.into(),
        is_active: true,
        source: Source {
            blockchain,
            assets: asset::on(blockchain).into_iter().filter(|asset| asset.is_usdc()).collect(),
            min: whole(10),
            max: None,
        },
        target: Target::Address { asset: asset::find("USDC", Base).unwrap(), address: "0x1".into() },
        order: Order::Recommended,
        slippage: Slippage::Unlimited,
    }
}

fn settlement(rules: Vec<SettlementRule>) -> Settlement {
    Settlement { is_active: true, rules }
}

fn met<'a>(wallet: &'a Settlement, address: Option<&'a Settlement>, money: Money) -> Option<&'a str> {
    find(wallet, address, money).map(|rule| rule.id.as_str())
}

#[test]
fn a_rule_on_one_blockchain_does_not_affect_another() {
    let wallet = settlement(vec![rule("base", Base), rule("polygon", Polygon)]);
    assert_eq!(met(&wallet, None, usdc(Base, 50)), Some("base"));
    assert_eq!(met(&wallet, None, usdc(Polygon, 50)), Some("polygon"));
    assert_eq!(met(&wallet, None, usdc(Celo, 50)), None);
}

#[test]
fn a_rule_of_the_address_replaces_those_of_the_wallet_on_its_blockchain() {
    let wallet = settlement(vec![rule("wallet", Base), rule("wallet", Polygon)]);
    let mut own = rule("own", Base);
    own.source.min = whole(100);
    let address = settlement(vec![own]);
    assert_eq!(met(&wallet, Some(&address), usdc(Base, 200)), Some("own"));
    assert_eq!(met(&wallet, Some(&address), usdc(Base, 50)), None, "no merging");
    assert_eq!(met(&wallet, Some(&address), usdc(Polygon, 50)), Some("wallet"));
}

#[test]
fn a_rule_that_is_switched_off_still_replaces() {
    let wallet = settlement(vec![rule("wallet", Base)]);
    let mut off = rule("own", Base);
    off.is_active = false;
    assert_eq!(met(&wallet, Some(&settlement(vec![off])), usdc(Base, 50)), None);
    let off = Settlement { is_active: false, rules: vec![rule("own", Base)] };
    assert_eq!(met(&wallet, Some(&off), usdc(Base, 50)), None);
    let empty = settlement(Vec::new());
    assert_eq!(met(&wallet, Some(&empty), usdc(Base, 50)), Some("wallet"));
}

#[test]
fn both_thresholds_belong_to_what_fits() {
    let mut bounded = rule("r", Base);
    bounded.source.max = whole(20);
    let wallet = settlement(vec![bounded]);
    for (amount, expected) in [(9, None), (10, Some("r")), (20, Some("r")), (21, None)] {
        assert_eq!(met(&wallet, None, usdc(Base, amount)), expected, "{amount}");
    }
}

#[test]
fn thresholds_are_whole_units_whatever_decimals_an_asset_has() {
    let wallet = settlement(vec![rule("r", Bsc)]);
    assert_eq!(met(&wallet, None, usdc(Bsc, 10)), Some("r"));
    assert_eq!(met(&wallet, None, usdc(Bsc, 9)), None);
}

#[test]
fn the_first_rule_that_fits_decides() {
    let mut small = rule("small", Base);
    small.source.max = whole(20);
    let wallet = settlement(vec![small, rule("any", Base)]);
    assert_eq!(met(&wallet, None, usdc(Base, 15)), Some("small"));
    assert_eq!(met(&wallet, None, usdc(Base, 25)), Some("any"));
}

#[test]
fn what_is_done_follows_from_both_assets() {
    let base = rule("r", Base);
    assert_eq!(base.action(usdc(Base, 50)), Action::Withdraw { address: "0x1" });
    let to = asset::find("USDC", Base).unwrap();
    assert_eq!(base.action(usdc(Polygon, 50)), Action::Swap { to, address: "0x1" });
    let gateway = SettlementRule { target: Target::Gateway, ..rule("r", Base) };
    assert_eq!(gateway.action(usdc(Base, 50)), Action::GatewayDeposit);
}
