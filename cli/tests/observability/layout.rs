//! Where panels stand.

use serde_json::Value;

use crate::configuration::dashboards;

/// Columns of Grafana's grid.
const COLUMNS: u64 = 24;

fn place(panel: &Value) -> (u64, u64, u64, u64) {
    let number = |name: &str| panel["gridPos"][name].as_u64().unwrap_or_else(|| panic!("{name} of {panel}"));
    (number("x"), number("y"), number("w"), number("h"))
}

fn overlap(a: &Value, b: &Value) -> bool {
    let ((ax, ay, aw, ah), (bx, by, bw, bh)) = (place(a), place(b));
    ax < bx + bw && bx < ax + aw && ay < by + bh && by < ay + ah
}

#[test]
fn panels_stand_beside_each_other_within_the_grid() {
    for dashboard in dashboards() {
        let panels = dashboard.panels();
        for (index, panel) in panels.iter().enumerate() {
            let (x, _, w, h) = place(panel);
            assert!(x + w <= COLUMNS && w > 0 && h > 0, "{}: {}", dashboard.file, panel["title"]);
            for other in &panels[index + 1..] {
                assert!(!overlap(panel, other), "{}: {} and {}", dashboard.file, panel["title"], other["title"]);
                assert_ne!(panel["id"], other["id"], "{}", dashboard.file);
            }
        }
    }
}

#[test]
fn rows_of_panels_are_filled() {
    for dashboard in dashboards() {
        let tops: std::collections::BTreeSet<u64> = dashboard.data_panels().map(|panel| place(panel).1).collect();
        for top in tops {
            let width: u64 =
                dashboard.data_panels().map(place).filter(|place| place.1 == top).map(|place| place.2).sum();
            assert_eq!(width, COLUMNS, "{}: the panels at {top}", dashboard.file);
        }
    }
}
