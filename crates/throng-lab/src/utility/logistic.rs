//! Logistic regression by Newton's method, with weights of examples and standard errors of coefficients.
//!
//! Written here because crates for it take one row per person: a release of millions of rows has some thousand classes, and
//! weights keep memory and time proportional to these.

use super::Example;

/// Ridge that keeps collinear indicators from growing without bounds, in rows.
const RIDGE: f64 = 1.0;

/// Iterations of Newton's method.
const ITERATIONS: usize = 25;

/// A fitted regression of label 1 against all others.
#[derive(Clone, Debug)]
pub(crate) struct Logistic {
    pub(crate) coefficients: Vec<f64>,
    /// Standard error of each coefficient.
    pub(crate) errors: Vec<f64>,
}

impl Logistic {
    /// Fits the coefficients of `features` features.
    pub(crate) fn fit(examples: &[Example], features: usize) -> Self {
        let mut coefficients = vec![0.0; features];
        let mut hessian = vec![0.0; features * features];
        for _ in 0..ITERATIONS {
            let mut gradient: Vec<f64> = coefficients.iter().map(|coefficient| -RIDGE * coefficient).collect();
            hessian.fill(0.0);
            (0..features).for_each(|at| hessian[at * features + at] = RIDGE);
            for example in examples {
                let chance = sigmoid(score(&coefficients, example));
                let residual = example.weight * (f64::from(u8::from(example.label == 1)) - chance);
                let curvature = example.weight * chance * (1.0 - chance);
                for (row, value) in &example.features {
                    gradient[*row as usize] += residual * value;
                    let line = &mut hessian[*row as usize * features..][..features];
                    for (column, other) in &example.features {
                        line[*column as usize] += curvature * value * other;
                    }
                }
            }
            let Some(factor) = cholesky(&hessian, features) else { break };
            let step = solve(&factor, &gradient, features);
            // Longer steps may diverge where a feature separates the labels.
            let longest = step.iter().fold(0.0_f64, |most, step| most.max(step.abs()));
            let scale = if longest > 5.0 { 5.0 / longest } else { 1.0 };
            coefficients.iter_mut().zip(&step).for_each(|(coefficient, step)| *coefficient += scale * step);
            if longest < 1e-8 {
                break;
            }
        }
        let errors = match cholesky(&hessian, features) {
            Some(factor) => (0..features)
                .map(|at| {
                    let mut unit = vec![0.0; features];
                    unit[at] = 1.0;
                    solve(&factor, &unit, features)[at].max(0.0).sqrt()
                })
                .collect(),
            None => vec![0.0; features],
        };
        Self { coefficients, errors }
    }

    /// Returns the probability of label 1.
    pub(crate) fn predict(&self, example: &Example) -> f64 {
        sigmoid(score(&self.coefficients, example))
    }
}

fn score(coefficients: &[f64], example: &Example) -> f64 {
    example.features.iter().map(|(feature, value)| coefficients[*feature as usize] * value).sum()
}

fn sigmoid(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// Returns the lower factor of a symmetric positive definite matrix.
fn cholesky(matrix: &[f64], size: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; size * size];
    for row in 0..size {
        for column in 0..=row {
            let dot: f64 = (0..column).map(|at| factor[row * size + at] * factor[column * size + at]).sum();
            let rest = matrix[row * size + column] - dot;
            factor[row * size + column] =
                if row == column { (rest > 0.0).then(|| rest.sqrt())? } else { rest / factor[column * size + column] };
        }
    }
    Some(factor)
}

/// Solves the system of a factored matrix.
fn solve(factor: &[f64], right: &[f64], size: usize) -> Vec<f64> {
    let mut solution = right.to_vec();
    for row in 0..size {
        let dot: f64 = (0..row).map(|at| factor[row * size + at] * solution[at]).sum();
        solution[row] = (solution[row] - dot) / factor[row * size + row];
    }
    for row in (0..size).rev() {
        let dot: f64 = (row + 1..size).map(|at| factor[at * size + row] * solution[at]).sum();
        solution[row] = (solution[row] - dot) / factor[row * size + row];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_those_of_the_odds() {
        // Odds of label 1 are 1/4 without the feature and 4 with it, so that the coefficients are -ln 4 and 2 ln 4.
        let example = |features: &[(u32, f64)], label, weight| Example { features: features.to_vec(), label, weight };
        let (without, with) = ([(0, 1.0)], [(0, 1.0), (1, 1.0)]);
        let examples = [
            example(&without, 1, 20_000.0),
            example(&without, 0, 80_000.0),
            example(&with, 1, 80_000.0),
            example(&with, 0, 20_000.0),
        ];
        let fitted = Logistic::fit(&examples, 2);
        assert!((fitted.coefficients[0] + 4_f64.ln()).abs() < 1e-3, "{fitted:?}");
        assert!((fitted.coefficients[1] - 2.0 * 4_f64.ln()).abs() < 1e-3, "{fitted:?}");
        // The standard error of a log odds ratio is the root of the sum of 1 / count.
        let expected = (2.0 / 20_000.0 + 2.0 / 80_000.0_f64).sqrt();
        assert!((fitted.errors[1] / expected - 1.0).abs() < 1e-2, "{fitted:?}");
        assert!((fitted.predict(&examples[2]) - 0.8).abs() < 1e-3);
    }
}
