use super::*;

#[test]
fn a_grid_of_which_nothing_can_be_kept_is_infeasible() {
    let refused =
        Attempt { k: 2, p: 9, algorithm: "mondrian/auto".to_owned(), outcome: Err("too few <values>".to_owned()) };
    let error = check_sweep(&SweepReport::new(100, vec![refused], Some(0.5))).unwrap_err();
    assert_eq!(error.kind(), Kind::Infeasible);
    assert!(error.to_string().contains("too few <values>"), "{error}");
}
