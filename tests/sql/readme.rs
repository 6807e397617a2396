//! What the README shows is what comes out.

use datafusion::prelude::SessionContext;

/// The first block of this language after the heading.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.trim()
}

#[tokio::test]
async fn the_snippet_of_the_readme_answers_what_it_says() {
    let readme = include_str!("../../README.md");
    let (_, section) = readme.split_once("## In SQL").unwrap();
    let ctx = SessionContext::new();
    throng_datafusion::register_all(&ctx);
    let mut answer = String::new();
    for statement in block(section, "sql").split_terminator(';') {
        answer = ctx.sql(statement).await.unwrap().to_string().await.unwrap();
    }
    assert_eq!(answer, block(section, "text"));
}
