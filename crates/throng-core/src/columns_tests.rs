use super::*;

/// [Sun 2008, Table 4].
fn health_conditions() -> Categories {
    let category = |name: &str, values: [&str; 2]| Category {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        ..Category::default()
    };
    Categories {
        list: vec![
            category("One", ["HIV", "Cancer"]),
            category("Two", ["Phthisis", "Hepatitis"]),
            category("Three", ["Heart Disease", "Asthma"]),
            category("Four", ["Flu", "Indigestion"]),
        ],
    }
}

fn category_of(categories: &Categories, value: &str) -> usize {
    categories.list.iter().position(|category| category.values.iter().any(|other| other == value)).unwrap()
}

#[test]
fn distances_of_sun_2008() {
    let categories = health_conditions();
    let distance = |a, b| categories.distance(category_of(&categories, a), category_of(&categories, b));
    assert_eq!(distance("Cancer", "Flu"), 1.0);
    assert_eq!(distance("Phthisis", "Asthma"), 1.0 / 3.0);
    assert_eq!(distance("Asthma", "Phthisis"), 1.0 / 3.0);
    assert_eq!(distance("HIV", "Cancer"), 0.0);
}

#[test]
fn weights_of_sun_2008() {
    let categories = health_conditions();
    let weight = |value| categories.weight(category_of(&categories, value));
    assert_eq!(["Cancer", "Phthisis", "Asthma", "Flu"].map(weight), [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]);
    assert_eq!(["Cancer", "Phthisis", "Asthma", "Flu"].map(weight).iter().sum::<f64>(), 2.0);
}
