//! What another company has done for a transaction: what was bought or paid out, and how it came.

use tenon_plugin::Stop;

use super::Text;
use crate::records::outgoing::Out;
use crate::rules::blockchain::Blockchain;
use crate::rules::outgoing::Task;

pub fn with(text: Text, out: Option<&Out>) -> Result<Text, Stop> {
    let provider = out.and_then(|out| out.way.provider.as_ref());
    let to = match out.map(|out| &out.record.task) {
        Some(Task::Swap { to, .. } | Task::GatewayWithdraw { to, .. }) => Some(to.asset),
        _ => None,
    };
    let currency = match out.map(|out| &out.record.task) {
        Some(Task::Offramp { currency, .. }) => Some(currency.code()),
        _ => to.and_then(|to| to.currency()),
    };
    text.with("toCurrency", &currency)?
        .with("toAmount", &provider.and_then(|provider| provider.received.as_deref()))?
        .with("toAssetSymbol", &to.map(|to| to.symbol))?
        .with("toBlockchainSlug", &to.and_then(|to| to.blockchain).map(Blockchain::slug))?
        .with("deliveryHash", &provider.and_then(|provider| provider.delivery_hash.as_deref()))?
        .with("refundHash", &provider.and_then(|provider| provider.refund_hash.as_deref()))?
        .with("providerStatus", &provider.and_then(|provider| provider.status.as_deref()))?
        .with("providerReason", &provider.and_then(|provider| provider.reason.as_deref()))
}
