// ---------------------------------------------------------------------------------------------------------------------
// Charts of two systems: the difference on every query, and A against B.

const POINTS = 1500; // more queries than this are drawn as areas of density

const differences = (m, a, b) => model.values[m][b].map((value, i) => value - model.values[m][a][i]);
const namedQuery = (i) => model.texts?.[i] || model.ids[i];

// On how many queries B is better than A, equal, and worse.
function tally(m, a, b) {
  const d = differences(m, a, b);
  const sign = report.measures[m].better === "lower" ? -1 : 1;
  const wins = d.reduce((n, x) => n + (sign * x > 0), 0),
    losses = d.reduce((n, x) => n + (sign * x < 0), 0);
  return { wins, losses, ties: d.length - wins - losses };
}

// Every query's difference, sorted: who wins how often, and by how much.
function waterfall(state) {
  const { m, a, b } = state;
  const d = differences(m, a, b);
  const order = Array.from(d.keys()).sort((i, j) => d[j] - d[i]);
  const [low, high] = [Math.min(d[order[order.length - 1]], 0), Math.max(d[order[0]], 0)];
  const ends = high > low ? [low, high] : [-1, 1];
  const counts = tally(m, a, b);
  const [above, below] = word(m, 1) === "worse" ? [counts.losses, counts.wins] : [counts.wins, counts.losses];
  const mean = d.reduce((x, y) => x + y, 0) / d.length;
  return card({
    title: isSample ? "Difference on single queries" : "Difference on every query",
    note: `${isSample ? `A random sample of ${whole(d.length)} queries. ` : ""}${measures[m]}, ${systems[b]} − ${systems[a]}, sorted. Above the line, ${systems[b]} is ${word(m, 1)}.`,
    shown: [a, b],
    draw(width) {
      const plot = canvas(
        width,
        270,
        [26, 12, 24, 46],
        `Differences of ${d.length} queries, from ${signed(d[order[0]])} to ${signed(d[order[order.length - 1]])}`,
      );
      const y = linear(ends, [plot.h, 0]);
      const x = linear([0, order.length], [0, plot.w]);
      yAxis(plot, y, ticks(...ends, 4), "difference", (v) => (v > 0 ? "+" : "") + short(v));
      for (const [system, sign] of [
        [b, 1],
        [a, -1],
      ]) {
        const member = (i) => (d[order[i]] * sign > 0 ? d[order[i]] : 0);
        const points = order.flatMap((_, i) => [
          [x(i), y(member(i))],
          [x(i + 1), y(member(i))],
        ]);
        plot.inside.append(
          svg("path", { class: `bars ${look(system)}`, d: `${path([[0, y(0)], ...points, [plot.w, y(0)]])}Z` }),
        );
      }
      plot.inside.append(svg("line", { class: "zero", x1: 0, x2: plot.w, y1: y(0), y2: y(0) }));
      plot.inside.append(
        svg("line", { class: "mean", x1: 0, x2: plot.w, y1: y(mean), y2: y(mean) }),
        mean < 0 // where no bars are
          ? svg("text", { class: "direct", x: 2, y: y(mean) + 15, text: `${isSample ? "mean of these" : "mean"} ${signed(mean)}` })
          : svg("text", {
              class: "direct",
              x: plot.w,
              y: y(mean) - 6,
              "text-anchor": "end",
              text: `${isSample ? "mean of these" : "mean"} ${signed(mean)}`,
            }),
        svg("text", { class: "direct", x: 2, y: plot.h + 18, text: `${whole(above)} ${word(m, 1)}` }),
        svg("text", {
          class: "direct",
          x: plot.w / 2,
          y: plot.h + 18,
          "text-anchor": "middle",
          text: `${whole(counts.ties)} equal`,
        }),
        svg("text", {
          class: "direct",
          x: plot.w - 2,
          y: plot.h + 18,
          "text-anchor": "end",
          text: `${whole(below)} ${word(m, -1)}`,
        }),
      );
      const at = (event) =>
        order[Math.min(Math.floor(((event.offsetX - 46) / plot.w) * order.length), order.length - 1)];
      plot.inside.append(
        svg("rect", {
          class: "catch",
          width: plot.w,
          height: plot.h,
          onpointermove(event) {
            const i = at(event);
            if (i !== undefined)
              tip.show(
                event,
                namedQuery(i),
                `${signed(d[i])} (${show(model.values[m][a][i])} → ${show(model.values[m][b][i])})`,
              );
          },
          onpointerleave: tip.hide,
          onclick(event) {
            const i = at(event);
            if (i !== undefined) openQuery(i);
          },
        }),
      );
      return plot.root;
    },
  });
}

// A against B, one point per query; queries at the same place as one larger point, very many as squares.
function scatter(state) {
  const { m, a, b } = state;
  const [u, v] = [model.values[m][a], model.values[m][b]];
  const low = v.reduce(
    (x, y) => Math.min(x, y),
    u.reduce((x, y) => Math.min(x, y), 0),
  );
  const high = v.reduce(
    (x, y) => Math.max(x, y),
    u.reduce((x, y) => Math.max(x, y), low + 1e-9),
  );
  return card({
    title: "A against B",
    note: `${isSample ? `A random sample of ${whole(u.length)} queries. ` : ""}${measures[m]}, one point per query; where several coincide, the point is larger. Above the diagonal, ${systems[b]} is ${word(m, 1)}.`,
    draw(width) {
      const size = Math.min(width, 420);
      const plot = canvas(
        size,
        size * 0.86,
        [26, 14, 44, 46],
        `${systems[b]} against ${systems[a]} on ${u.length} queries`,
      );
      const x = linear([low, high], [0, plot.w]),
        y = linear([low, high], [plot.h, 0]);
      yAxis(plot, y, ticks(low, high), `B: ${systems[b]}`);
      xAxis(plot, x, ticks(low, high), `A: ${systems[a]}`);
      plot.inside.append(svg("line", { class: "zero", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }));
      const side = (i) => (v[i] > u[i] ? look(b) : v[i] < u[i] ? look(a) : "even");
      if (u.length <= POINTS) {
        for (const [i, ...others] of spots(u, v)) {
          const more = others.length ? ` and ${plural(others.length, "other query", "other queries")}` : "";
          plot.inside.append(
            svg("circle", {
              class: `point ${side(i)}`,
              cx: x(u[i]),
              cy: y(v[i]),
              r: 3.6 * Math.min(Math.sqrt(others.length + 1), 3.6), // its area is their number, as far as there is room
              "data-queries": others.length + 1,
              onpointermove: (event) => tip.show(event, namedQuery(i) + more, `${show(u[i])} → ${show(v[i])}`),
              onpointerleave: tip.hide,
              onclick: () => openQuery(i),
            }),
          );
        }
      } else {
        plot.inside.append(...density(u, v, x, y, low, high, side));
      }
      return plot.root;
    },
  });
}

// The queries that stand at the same place, the largest crowds first, so that small ones are drawn over them.
function spots(u, v) {
  const found = new Map();
  for (let i = 0; i < u.length; i++) {
    const key = `${u[i]} ${v[i]}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(i);
  }
  return [...found.values()].sort((p, q) => q.length - p.length);
}

function density(u, v, x, y, low, high, side) {
  const CELLS = 32;
  const cells = new Map();
  const cell = (value) => Math.min(Math.floor(((value - low) / (high - low)) * CELLS), CELLS - 1);
  for (let i = 0; i < u.length; i++) {
    const key = `${cell(u[i])} ${cell(v[i])} ${side(i)}`;
    cells.set(key, (cells.get(key) ?? 0) + 1);
  }
  const most = Math.max(...cells.values());
  const step = Math.abs(x(high) - x(low)) / CELLS,
    rise = Math.abs(y(high) - y(low)) / CELLS;
  return [...cells].map(([key, n]) => {
    const [i, j, kind] = key.split(" ");
    const share = Math.max(Math.sqrt(n / most), 0.12);
    return svg("rect", {
      class: `point ${kind}`,
      width: step * share,
      height: rise * share,
      x: x(low) + (Number(i) + (1 - share) / 2) * step,
      y: y(low) - (Number(j) + 1 - (1 - share) / 2) * rise,
      onpointermove: (event) => tip.show(event, plural(n, "query", "queries")),
      onpointerleave: tip.hide,
    });
  });
}
