//! `tenon chain fault …`: what is to be wrong with a simulated network.

use clap::{Args, ValueEnum};

use super::Place;
use crate::{
    admin::wire::{Control, Silence},
    cli::CliError,
};

pub const EXAMPLES: &str = "Example:\n  tenon chain fault base fail 2        # the next two transactions fail in their block\n  \
    tenon chain fault base stick         # the next one waits until it is released\n  \
    tenon chain fault base release       # what is stuck goes into the next block\n  \
    tenon chain fault base slow 3000     # every answer takes 3 s; 0: no more\n  \
    tenon chain fault base silent on     # no answers, and what is submitted is lost\n  \
    tenon chain fault base silent taken  # no answers, and what is submitted is taken\n  \
    tenon chain fault base silent off\n  \
    tenon chain fault base off           # all of that ends";

#[derive(Args)]
pub struct Fault {
    #[command(flatten)]
    pub place: Place,
    #[arg(value_enum)]
    kind: Kind,
    /// How many transactions [default: 1]; milliseconds; on, taken or off
    value: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// The next transactions fail
    Fail,
    /// The next transactions are stuck
    Stick,
    /// What is stuck goes on
    Release,
    /// Every answer takes so long
    Slow,
    /// Nothing is answered
    Silent,
    /// All of that ends
    Off,
}

impl Fault {
    pub fn control(&self) -> Result<Control, CliError> {
        let wrong = |expected: &str| CliError::Failed(format!("{expected} `tenon help chain fault` shows examples."));
        let count = || match self.value.as_deref().map(str::parse) {
            None => Ok(1),
            Some(Ok(count)) => Ok(count),
            Some(Err(_)) => Err(wrong("Say how many transactions: a whole number.")),
        };
        match (self.kind, self.value.as_deref()) {
            (Kind::Fail, _) => Ok(Control::Fail { count: count()? }),
            (Kind::Stick, _) => Ok(Control::Stick { count: count()? }),
            (Kind::Release, None) => Ok(Control::Release),
            (Kind::Off, None) => Ok(Control::Off),
            (Kind::Release | Kind::Off, Some(_)) => Err(wrong("Nothing follows `release` and `off`.")),
            (Kind::Slow, text) => {
                let ms = text.and_then(|text| text.parse().ok());
                let ms = ms.ok_or_else(|| wrong("Say how many milliseconds an answer is to take, 0 for no delay."))?;
                Ok(Control::Slow { ms })
            }
            (Kind::Silent, None | Some("on")) => Ok(Control::Silent { silence: Silence::Lost }),
            (Kind::Silent, Some("taken")) => Ok(Control::Silent { silence: Silence::Taken }),
            (Kind::Silent, Some("off")) => Ok(Control::Silent { silence: Silence::Off }),
            (Kind::Silent, Some(_)) => Err(wrong("Silence is on, taken or off.")),
        }
    }
}
