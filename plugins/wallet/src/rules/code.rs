//! The codes of the interface (spec/wallet: Errors), each with its HTTP status and whether a repeat may help.

use Code::*;

/// In the order of the specification's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    AuthFailed,
    ValidationError,
    NotFound,
    ServerError,
    WalletExists,
    InsufficientBalance,
    InsufficientGas,
    WithdrawalFailed,
    DepositSweepFailed,
    OfframpFailed,
    GatewayDirectTransfer,
    BatchSizeExceeded,
    VirtualAccountTestnet,
    WebhookSignatureInvalid,
    SwapFailed,
}

impl Code {
    pub const ALL: [Code; 15] = [
        AuthFailed,
        ValidationError,
        NotFound,
        ServerError,
        WalletExists,
        InsufficientBalance,
        InsufficientGas,
        WithdrawalFailed,
        DepositSweepFailed,
        OfframpFailed,
        GatewayDirectTransfer,
        BatchSizeExceeded,
        VirtualAccountTestnet,
        WebhookSignatureInvalid,
        SwapFailed,
    ];

    fn row(self) -> (&'static str, u16, bool) {
        match self {
            AuthFailed => ("SERVICE_AUTH_FAILED", 401, false),
            ValidationError => ("SERVICE_VALIDATION_ERROR", 400, false),
            NotFound => ("SERVICE_NOT_FOUND", 404, false),
            ServerError => ("SERVICE_SERVER_ERROR", 500, true),
            WalletExists => ("SERVICE_WALLET_EXISTS", 409, false),
            InsufficientBalance => ("SERVICE_INSUFFICIENT_BALANCE", 422, false),
            InsufficientGas => ("SERVICE_INSUFFICIENT_GAS", 422, false),
            WithdrawalFailed => ("WITHDRAWAL_FAILED", 422, true),
            DepositSweepFailed => ("DEPOSIT_SWEEP_FAILED", 422, true),
            OfframpFailed => ("OFFRAMP_FAILED", 422, true),
            GatewayDirectTransfer => ("GATEWAY_DIRECT_TRANSFER", 400, false),
            BatchSizeExceeded => ("BATCH_SIZE_EXCEEDED", 400, false),
            VirtualAccountTestnet => ("VIRTUAL_ACCOUNT_TESTNET", 400, false),
            WebhookSignatureInvalid => ("WEBHOOK_SIGNATURE_INVALID", 403, false),
            SwapFailed => ("SWAP_FAILED", 422, true),
        }
    }

    pub fn name(self) -> &'static str {
        self.row().0
    }

    pub fn of_name(name: &str) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.name() == name)
    }

    /// HTTP status, where the failure is one that the table names.
    pub fn status(self) -> u16 {
        self.row().1
    }

    pub fn retryable(self) -> bool {
        self.row().2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_five_failures_of_somebody_else_are_worth_a_repeat() {
        let retryable: Vec<&str> = Code::ALL.into_iter().filter(|code| code.retryable()).map(Code::name).collect();
        assert_eq!(
            retryable,
            ["SERVICE_SERVER_ERROR", "WITHDRAWAL_FAILED", "DEPOSIT_SWEEP_FAILED", "OFFRAMP_FAILED", "SWAP_FAILED"]
        );
    }

    #[test]
    fn every_code_is_known_by_its_name() {
        assert!(Code::ALL.into_iter().all(|code| Code::of_name(code.name()) == Some(code)));
        assert!(Code::ALL.into_iter().all(|code| (400..=500).contains(&code.status())));
    }
}
