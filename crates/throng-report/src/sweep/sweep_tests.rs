use super::*;

fn attempt(k: u64, p: u64, ncp: f64) -> Attempt {
    let figures = Figures {
        classes: 9,
        ncp,
        weighted_ncp: ncp,
        lower_bound: None,
        gap: None,
        count_errors: None,
        highest_risk: 1.0 / k as f64,
        average_risk: 0.01,
        suppressed_rows: 0,
        cluster: "search",
        milliseconds: 5,
    };
    Attempt { k, p, algorithm: "mondrian/auto".to_owned(), outcome: Ok(figures) }
}

fn refused() -> Attempt {
    Attempt { k: 2, p: 9, algorithm: "mondrian/auto".to_owned(), outcome: Err("too few <values>".to_owned()) }
}

fn swept(attempts: Vec<Attempt>, loss: f64) -> SweepReport {
    SweepReport::new(100, attempts, Some(loss))
}

#[test]
fn the_best_has_the_lowest_risk_within_the_loss_and_then_the_highest_p() {
    let attempts =
        vec![refused(), attempt(5, 3, 0.02), attempt(10, 1, 0.03), attempt(10, 2, 0.04), attempt(20, 3, 0.08)];
    assert_eq!(best(&attempts, 0.05), Some(3));
    assert_eq!(best(&attempts, 0.03), Some(2));
    assert_eq!(best(&attempts, 0.01), None);
    let advice = swept(attempts.clone(), 0.05).advice().unwrap();
    assert_eq!(advice, "best for a loss of at most 5%: k = 10, p = 2 with mondrian/auto (loses 4%, highest risk 10%)");
    assert_eq!(swept(attempts, 0.01).advice().unwrap(), "no policy of the grid loses at most 1%");
}

#[test]
fn a_grid_of_which_nothing_can_be_kept_says_why() {
    assert_eq!(swept(vec![refused()], 0.5).refusal(), Some("too few <values>"));
    assert_eq!(swept(vec![refused(), attempt(5, 1, 0.1)], 0.5).refusal(), None);
}

#[test]
fn the_page_has_every_trial_and_tells_why_some_can_not_be_kept() {
    let page = sweep_page(&swept(vec![refused(), attempt(5, 3, 0.02), attempt(10, 1, 0.03)], 0.05));
    assert_eq!(page.matches("<tr").count(), 1 + 3, "{page}");
    assert!(page.contains("too few &lt;values&gt;") && !page.contains("<values>"), "{page}");
    assert_eq!(page.matches(r#"class="point on-line""#).count(), 2);
    assert!(page.contains("k = 10, p = 1"), "{page}");
    assert!(!page.contains("Errors of counts") && !page.contains("of the best possible"), "{page}");
}

#[test]
fn errors_and_gaps_are_shown_where_they_were_measured() {
    let measured = |k: u64, ncp: f64, median: f64, p95: f64| {
        let mut attempt = attempt(k, 1, ncp);
        let figures = attempt.outcome.as_mut().unwrap();
        (figures.lower_bound, figures.gap) = (Some(ncp / 1.25), Some(0.25));
        figures.count_errors = Some(CountErrors { median, p95 });
        attempt
    };
    // The second loses less than the third, and errs more.
    let attempts = vec![refused(), measured(5, 0.02, 0.05, 0.5), measured(10, 0.03, 0.01, 0.125)];
    let page = sweep_page(&swept(attempts, 0.05));
    // Each point is an element of its own within the plot.
    let errors = page.split(r#"id="errors-description""#).nth(1).unwrap().split("</figure>").next().unwrap();
    assert!(errors.contains("k 5, p 1: errs by 5%, highest risk 20%; k 10, p 1: errs by 1%"), "{errors}");
    assert_eq!(errors.matches(r#"class="point on-line""#).count(), 1, "{errors}");
    assert!(errors.contains("median error of a count") && !errors.contains(r#"class="budget""#), "{errors}");
    assert!(page.contains(r#"data-key="trials.2.count_queries.p95_error" value="0.125">12.5%<"#), "{page}");
    assert!(page.contains("within ") && page.contains(r#"data-key="trials.1.gap" value="0.25">25%<"#), "{page}");
    assert!(page.contains(r#"<td colspan="5">"#), "{page}");
}
