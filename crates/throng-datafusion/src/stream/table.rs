//! The release of a stream as a [`TableProvider`], the only entry point of its operator into queries.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use throng_policy::Policy;

use super::AnonymizeStreamExec;
use crate::AnonymizeError;
use crate::AnonymizedTable;
use crate::anonymizer::Anonymizer;
use crate::opaque_table::opaque_table;
use crate::plan_input::plan_input;

/// The release of a stream under a policy.
///
/// With a `max_delay` of rows or time in the policy, rows are released while others still arrive, and the table can be read
/// once; see [`AnonymizeStreamExec`]. Without it the rows are released when the input ends, as those of an [`AnonymizedTable`],
/// and an input that never ends is refused. Filters, limits and projections of a query are applied to the release and never
/// to the input.
pub struct AnonymizedStreamTable {
    table: AnonymizedTable,
    is_read: Arc<AtomicBool>,
}

impl AnonymizedStreamTable {
    /// Binds a policy to a table. Input and output locations of the policy are ignored.
    pub fn new(input: Arc<dyn TableProvider>, policy: Arc<Policy>) -> Result<Self, AnonymizeError> {
        Ok(Self { table: AnonymizedTable::new(input, policy)?, is_read: Arc::default() })
    }

    /// Returns the input table.
    pub fn input(&self) -> &Arc<dyn TableProvider> {
        self.table.input()
    }

    /// Returns the bound policy.
    pub fn anonymizer(&self) -> &Arc<Anonymizer> {
        self.table.anonymizer()
    }

    /// Returns the operator over a plan of the input. The input is planned separately, and its statistics are removed.
    pub async fn plan(&self, state: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let anonymizer = self.anonymizer();
        if anonymizer.policy().stream.is_none() {
            let plan = self.table.plan(state).await?;
            if plan.input().boundedness().is_unbounded() {
                return plan_err!(
                    "the input never ends, and the policy does not say how long its rows may wait; set `max_delay` under \
                     [series], such as {{ rows = 10000, time = \"10min\" }}"
                );
            }
            return Ok(Arc::new(plan));
        }
        let mut input = plan_input(state, self.input(), anonymizer.columns_read()).await?;
        if input.output_partitioning().partition_count() > 1 {
            input = Arc::new(CoalescePartitionsExec::new(input));
        }
        Ok(Arc::new(AnonymizeStreamExec::sharing(Arc::clone(anonymizer), input, Arc::clone(&self.is_read))))
    }
}

/// Prints the column names only.
impl fmt::Debug for AnonymizedStreamTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnonymizedStreamTable").field("table", &self.table).finish_non_exhaustive()
    }
}

opaque_table!(AnonymizedStreamTable, |self| Arc::clone(self.anonymizer().schema()), |state| self.plan(state).await?);
