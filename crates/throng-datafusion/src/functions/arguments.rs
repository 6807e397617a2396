//! Parses the arguments of table functions: string literals, whose content is never repeated in errors.

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::Expr;

/// Returns the two string literals of `function('table', 'policy')`.
pub(super) fn table_and_policy<'a>(function: &str, arguments: &'a [Expr]) -> Result<(&'a str, &'a str)> {
    let [table, policy] = arguments else {
        let found = arguments.len();
        return plan_err!("{function} takes 2 arguments and got {found}; write {function}('table', 'policy')");
    };
    Ok((text(function, "first", "the name of a table", table)?, text(function, "second", "a policy", policy)?))
}

/// Returns the value of a string literal.
fn text<'a>(function: &str, place: &str, meaning: &str, argument: &'a Expr) -> Result<&'a str> {
    let found = match argument {
        Expr::Literal(value, _) => match value.try_as_str() {
            Some(Some(text)) => return Ok(text),
            Some(None) => "null".to_owned(),
            None => format!("a value of type {}", value.data_type()),
        },
        Expr::Column(_) => "a column".to_owned(),
        _ => "an expression".to_owned(),
    };
    plan_err!("the {place} argument of {function} is {found}; write {meaning} as text in single quotes")
}
