//! Splits a text into statements.

use datafusion::config::SqlParserOptions;
use datafusion::error::DataFusionError;
use datafusion::sql::parser::{DFParserBuilder, Statement as Parsed};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, dialect_from_str};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::error::{Phase, sorted};
use crate::error::{JobError, Kind};

/// A parsed statement that is not planned yet.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(super) parsed: Parsed,
}

/// Returns the tokens of each statement, without the semicolons, and the error of the tokenizer, if any.
///
/// A semicolon within quotes or a comment is not a token, and no statement contains one.
fn split(text: &str, dialect: &dyn Dialect) -> (Vec<Vec<TokenWithSpan>>, Option<ParserError>) {
    let mut tokens = Vec::new();
    let failed = Tokenizer::new(dialect, text).tokenize_with_location_into_buf(&mut tokens).err();
    let pieces = tokens.split(|token| token.token == Token::SemiColon).map(<[TokenWithSpan]>::to_vec).collect();
    (pieces, failed.map(ParserError::from))
}

fn is_nonempty(tokens: &[TokenWithSpan]) -> bool {
    tokens.iter().any(|token| !matches!(token.token, Token::Whitespace(_)))
}

pub(super) fn parse(text: &str, options: &SqlParserOptions) -> Vec<Result<Statement, JobError>> {
    let Some(dialect) = dialect_from_str(options.dialect) else {
        return vec![Err(JobError::new(Kind::BadQuery, "the SQL dialect that was set is not known"))];
    };
    let (mut pieces, failed) = split(text, dialect.as_ref());
    if failed.is_some() {
        // The last statement is incomplete.
        pieces.pop();
    }
    let parse = |tokens: Vec<TokenWithSpan>| {
        let parser = DFParserBuilder::new(tokens).with_dialect(dialect.as_ref());
        let mut parsed = parser.with_recursion_limit(options.recursion_limit.get()).build()?.parse_statements()?;
        let nothing = || DataFusionError::Plan("there is no statement".to_owned());
        Ok(Statement { parsed: parsed.pop_front().ok_or_else(nothing)? })
    };
    let mut statements: Vec<Result<Statement, DataFusionError>> =
        pieces.into_iter().filter(|tokens| is_nonempty(tokens)).map(parse).collect();
    statements.extend(failed.map(|error| Err(error.into())));
    statements.into_iter().map(|statement| statement.map_err(|error| sorted(&error, Phase::Plan))).collect()
}

/// Whether entered text can be run: its last statement ends with a semicolon.
pub fn is_complete(text: &str) -> bool {
    let (pieces, failed) = split(text, &GenericDialect {});
    failed.is_none() && pieces.last().is_none_or(|rest| !is_nonempty(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<Result<Statement, JobError>> {
        parse(text, &SqlParserOptions::default())
    }

    #[test]
    fn semicolons_in_quotes_and_comments_part_nothing() {
        let text = "SELECT 'a;b', \"c;d\" -- e; f\n/* g; */; ; SELECT 2 /* ; */;";
        let statements: Vec<String> = parsed(text).into_iter().map(|one| one.unwrap().parsed.to_string()).collect();
        assert_eq!(statements, ["SELECT 'a;b', \"c;d\"", "SELECT 2"]);
        assert!(parsed(" -- nothing;\n;").is_empty());
    }

    #[test]
    fn an_error_stands_where_its_statement_is() {
        let statements = parsed("SELECT 1; SELEC 2; SELECT 3");
        assert!(matches!(statements.as_slice(), [Ok(_), Err(_), Ok(_)]), "{statements:?}");
        let statements = parsed("SELECT 1; SELECT 'open; SELECT 3");
        assert!(matches!(statements.as_slice(), [Ok(_), Err(_)]), "{statements:?}");
        assert_eq!(statements[1].as_ref().unwrap_err().kind(), Kind::BadQuery);
    }

    #[test]
    fn a_text_is_complete_after_its_last_semicolon() {
        for text in ["", "SELECT 1;", "SELECT 1; -- one", "SELECT ';';\n", "SELECT 1;;"] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["SELECT 1", "SELECT 1; SELECT", "SELECT 'a;", "SELECT 1 /* ;", "SELECT 1 -- ;"] {
            assert!(!is_complete(text), "{text}");
        }
    }
}
