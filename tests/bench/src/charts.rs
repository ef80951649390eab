//! Charts of the growth curves, as SVG files.

use std::path::Path;

use plotters::prelude::*;

use crate::Failure;
use crate::growth::Curve;

/// Draws each curve into its own SVG file in the folder.
pub(crate) fn draw(curves: &[Curve], folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for (number, curve) in curves.iter().enumerate() {
        draw_curve(curve, &folder.join(format!("growth-{}.svg", number + 1)))?;
    }
    Ok(())
}

fn draw_curve(curve: &Curve, path: &Path) -> Result<(), Failure> {
    let points: Vec<_> = curve.points.iter().map(|(size, cpu)| (*size as f64, *cpu)).collect();
    let right = points.iter().map(|point| point.0).fold(1.0, f64::max);
    let top = points.iter().map(|point| point.1).fold(0.0, f64::max) * 1.2;
    let area = SVGBackend::new(path, (640, 400)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(curve.name, ("sans-serif", 18))
        .margin(12)
        .margin_right(28)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((1.0..right).log_scale(), 0.0..top)?;
    let whole = |value: &f64| format!("{value:.0}");
    chart
        .configure_mesh()
        .x_desc(curve.unit)
        .y_desc(curve.measure)
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .draw()?;
    chart.draw_series(LineSeries::new(points, &BLUE).point_size(3))?;
    area.present()?;
    Ok(())
}
