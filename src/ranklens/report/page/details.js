// ---------------------------------------------------------------------------------------------------------------------
// Slices, latency and status, trust, definitions.

function drawSlices(state) {
  const section = byId("slices");
  section.hidden = !report.slices.length;
  if (section.hidden) return;
  const measure = measures[state.m];
  const order = withLines(
    state,
    ranked(measure).map((r) => systems.indexOf(r.system)),
  );
  const better = report.measures[state.m].better;
  const best = (part) => Math[better === "lower" ? "min" : "max"](...part.results[measure].map((r) => r.mean));
  const head = [
    th("Slice"),
    th("Queries", { class: "num" }),
    ...order.map((s) => th(named(s), { class: "num" })),
    ...(state.b === null ? [] : [th("B − A", { class: "num" })]),
  ];
  const rows = report.slices.map((part) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, said(part.name)),
      num(whole(part.n)),
      order.map((s) => {
        const r = result(measure, systems[s], part);
        return meanCell(state.m, r, r.mean === best(part) && order.length > 1 && better !== "neither");
      }),
      state.b === null
        ? ""
        : difference(state.m, pair(measure, systems[state.a], systems[state.b], part), false, () =>
            untested(state.m, state.a, state.b, part), part,
          ),
    ),
  );
  const macro = el(
    "tr",
    {},
    el("th", { scope: "row", text: "macro-average" }),
    num(""),
    order.map((s) => {
      const r = report.macro[measure].find((row) => row.system === systems[s]);
      return r ? meanCell(state.m, r) : num("–");
    }),
    state.b === null ? "" : td(""),
  );
  renew(
    body(section.id),
    report.measures[state.m].slice_verdict
      ? el("p", { class: "reasons", dir: "auto", text: sentence(report.measures[state.m].slice_verdict) })
      : "",
    sliceChart(measure, order),
    table(`${measure} by slice`, head, [...rows, macro]),
  );
}

const meanCell = (m, r, strong) =>
  el(
    "td",
    { class: "num" },
    el("span", { class: strong ? "strong" : "", text: amount(m, r.mean) }),
    el("small", { class: "muted", text: isCount(m) ? "" : range(r.low, r.high, 3) }),
  );

function sliceChart(measure, order) {
  const rows = report.slices.flatMap((part) => order.map((s) => result(measure, systems[s], part)));
  const ends = [Math.min(...rows.map((r) => r.low ?? r.mean)), Math.max(...rows.map((r) => r.high ?? r.mean))];
  const step = 17;
  return card({
    title: `${measure} by slice`,
    note: "Means and their intervals.",
    shown: order,
    draw(width) {
      const height = report.slices.length * (order.length * step + 30);
      const plot = canvas(width, height + 44, [2, 14, 40, 8], `${measure} by slice`);
      const x = linear([ends[0] - 0.02, ends[1] + 0.02], [0, plot.w]);
      for (const v of ticks(...ends)) {
        plot.inside.append(
          svg("line", { class: "gridline", x1: x(v), x2: x(v), y1: 0, y2: height }),
          svg("text", { class: "tick", x: x(v), y: height + 18, "text-anchor": "middle", text: short(v) }),
        );
      }
      report.slices.forEach((part, row) => {
        const top = row * (order.length * step + 30) + 18;
        plot.inside.append(label(`${part.name} (${whole(part.n)})`, plot.w, { x: 0, y: top - 2 }));
        order.forEach((s, i) => {
          const r = result(measure, systems[s], part),
            y = top + 12 + i * step;
          plot.inside.append(
            svg("line", {
              class: `whisker ${look(s)}`,
              x1: x(r.low ?? ends[0]),
              x2: x(r.high ?? ends[1]),
              y1: y,
              y2: y,
            }),
            marker(s, x(r.mean), y, 5),
          );
        });
      });
      return plot.root;
    },
  });
}

function drawSpeed() {
  const section = byId("speed");
  const spent = Object.keys(report.spent);
  section.hidden = !report.latency && !report.status && !spent.length;
  if (section.hidden) return;
  const inAll = (amount) => amount.toLocaleString("en", { maximumSignificantDigits: 6 });
  const shares = ["p50", "p90", "p95", "p99", "mean"];
  const kinds = report.status ? [...new Set(Object.values(report.status).flatMap(Object.keys))] : [];
  const head = [
    th("System"),
    ...kinds.map((k) => th(k, { class: "num" })),
    ...(report.latency ? shares.map((p) => th(p, { class: "num" })) : []),
    ...spent.map((what) => th(what, { class: "num" })),
  ];
  const rows = systems.map((name, s) => {
    const time = report.latency?.systems[name],
      status = report.status?.[name];
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, named(s)),
      kinds.map((k) =>
        num(status ? whole(status[k] ?? 0) : "–", { class: k === "failed" && status?.[k] ? "alarm" : "" }),
      ),
      report.latency ? shares.map((p) => num(time ? seconds(time[p]) : "–")) : "",
      spent.map((what) => num(name in report.spent[what] ? inAll(report.spent[what][name]) : "–")),
    );
  });
  renew(
    body(section.id),
    table("Latency and status by system", head, rows),
    el("p", {
      class: "muted note",
      text: "Time per query, over answered queries. An empty answer counts as 0; so does a failed one, unless the policy says otherwise.",
    }),
  );
}

// Between which values each mean lies, whatever the grades of unjudged documents.
function boundsTable(measure, m) {
  const found = report.bounds[measure];
  if (!found) return "";
  const all = Object.values(found.systems).flat();
  const x = linear([Math.min(...all), Math.max(...all, Math.min(...all) + 1e-9)], [1, 99]);
  const bar = ([low, high], mean) =>
    svg(
      "svg",
      { class: "interval", width: "100%", height: 22, role: "img", "aria-label": `from ${show(low)} to ${show(high)}` },
      svg("line", { class: "track", x1: "0%", x2: "100%", y1: 11, y2: 11 }),
      svg("rect", { class: "difference", x: `${x(low).toFixed(2)}%`, width: `${Math.max(x(high) - x(low), 0.5).toFixed(2)}%`, y: 7, height: 8, rx: 4 }),
      svg("line", { class: "zero", x1: `${x(mean).toFixed(2)}%`, x2: `${x(mean).toFixed(2)}%`, y1: 1, y2: 21 }),
    );
  return table(
    `What unjudged documents leave open, ${measure}`,
    [th("System"), th("Lowest", { class: "num" }), th("Highest", { class: "num" }), th("Range, and the mean as it is")],
    ranked(measure).map((r) => {
      const ends = found.systems[r.system];
      return el(
        "tr",
        {},
        el("th", { scope: "row" }, named(systems.indexOf(r.system))),
        num(amount(m, ends[0])),
        num(amount(m, ends[1])),
        el("td", {}, bar(ends, r.mean)),
      );
    }),
  );
}

function drawTrust(state) {
  const measure = measures[state.m];
  const asked = report.crowd ? [state.a, state.b].filter((s) => s !== null).map((s) => systems[s]) : systems;
  const known = asked.filter((name) => report.trust[name]);
  const cutoffs = known.length ? report.trust[known[0]].cutoffs.map((c) => c.k) : [];
  const facts = [];
  const p = state.b === null ? null : pair(measure, systems[state.a], systems[state.b]);
  if (p && p.detectable !== null) {
    const unseen = !p.significant && Math.abs(p.difference) < p.detectable;
    facts.push(
      `With ${plural(p.n, "query", "queries")}, a difference in ${measure} of ${isFactor(state.m) ? gap(state.m, p.detectable) : show(p.detectable)} between A and B would be found four times out of five. The one measured is ${gap(state.m, p.difference)}${unseen ? ", which is smaller: do not read “no difference shown” as “no difference”." : "."}`,
    );
  }
  const influence = report.measures[state.m].influence;
  if (influence) facts.push(influence);
  const undecided = report.bounds[measure]?.open;
  if (undecided) facts.push(`${measure}: ${undecided}`);
  if (!report.documents)
    facts.push(
      "This report was made from per-query values. It has no rankings and no judgments, so it cannot say how many documents were judged.",
    );
  const rows = [
    ["Queries averaged", (t) => whole(t.queries)],
    ["Judged queries missing from the run", (t) => whole(t.missing), (t) => t.missing],
    ["Queries without an answer", (t) => whole(t.empty), (t) => t.empty],
    ...(report.status
      ? [
          [
            "Queries that failed",
            (_, name) => whole(report.status[name]?.failed ?? 0),
            (_, name) => report.status[name]?.failed,
          ],
        ]
      : []),
    ["Unjudged queries, ignored", (t) => whole(t.ignored)],
    ["Queries without a relevant document", (t) => whole(t.without_relevant)],
    ["Repeated documents dropped", (t) => whole(t.duplicates), (t) => t.duplicates],
    ["Repeated judgments dropped", (t) => whole(t.duplicate_judgments), (t) => t.duplicate_judgments],
    ...cutoffs.flatMap((k, i) => [
      [
        `Judged in the first ${k}`,
        (t) => percent(t.cutoffs[i].judged),
        (t) => t.cutoffs[i].judged !== null && t.cutoffs[i].judged < 0.8,
      ],
      [`Queries with holes in the first ${k}`, (t) => whole(t.cutoffs[i].with_holes)],
      [
        `Queries with ties across rank ${k}`,
        (t) => (t.cutoffs[i].tied === null ? "–" : whole(t.cutoffs[i].tied)),
        (t) => t.cutoffs[i].tied,
      ],
    ]),
  ];
  renew(
    body("trust"),
    report.cautions.length || facts.length
      ? el(
          "ul",
          { class: "cautions" },
          report.cautions.map((text) => el("li", { class: "caution" }, said(text))),
          facts.map((text) => el("li", {}, said(text))),
        )
      : el("p", { text: "Nothing to report." }),
    known.length
      ? table(
          "What was counted, by system",
          [th(hidden("What")), ...known.map((name) => th(named(systems.indexOf(name)), { class: "num" }))],
          rows.map(([label, value, alarm]) =>
            el(
              "tr",
              {},
              el("th", { scope: "row", text: label }),
              known.map((name) =>
                num(value(report.trust[name], name), { class: alarm?.(report.trust[name], name) ? "alarm" : "" }),
              ),
            ),
          ),
        )
      : "",
    boundsTable(measure, state.m),
    el("p", {
      class: "muted note",
      text: known.length
        ? (report.crowd ? "The table is about A and B, the cautions about all systems. " : "") +
          "A hole is an unjudged document: it counts as not relevant, so a system that finds new documents may look worse than it is. A tie across a cutoff means that the value depends on how ties are broken."
        : "",
    }),
  );
}

function drawDefinitions() {
  const limits = ([low, high]) => `${low === null ? "−∞" : short(low)} to ${high === null ? "∞" : short(high)}`;
  renew(
    body("definitions"),
    el(
      "dl",
      { class: "definitions" },
      report.measures.flatMap((m) => [
        el("dt", {}, el("code", { text: m.name })),
        el(
          "dd",
          {},
          m.definition.map((paragraph) => el("p", { text: paragraph })),
          el("p", {
            class: "muted",
            text: [
              ...Object.entries(m.parameters).map(([k, v]) => `${k} = ${v}`),
              `from ${limits(m.range)}`,
              AGGREGATES[m.aggregate] ?? m.aggregate,
            ].join(" · "),
          }),
        ),
      ]),
    ),
    el(
      "div",
      { class: "columns" },
      facts("Policy: how open questions were settled", report.policy),
      facts("Statistics", report.statistics),
    ),
  );
}

const AGGREGATES = {
  mean: "mean over queries",
  sum: "sum over queries",
  geometric: "geometric mean over queries",
};

const facts = (title, rows) =>
  rows.length
    ? el(
        "div",
        {},
        el("h3", { text: title }),
        el(
          "table",
          { class: "facts" },
          el(
            "tbody",
            {},
            rows.map(([key, value]) => el("tr", {}, el("th", { scope: "row", text: key }), td(value))),
          ),
        ),
      )
    : "";
