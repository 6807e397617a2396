//! The arguments of `throng bound`.

use clap::Args as ClapArgs;

use super::PolicyArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct BoundArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,

    /// Spend this long on improving the bound [default: a fixed amount of work]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: Option<u64>,
}
