// ---------------------------------------------------------------------------------------------------------------------
// Charts of all systems.

// Rank of the first relevant document: one strip per system.
function firstRelevant(state) {
  const rows = report.charts.first_relevant;
  const labels = [...new Set(rows.map((r) => r.rank))];
  const shown = withLines(state, [...new Set(rows.map((r) => r.system))].map((name) => systems.indexOf(name)));
  const most = Math.max(...rows.map((r) => r.share), 1e-9);
  const of = (s) => rows.filter((r) => r.system === systems[s]);
  return card({
    title: "Rank of the first relevant document",
    note: "Share of queries. Hatched: nothing relevant was found.",
    draw(width) {
      const strip = 62;
      const plot = canvas(
        width,
        strip * shown.length + 44,
        [4, 4, 40, 4],
        "Rank of the first relevant document by system",
      );
      const step = plot.w / (labels.length + 0.6);
      const left = (i) => i * step + (i === labels.length - 1 ? 0.6 * step : 0);
      shown.forEach((s, row) => {
        const base = (row + 1) * strip - 6;
        plot.inside.append(
          svg("line", { class: "gridline", x1: 0, x2: plot.w, y1: base, y2: base }),
          label(systems[s], plot.w - step * 3, { x: plot.w - step * 1.3, y: base - 38, "text-anchor": "end" }),
        );
        of(s).forEach((r, i) => {
          const height = (r.share / most) * (strip - 22);
          const fill = i === labels.length - 1 ? "hatched" : "bar";
          plot.inside.append(
            svg(
              "rect",
              { class: `${fill} ${look(s)}`, x: left(i) + 2, width: Math.max(step - 4, 1), y: base - height, height },
              svg("title", { text: `${systems[s]}, ${r.rank}: ${short(r.queries)} queries` }),
            ),
            r.share
              ? svg("text", {
                  class: "tick",
                  x: left(i) + step / 2,
                  y: base - height - 4,
                  "text-anchor": "middle",
                  text: Math.round(100 * r.share) || "<1",
                })
              : "",
          );
        });
      });
      labels.forEach((label, i) =>
        plot.inside.append(
          svg("text", {
            class: "tick",
            x: left(i) + step / 2,
            y: strip * shown.length + 12,
            "text-anchor": "middle",
            text: step < 56 ? tighter(label) : label,
          }),
        ),
      );
      plot.inside.append(
        svg("text", {
          class: "axis",
          x: plot.w,
          y: strip * shown.length + 32,
          "text-anchor": "end",
          text: "rank (labels: % of queries)",
        }),
      );
      return plot.root;
    },
    numbers: () =>
      table(
        "Queries by rank of the first relevant document",
        ["Rank", ...shown.map((s) => th(named(s), { class: "num" }))],
        labels.map((label) => [label, ...shown.map((s) => num(short(of(s).find((r) => r.rank === label).queries)))]),
      ),
  });
}

const tighter = (label) => label.replace("not found", "none").replace(/^\d+–/, "≤ ").replace("1000", "1k");

// Lines over x with a band for the interval; bands for all systems where there are few, else for A and B.
function curves(state, { title, note, rows, key, x, values, axis, quality }) {
  const shown = withLines(state, [...new Set(rows.map((r) => r.system))].map((name) => systems.indexOf(name)));
  const banded = shown.length <= 3 ? shown : shown.filter((s) => s === state.a || s === state.b);
  const top = Math.max(...rows.map((r) => r.high ?? r.mean), 1e-9);
  return card({
    title,
    note: `${note} ${bandsNote(banded, shown)}`,
    shown,
    draw(width) {
      const plot = canvas(width, 290, [26, 14, 44, 46], title);
      const across = x(plot.w),
        y = linear([0, Math.min(top * 1.05, Math.max(top, 1))], [plot.h, 0]);
      yAxis(plot, y, ticks(0, Math.min(top * 1.05, Math.max(top, 1))), quality);
      const everyOther = values.filter((_, i) => i % 2 === 0);
      xAxis(plot, across, fitting([values, everyOther], across, short), axis);
      for (const s of shown) {
        const line = rows.filter((r) => r.system === systems[s]);
        const band = [
          ...line.map((r) => [across(r[key]), y(r.high ?? r.mean)]),
          ...[...line].reverse().map((r) => [across(r[key]), y(r.low ?? r.mean)]),
        ];
        if (banded.includes(s)) plot.inside.append(svg("path", { class: `band ${look(s)}`, d: `${path(band)}Z` }));
      }
      for (const s of shown) {
        const line = rows.filter((r) => r.system === systems[s]);
        plot.inside.append(
          svg("path", {
            class: `line ${look(s)}`,
            "stroke-dasharray": report.dashes[slot(s) % report.dashes.length],
            d: path(line.map((r) => [across(r[key]), y(r.mean)])),
          }),
        );
        for (const r of line) {
          const dot = marker(s, across(r[key]), y(r.mean), 4);
          dot.append(
            svg("title", { text: `${systems[s]}, ${axis} ${short(r[key])}: ${show(r.mean)} ${range(r.low, r.high)}` }),
          );
          plot.inside.append(dot);
        }
      }
      return plot.root;
    },
    numbers: () =>
      table(
        title,
        [axis, ...shown.map((s) => th(named(s), { class: "num" }))],
        values.map((v) => [
          short(v),
          ...shown.map((s) => {
            const r = rows.find((row) => row.system === systems[s] && row[key] === v);
            return num(`${show(r.mean)} ${range(r.low, r.high, 3)}`);
          }),
        ]),
      ),
  });
}

function bandsNote(banded, shown) {
  if (!banded.length) return "Intervals are listed under Numbers.";
  if (banded.length === shown.length) return "Bands: intervals.";
  return `Bands: ${banded.length > 1 ? "intervals" : "interval"} of ${banded.map((s) => systems[s]).join(" and ")}; the others are listed under Numbers.`;
}

function overK(state) {
  const rows = report.charts.over_k;
  const ks = [...new Set(rows.map((r) => r.k))];
  return curves(state, {
    title: "Quality by cutoff k",
    note: `${report.charts.over_k_measure}@k, mean over queries.`,
    rows,
    key: "k",
    x: (w) => logarithmic([ks[0], Math.max(ks[ks.length - 1], ks[0] + 1)], [0, w]),
    values: ks,
    axis: "k",
    quality: `${report.charts.over_k_measure}@k`,
  });
}

function precisionRecall(state) {
  const rows = report.charts.precision_recall;
  return curves(state, {
    title: "Precision and recall",
    note: "Interpolated precision at eleven levels of recall.",
    rows,
    key: "recall",
    x: (w) => linear([0, 1], [0, w]),
    values: [...new Set(rows.map((r) => r.recall))],
    axis: "recall",
    quality: "precision",
  });
}

const inTime = (t) => (t >= 1 ? `${short(t)} s` : `${short(1000 * t)} ms`);

// Quality against seconds; the line joins the systems that no other beats on both.
function latencyChart(state) {
  const rows = Object.entries(report.latency.systems).map(([name, t]) => ({
    s: systems.indexOf(name),
    ...result(measures[state.m], name),
    ...t,
    mean_seconds: t.mean,
    mean: result(measures[state.m], name).mean,
  }));
  const front = rows
    .filter((r) => report.latency.front[measures[state.m]].includes(r.system))
    .sort((p, q) => p.p50 - q.p50);
  const times = rows.flatMap((r) => [r.p50, r.p95]).filter((t) => t > 0);
  const low = Math.min(...times) / 1.3,
    high = Math.max(...times) * 1.3;
  const ends = [Math.min(...rows.map((r) => r.low ?? r.mean)), Math.max(...rows.map((r) => r.high ?? r.mean))];
  return card({
    title: "Quality against latency",
    note: `${measures[state.m]} against time per query: marks are medians, lines reach p95. Up and to the left is better; the dashed line joins systems that no other beats in both.`,
    shown: rows.map((r) => r.s),
    draw(width) {
      const plot = canvas(width, 290, [26, 20, 44, 46], "Quality against latency by system");
      const x = logarithmic([low, high], [0, plot.w]),
        y = linear([ends[0] - 0.02, ends[1] + 0.02], [plot.h, 0]);
      yAxis(plot, y, ticks(...ends), measures[state.m]);
      const steps = logTicks(low, high);
      const starting = (digits) => steps.filter((t) => digits.includes(t.toExponential()[0]));
      const choices = steps.length > 1 ? [steps, starting("15"), starting("1"), steps] : [ticks(low, high, 4)];
      xAxis(plot, x, fitting(choices, x, inTime), "latency", inTime);
      plot.inside.append(svg("path", { class: "front", d: path(front.map((r) => [x(r.p50), y(r.mean)])) }));
      const gapBetween = (p, q) => Math.hypot(x(p.p50) - x(q.p50), y(p.mean) - y(q.mean));
      const crowded = rows.some((p, i) => rows.slice(0, i).some((q) => gapBetween(p, q) < 45)); // then the legend must do
      for (const r of rows) {
        plot.inside.append(
          svg("line", { class: `whisker ${look(r.s)}`, x1: x(r.p50), x2: x(r.p95), y1: y(r.mean), y2: y(r.mean) }),
          svg("line", {
            class: `whisker ${look(r.s)}`,
            x1: x(r.p50),
            x2: x(r.p50),
            y1: y(r.low ?? r.mean),
            y2: y(r.high ?? r.mean),
          }),
          marker(r.s, x(r.p50), y(r.mean), 6),
          crowded ? "" : beside(r, x(r.p50), y(r.mean), plot.w),
        );
      }
      return plot.root;
    },
  });
}

// A name next to its mark, on the side where there is room.
function beside(r, x, y, width) {
  const left = x > width * 0.62;
  return label(r.system, left ? x - 10 : width - x - 10, {
    class: "direct halo",
    x: x + (left ? -10 : 10),
    y: y - 9,
    "text-anchor": left ? "end" : "start",
  });
}

function drawCharts(state) {
  const place = body("charts");
  const pairwise = state.b === null ? [] : [waterfall(state), scatter(state)];
  const drawn = { first_relevant: firstRelevant, over_k: overK, precision_recall: precisionRecall };
  const reasons = Object.keys(drawn).filter((name) => typeof report.charts[name] === "string");
  renew(
    place,
    ...pairwise,
    ...(report.crowd && reasons.length < 3 ? [lineChoice(state)] : []),
    ...Object.keys(drawn)
      .filter((name) => !reasons.includes(name))
      .map((name) => drawn[name](state)),
    ...(report.latency ? [latencyChart(state)] : []),
    ...[...new Set(reasons.map((name) => report.charts[name]))].map((reason) =>
      el("p", { class: "card muted", text: `Not drawn: ${reason}` }),
    ),
  );
}
