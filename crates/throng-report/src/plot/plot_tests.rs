use super::*;

const CAPTION: Caption<'_> = Caption { id: "p", title: "A <title>", description: "What it shows" };

#[test]
fn a_plot_has_a_title_and_a_description_that_it_is_labelled_by() {
    let svg = bars(CAPTION, &[]).into_string();
    assert!(svg.contains(r#"role="img" aria-labelledby="p-title p-description""#), "{svg}");
    assert!(svg.contains(r#"<title id="p-title">A &lt;title&gt;</title>"#), "{svg}");
    assert!(svg.contains(r#"<desc id="p-description">What it shows</desc>"#), "{svg}");
}

#[test]
fn bars_have_the_lengths_of_their_shares() {
    let bar = |length: f64| Bar { label: "age".to_owned(), value: "v".to_owned(), length };
    let svg = bars(CAPTION, &[bar(0.25), bar(0.0), bar(f64::NAN), bar(7.0)]).into_string();
    assert!(svg.contains(r#"width="25.00%""#), "{svg}");
    assert_eq!(svg.matches(r#"class="bar""#).count(), 2, "nothing has no bar: {svg}");
    assert!(!svg.contains("NaN") && !svg.contains("700"), "{svg}");
}

#[test]
fn the_areas_of_slices_are_their_shares() {
    // The second slice is three times as wide and has three times the share, so both have the same height.
    let columns = [SliceBar { end: 0.25, before: 0.2, after: 0.25 }, SliceBar { end: 1.0, before: 0.8, after: 0.75 }];
    let svg = slices(CAPTION, &columns, ("low", "high")).into_string();
    let heights: Vec<&str> = svg.split("height=\"").skip(2).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(heights.len(), 2);
    assert_eq!(heights[0], heights[1], "{svg}");
    assert_eq!(svg.matches(r#"class="was""#).count(), 2);
}

#[test]
fn the_line_goes_through_what_nothing_beats() {
    let point = |cost, risk| FrontierPoint { cost, risk, shape: 0, label: Some(format!("{cost}/{risk}")) };
    let points = vec![point(0.02, 0.1), point(0.01, 0.2), point(0.03, 0.1), point(0.03, 0.15), point(0.05, 0.05)];
    let svg = frontier(CAPTION, &Frontier { points, budget: Some(0.04), axis: LOSS_AXIS }).into_string();
    assert_eq!(svg.matches(r#"class="point on-line""#).count(), 3, "{svg}");
    assert_eq!(svg.matches(r#"class="point""#).count(), 2);
    for label in ["0.01/0.2", "0.02/0.1", "0.05/0.05"] {
        assert!(svg.contains(label), "{label} is not in {svg}");
    }
    assert!(!svg.contains("0.03/"), "only those on the line have labels");
    assert_eq!(svg.matches(r#"class="budget""#).count(), 1);
}

#[test]
fn one_point_and_none_are_drawn_too() {
    let one = Frontier {
        points: vec![FrontierPoint { cost: 0.0, risk: 1.0, shape: 9, label: None }],
        budget: None,
        axis: LOSS_AXIS,
    };
    let none = Frontier { points: Vec::new(), budget: None, axis: LOSS_AXIS };
    for frontier_drawn in [one, none] {
        let svg = frontier(CAPTION, &frontier_drawn).into_string();
        assert!(!svg.contains("NaN") && !svg.contains("\"inf") && !svg.contains("\"-inf"), "{svg}");
        assert!(svg.contains(">0.1%<"), "the axis reaches a tenth of a percent at least: {svg}");
    }
}
