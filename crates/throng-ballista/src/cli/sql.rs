//! `throng-cluster sql`: statements one after the other, up to the first error.

use throng_ballista::session;
use throng_pipeline::{JobError, SqlSession, Statement};

use super::args::SqlArgs;
use super::print::print;

pub(super) async fn sql(args: &SqlArgs) -> Result<(), JobError> {
    let session = SqlSession::over(session(&args.cluster, &args.options()).await?);
    let mut statements: Vec<Statement> = Vec::new();
    let numbered =
        |index: usize, error: &JobError| JobError::new(error.kind(), format!("statement {}: {error}", index + 1));
    for text in &args.command {
        for statement in session.parse(text) {
            statements.push(statement.map_err(|error| numbered(statements.len(), &error))?);
        }
    }
    for (index, statement) in statements.into_iter().enumerate() {
        let shown = async { print(session.run(statement).await?, args.format).await };
        shown.await.map_err(|error| numbered(index, &error))?;
    }
    Ok(())
}
