//! The picture of a run in README.md, drawn from what a terminal shows.

/// Size of a character and of a line, in pixels.
const WIDTH: usize = 8;
const HEIGHT: usize = 19;
const MARGIN: usize = 16;

/// Colours for light and for dark surroundings.
const STYLE: &str = "  <style>
    rect { fill: #f6f8fa; stroke: #d0d7de; }
    text { fill: #1f2328; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; }
    .typed { font-weight: bold; }
    .story { font-weight: bold; }
    .good { fill: #116329; font-weight: bold; }
    .bad { fill: #a40e26; font-weight: bold; }
    .dim { fill: #59636e; }
    @media (prefers-color-scheme: dark) {
      rect { fill: #151b23; stroke: #3d444d; }
      text { fill: #d1d7e0; }
      .good { fill: #57ab5a; }
      .bad { fill: #f47067; }
      .dim { fill: #9198a1; }
    }
  </style>
";

/// Draws what a terminal shows as an SVG.
pub fn svg(shown: &str) -> String {
    let columns = shown.lines().map(|line| line.chars().count()).max().unwrap();
    let width = columns * WIDTH + 2 * MARGIN;
    let height = shown.lines().count() * HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" xml:space=\"preserve\" role=\"img\">\n  <title>git ralph run</title>\n{STYLE}  \
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n",
        width - 1,
        height - 1,
    );
    for (row, line) in shown.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = MARGIN + row * HEIGHT + 14;
        svg.push_str(&format!(
            "  <text x=\"{MARGIN}\" y=\"{y}\">{}</text>\n",
            coloured(line)
        ));
    }
    svg + "</svg>\n"
}

/// Colours a line as git-ralph does on a terminal.
fn coloured(line: &str) -> String {
    if line.starts_with("$ ") {
        return span("typed", line);
    }
    if line.starts_with('[') {
        return span("story", line);
    }
    if line == "nothing is left to do" {
        return span("good", line);
    }
    if let Some(printed) = line.strip_prefix("│ ") {
        return format!("{}{}", span("dim", "│ "), escaped(printed));
    }
    let results = [
        ("  gate ", "failed ", "bad"),
        ("  gate ", "passed ", "good"),
        ("  ", "attempt failed", "bad"),
        ("  ", "complete ", "good"),
    ];
    for (before, word, class) in results {
        let Some(rest) = line.strip_prefix(before).filter(|rest| rest.starts_with(word)) else {
            continue;
        };
        let (result, more) = rest.split_at(rest.find(':').unwrap_or(rest.len()));
        return format!("{before}{}{}", span(class, result), escaped(more));
    }
    escaped(line)
}

fn span(class: &str, text: &str) -> String {
    format!("<tspan class=\"{class}\">{}</tspan>", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
