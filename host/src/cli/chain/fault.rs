//! `tenon chain fault …`: fault injection in a simulated network.

use clap::{Args, ValueEnum};

use super::NetworkArgs;
use crate::{
    admin::wire::{Control, Silence},
    cli::CliError,
};

pub const EXAMPLES: &str = "Example:\n  tenon chain fault base fail 2        # the next two transactions fail in their block\n  \
    tenon chain fault base stick         # the next transaction is stuck until it is released\n  \
    tenon chain fault base release       # stuck transactions go into the next block\n  \
    tenon chain fault base slow 3000     # every response takes 3 s; 0 removes the delay\n  \
    tenon chain fault base silent on     # no responses, and submitted transactions are lost\n  \
    tenon chain fault base silent taken  # no responses, but submitted transactions are accepted\n  \
    tenon chain fault base silent off\n  \
    tenon chain fault base off           # remove all faults";

#[derive(Args)]
pub struct Fault {
    #[command(flatten)]
    pub network_args: NetworkArgs,
    #[arg(value_enum)]
    kind: Kind,
    /// Number of transactions [default: 1], milliseconds, or on, taken, off
    value: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Make the next transactions fail
    Fail,
    /// Make the next transactions stuck
    Stick,
    /// Release stuck transactions
    Release,
    /// Delay every response by milliseconds
    Slow,
    /// Do not respond
    Silent,
    /// Remove all faults
    Off,
}

impl Fault {
    pub fn control(&self) -> Result<Control, CliError> {
        let invalid = |expected: &str| CliError::Failed(format!("{expected} `tenon help chain fault` shows examples."));
        let count = || match self.value.as_deref().map(str::parse) {
            None => Ok(1),
            Some(Ok(count)) => Ok(count),
            Some(Err(_)) => Err(invalid("The number of transactions must be a whole number.")),
        };
        match (self.kind, self.value.as_deref()) {
            (Kind::Fail, _) => Ok(Control::Fail { count: count()? }),
            (Kind::Stick, _) => Ok(Control::Stick { count: count()? }),
            (Kind::Release, None) => Ok(Control::Release),
            (Kind::Off, None) => Ok(Control::Off),
            (Kind::Release | Kind::Off, Some(_)) => Err(invalid("`release` and `off` take no value.")),
            (Kind::Slow, text) => {
                let ms = text.and_then(|text| text.parse().ok());
                let ms = ms.ok_or_else(|| invalid("The delay must be a number of milliseconds, 0 for none."))?;
                Ok(Control::Slow { ms })
            }
            (Kind::Silent, None | Some("on")) => Ok(Control::Silent { silence: Silence::Lost }),
            (Kind::Silent, Some("taken")) => Ok(Control::Silent { silence: Silence::Taken }),
            (Kind::Silent, Some("off")) => Ok(Control::Silent { silence: Silence::Off }),
            (Kind::Silent, Some(_)) => Err(invalid("`silent` takes on, taken or off.")),
        }
    }
}
