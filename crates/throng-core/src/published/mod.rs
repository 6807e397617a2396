//! Published algorithms, as their papers define them: the literal baselines, in contrast to the methods of
//! [`crate::cluster`] and [`crate::partition`] that releases are made with by default.
//!
//! | algorithm | paper |
//! |---|---|
//! | [`GreedyPk`], [`EnhancedPk`], [`MostClasses`] | [Truta 2007] |
//! | [`Switching`] | [Sun 2008] |
//! | [`Mdav`], [`RandomSeed`] | [Solanas 2008] |
//! | [`BasicMondrian`], [`Mdr`] | [LeFevre 2006], [Liu 2018] |
//! | [`Incognito`] | [LeFevre 2005] |
//!
//! All of them implement [`ClusterMethod`](crate::cluster::ClusterMethod) or
//! [`PartitionMethod`](crate::partition::PartitionMethod), so a policy can choose any of them. Authors and titles are in
//! `REFERENCES.md`.

mod basic_mondrian;
mod enhanced_pk;
mod greedy_pk;
mod incognito;
mod lazy_sort;
#[cfg(test)]
pub(crate) mod literal_reference;
mod mdav;
mod mdr;
mod microaggregation;
mod most_classes;
mod random_seed;
mod switching;
mod unassigned_groups;
mod unassigned_points;

pub use basic_mondrian::BasicMondrian;
pub use enhanced_pk::EnhancedPk;
pub use greedy_pk::GreedyPk;
pub use incognito::{Incognito, LATTICE_LIMIT};
pub use mdav::Mdav;
pub use mdr::Mdr;
pub use most_classes::MostClasses;
pub use random_seed::RandomSeed;
pub use switching::Switching;
