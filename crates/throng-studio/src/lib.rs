//! Throng Studio: a local page on which a policy is written by looking at its effects.
//!
//! ```text
//!  browser ── POST action ──► actions ──► project: text of the policy, history
//!     ▲                                        │ changed
//!     │ server-sent events                     ▼
//!     └───────────── parts of the page ◄── live: survey, sample, exact release, frontier
//!                    view/                 jobs: check, try, release
//! ```
//!
//! The page produces a policy file. Everything that it shows is rendered here, from the text of the policy and from figures of the
//! same functions that the commands call; the script of the page only sends actions and replaces parts.
//!
//! | file | content |
//! |---|---|
//! | `guard`, `server` | access control, and the routes |
//! | `state`, `project` | the open tables, and the text, figures and jobs of each |
//! | `fields`, `written`, `edit`, `history` | the policy as text: its settings, read leniently, edited in place, undone |
//! | `first_look`, `held_survey`, `sample`, `answer`, `live` | figures: on a sample first, exact after that |
//! | `jobs`, `builder`, `arrange`, `actions` | the actions behind the buttons |
//! | `view/` | the parts of the page |
//!
//! The page is served on the loopback interface only, below a random path. It fetches nothing, and shows counts, names and shares; values
//! of the table only if requested with `--show-values`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod actions;
mod answer;
mod arrange;
mod builder;
mod edit;
mod fields;
mod first_look;
mod guard;
mod held_survey;
mod history;
mod jobs;
mod launch;
mod live;
mod places;
mod project;
mod sample;
mod server;
mod state;
mod view;
mod written;

pub use launch::open_in_browser;
pub use server::{Studio, StudioOptions};
