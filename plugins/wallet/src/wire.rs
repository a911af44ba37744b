//! How values of the rules are stored: texts, and the members of JSON objects. Never what the interface shows.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::rules::amount::{Money, Units, Whole};
use crate::rules::asset::Asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::books::Holder;
use crate::rules::code::Code;
use crate::rules::compliance::Currency;
use crate::rules::outgoing::{Destination, Gas, Hold, Task};
use crate::rules::settings::Operator;
use crate::rules::status::Status;

/// `#[serde(with = "wire::NAME")]`, and `wire::NAME::option` for what may be absent.
macro_rules! as_text {
    ($name:ident, $type:ty, $to:expr, $of:expr) => {
        #[allow(dead_code, reason = "some values may always be absent, others never")]
        pub mod $name {
            use super::*;

            pub fn serialize<S: Serializer>(value: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                let text: String = ($to)(value);
                serializer.serialize_str(&text)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let text = String::deserialize(deserializer)?;
                ($of)(&text).ok_or_else(|| D::Error::custom(concat!("no ", stringify!($name))))
            }

            pub mod option {
                use super::*;

                pub fn serialize<S: Serializer>(value: &Option<$type>, serializer: S) -> Result<S::Ok, S::Error> {
                    match value {
                        Some(value) => super::serialize(value, serializer),
                        None => serializer.serialize_none(),
                    }
                }

                pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<$type>, D::Error> {
                    let text = Option::<String>::deserialize(deserializer)?;
                    let read =
                        |text: String| ($of)(&text).ok_or_else(|| D::Error::custom(concat!("no ", stringify!($name))));
                    text.map(read).transpose()
                }
            }
        }
    };
}

as_text!(blockchain, Blockchain, |it: &Blockchain| it.slug().to_owned(), Blockchain::of_slug);
as_text!(asset, Asset, |it: &Asset| it.key(), Asset::of_key);
as_text!(holder, Holder, Holder::name, Holder::of_name);
as_text!(units, Units, |it: &Units| it.to_digits(), Units::of_base);
as_text!(whole, Whole, |it: &Whole| it.to_decimal(), |text: &str| Whole::parse(text).ok());
as_text!(operator, Operator, |it: &Operator| it.name().to_owned(), Operator::of_name);
as_text!(status, Status, |it: &Status| it.name().to_owned(), Status::of_name);
as_text!(hold, Hold, |it: &Hold| it.name().to_owned(), Hold::of_name);
as_text!(code, Code, |it: &Code| it.name().to_owned(), Code::of_name);
as_text!(currency, Currency, |it: &Currency| it.code().to_owned(), Currency::of_code);

/// Of an asset, in base units.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Money")]
pub struct MoneyText {
    #[serde(with = "asset")]
    asset: Asset,
    #[serde(with = "units")]
    units: Units,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Gas")]
pub struct GasText {
    #[serde(with = "holder")]
    payer: Holder,
    #[serde(with = "MoneyText")]
    held: Money,
}

/// A member that may be absent.
pub mod gas_option {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Text(#[serde(with = "GasText")] Gas);

    pub fn serialize<S: Serializer>(value: &Option<Gas>, serializer: S) -> Result<S::Ok, S::Error> {
        value.clone().map(Text).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Gas>, D::Error> {
        Ok(Option::<Text>::deserialize(deserializer)?.map(|Text(gas)| gas))
    }
}

/// A member that may be absent.
pub mod money_option {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Text(#[serde(with = "MoneyText")] Money);

    pub fn serialize<S: Serializer>(value: &Option<Money>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(Text).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Money>, D::Error> {
        Ok(Option::<Text>::deserialize(deserializer)?.map(|Text(money)| money))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Destination")]
pub struct DestinationText {
    #[serde(with = "asset")]
    asset: Asset,
    #[serde(with = "holder::option", default)]
    holder: Option<Holder>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Task", rename_all = "snake_case")]
pub enum TaskText {
    Withdraw {
        #[serde(with = "MoneyText")]
        money: Money,
        destination_address: String,
    },
    Offramp {
        #[serde(with = "MoneyText")]
        money: Money,
        #[serde(with = "currency")]
        currency: Currency,
        institution_identifier: String,
    },
    Swap {
        #[serde(with = "MoneyText")]
        money: Money,
        #[serde(with = "DestinationText")]
        to: Destination,
        #[serde(with = "units")]
        at_least: Units,
        settled: bool,
    },
    GatewayDeposit {
        #[serde(with = "MoneyText")]
        money: Money,
    },
    GatewayWithdraw {
        #[serde(with = "units")]
        units: Units,
        #[serde(with = "DestinationText")]
        to: Destination,
    },
    Sweep {
        #[serde(with = "MoneyText")]
        money: Money,
        #[serde(with = "holder")]
        master: Holder,
    },
    Fund {
        #[serde(with = "MoneyText")]
        money: Money,
        #[serde(with = "holder")]
        address: Holder,
    },
    Salvage {
        amount: String,
        #[serde(with = "blockchain")]
        blockchain: Blockchain,
    },
    Broadcast {
        #[serde(with = "blockchain")]
        blockchain: Blockchain,
    },
}
