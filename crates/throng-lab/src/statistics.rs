//! Means, quantiles and confidence intervals.

use crate::random::LabRandom;

/// Number of resamples of a bootstrap interval.
const RESAMPLES: usize = 200;

/// Returns the mean; 0 if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the quantile of values in ascending order, by linear interpolation.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// Returns the 95 % interval of a mean, by the normal approximation.
pub(crate) fn mean_interval(values: &[f64]) -> [f64; 2] {
    let (centre, count) = (mean(values), values.len() as f64);
    if values.len() < 2 {
        return [centre, centre];
    }
    let variance = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (count - 1.0);
    let half = 1.96 * (variance / count).sqrt();
    [centre - half, centre + half]
}

/// Returns the 95 % interval of the ratio of two paired means, by a bootstrap with `random`. Means in the denominator are at
/// least `floor`.
pub(crate) fn ratio_interval(above: &[f64], below: &[f64], floor: f64, random: &mut LabRandom) -> [f64; 2] {
    if above.is_empty() {
        return [1.0, 1.0];
    }
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (mut top, mut bottom) = (0.0, 0.0);
            for _ in 0..above.len() {
                let drawn = random.below(above.len());
                top += above[drawn];
                bottom += below[drawn];
            }
            top / bottom.max(floor * above.len() as f64)
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    [quantile(&ratios, 0.025), quantile(&ratios, 0.975)]
}

/// Returns the natural logarithm of the number of ways to choose `some` of `all`; minus infinity if there are none.
pub(crate) fn ln_choose(all: u64, some: u64) -> f64 {
    if some > all {
        return f64::NEG_INFINITY;
    }
    ln_factorial(all) - ln_factorial(some) - ln_factorial(all - some)
}

/// Returns the natural logarithm of a factorial, exact to about ten digits.
pub(crate) fn ln_factorial(of: u64) -> f64 {
    if of < 32 {
        return (2..=of).map(|factor| (factor as f64).ln()).sum();
    }
    let x = of as f64 + 1.0;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3))
}

/// Rounds to six digits, for documents.
pub(crate) fn rounded(value: f64) -> f64 {
    // Empty sums are negative zero.
    (value * 1e6).round() / 1e6 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&values, 0.5), 2.5);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn factorials_agree_with_products() {
        let product: f64 = (2..=40_u64).map(|factor| (factor as f64).ln()).sum();
        assert!((ln_factorial(40) - product).abs() < 1e-9);
        assert!((ln_choose(52, 5).exp() - 2_598_960.0).abs() < 1e-2);
        assert_eq!(ln_choose(3, 4), f64::NEG_INFINITY);
    }

    #[test]
    fn an_interval_of_a_ratio_holds_the_ratio() {
        let above: Vec<f64> = (0..1000).map(|i| f64::from(i % 2)).collect();
        let below = vec![0.25; 1000];
        let [low, high] = ratio_interval(&above, &below, 0.0, &mut LabRandom::new(0, "test"));
        assert!(low < 2.0 && 2.0 < high && high - low < 0.5, "{low} {high}");
    }
}
