//! Line charts as SVG: axes, scales, a legend, readable on a light and on a dark page, without fonts of their own.

use std::fmt::Write as _;

use crate::report::{Series, number};

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From zero on.
    Linear,
    /// By powers of ten.
    Log,
}

/// One side of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    /// What it counts.
    pub label: &'a str,
    /// How.
    pub scale: Scale,
}

/// A chart to be drawn.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// Above it.
    pub title: &'a str,
    /// To the right.
    pub x: Axis<'a>,
    /// Upwards.
    pub y: Axis<'a>,
    /// The lines.
    pub series: Vec<&'a Series>,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;
/// Distinct on white and on black.
const COLOURS: [&str; 8] =
    ["#e5484d", "#f76b15", "#d6409f", "#8e4ec6", "#0091ff", "#12a594", "#46a758", "#8d8d8d"];

/// The range of an axis and the values that are marked on it.
#[derive(Clone, Debug, PartialEq)]
struct Range {
    low: f64,
    high: f64,
    marks: Vec<f64>,
    scale: Scale,
}

impl Range {
    /// A range with room for all values.
    fn of(values: impl Iterator<Item = f64>, scale: Scale) -> Self {
        match scale {
            Scale::Linear => Self::linear(values.fold(0.0, f64::max)),
            Scale::Log => Self::log(values.filter(|value| *value > 0.0)),
        }
    }

    fn linear(most: f64) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let rough = most / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let nice = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| step * power >= rough);
        let step = nice.unwrap_or(10.0) * power;
        let mut marks = vec![0.0];
        while marks[marks.len() - 1] < most {
            marks.push(marks[marks.len() - 1] + step);
        }
        Self { low: 0.0, high: marks[marks.len() - 1], marks, scale: Scale::Linear }
    }

    fn log(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)));
        let (low, high) = if low.is_finite() { (low, high) } else { (1.0, 10.0) };
        let first = low.log10().floor();
        let last = high.log10().ceil().max(first + 1.0);
        let mut marks = Vec::new();
        let mut power = first;
        while power <= last {
            marks.push(10_f64.powf(power));
            power += 1.0;
        }
        Self { low: marks[0], high: marks[marks.len() - 1], marks, scale: Scale::Log }
    }

    /// Where a value lies, from 0 to 1.
    fn part(&self, value: f64) -> f64 {
        let of = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.max(self.low).log10(),
        };
        (of(value) - of(self.low)) / (of(self.high) - of(self.low))
    }
}

/// A mark in few characters.
fn mark_text(value: f64) -> String {
    match value {
        1e6.. => format!("{} M", number(value / 1e6)),
        1e3.. => format!("{} k", number(value / 1e3)),
        0.0 => "0".to_owned(),
        ..0.01 => format!("{value}"),
        _ => number(value),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Chart<'_> {
    /// Draws it.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Range::of(points().map(|point| point.0), self.x.scale);
        let y = Range::of(points().map(|point| point.1), self.y.scale);
        let mut out = String::new();
        // Writing to memory does not fail.
        let _ = self.draw(&x, &y, &mut out);
        out
    }

    fn draw(&self, x: &Range, y: &Range, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n<title>{}</title>",
            escaped(self.title)
        )?;
        out.push_str(STYLE);
        writeln!(out, "<rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>")?;
        writeln!(
            out,
            "<text class=\"title\" x=\"{LEFT}\" y=\"26\">{}</text>",
            escaped(self.title)
        )?;
        self.axes(x, y, out)?;
        for (number, series) in self.series.iter().enumerate() {
            line(number, series, x, y, out)?;
        }
        out.push_str("</svg>\n");
        Ok(())
    }

    fn axes(&self, x: &Range, y: &Range, out: &mut String) -> std::fmt::Result {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for mark in &y.marks {
            let (at, text) = (up(y, *mark), mark_text(*mark));
            writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>")?;
            writeln!(
                out,
                "<text class=\"end\" x=\"{}\" y=\"{:.1}\">{text}</text>",
                LEFT - 8.0,
                at + 4.0
            )?;
        }
        for mark in &x.marks {
            let (at, text) = (along(x, *mark), mark_text(*mark));
            writeln!(out, "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/>")?;
            writeln!(
                out,
                "<text class=\"middle\" x=\"{at:.1}\" y=\"{}\">{text}</text>",
                bottom + 18.0
            )?;
        }
        let (middle, low) = (f64::midpoint(LEFT, right), HEIGHT - 14.0);
        let label = escaped(self.x.label);
        writeln!(out, "<text class=\"middle\" x=\"{middle}\" y=\"{low}\">{label}</text>")?;
        let (middle, label) = (f64::midpoint(TOP, bottom), escaped(self.y.label));
        writeln!(
            out,
            "<text class=\"middle\" transform=\"translate(18 {middle}) rotate(-90)\">{label}</text>"
        )
    }
}

/// One line with its points and its name in the legend.
fn line(
    number: usize,
    series: &Series,
    x: &Range,
    y: &Range,
    out: &mut String,
) -> std::fmt::Result {
    let colour = COLOURS[number % COLOURS.len()];
    // The colours come again for further lines, which are dashed.
    let dash = if number < COLOURS.len() { "" } else { " stroke-dasharray=\"5 4\"" };
    let places: Vec<_> = series.points.iter().map(|(a, b)| (along(x, *a), up(y, *b))).collect();
    let path: Vec<_> = places.iter().map(|(a, b)| format!("{a:.1} {b:.1}")).collect();
    writeln!(out, "<path class=\"line\" stroke=\"{colour}\"{dash} d=\"M{}\"/>", path.join("L"))?;
    if places.len() <= 20 {
        for (a, b) in &places {
            writeln!(out, "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"3\" fill=\"{colour}\"/>")?;
        }
    }
    let (left, top) = (WIDTH - RIGHT + 16.0, TOP + 12.0 + 20.0 * from(number));
    writeln!(
        out,
        "<path class=\"line\" stroke=\"{colour}\"{dash} d=\"M{left} {:.1}h18\"/>",
        top - 4.0
    )?;
    let name = escaped(&series.name);
    writeln!(out, "<text x=\"{}\" y=\"{top:.1}\">{name}</text>", left + 24.0)
}

fn from(number: usize) -> f64 {
    crate::meter::float(number as u64)
}

fn along(range: &Range, value: f64) -> f64 {
    LEFT + range.part(value) * (WIDTH - RIGHT - LEFT)
}

fn up(range: &Range, value: f64) -> f64 {
    HEIGHT - BOTTOM - range.part(value) * (HEIGHT - BOTTOM - TOP)
}

const STYLE: &str = "<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.middle { text-anchor: middle }
.end { text-anchor: end }
.page { fill: #ffffff }
.grid { stroke: #d1d9e0; stroke-width: 1; fill: none }
.line { stroke-width: 2; fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.page { fill: #0d1117 }
.grid { stroke: #30363d }
}
</style>
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_begins_at_zero_and_has_round_marks() {
        let range = Range::of([3.0, 17.0].into_iter(), Scale::Linear);
        assert_eq!(range.marks, [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert!((range.part(10.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_log_axis_has_powers_of_ten() {
        let range = Range::of([20.0, 25_000.0].into_iter(), Scale::Log);
        assert_eq!(range.marks, [10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]);
        assert!((range.part(1_000.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn an_axis_without_values_or_with_one_has_a_width() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [vec![], vec![0.0], vec![1.0], vec![1000.0]] {
                let range = Range::of(values.into_iter(), scale);
                assert!(range.high > range.low && range.marks.len() > 1, "{range:?}");
            }
        }
    }

    #[test]
    fn a_chart_has_its_lines_and_nothing_that_is_not_a_number() {
        let series = Series {
            chart: "a".to_owned(),
            name: "rank <now>".to_owned(),
            points: vec![(1e4, 200.0), (1e6, 500.0)],
        };
        let axis = |label| Axis { label, scale: Scale::Log };
        let (x, y) = (axis("players"), axis("ns"));
        let svg = Chart { title: "Cost", x, y, series: vec![&series] }.svg();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("rank &lt;now&gt;") && svg.contains(">1 M<") && !svg.contains("NaN"));
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
