// ---------------------------------------------------------------------------------------------------------------------
// What comes first: the verdict, the leaderboard, every pair.

function drawVerdict(state) {
  const measure = measures[state.m];
  const best = ranked(measure)[0];
  const tiles = [
    tile(BEST[report.measures[state.m].aggregate], amount(state.m, best.mean), [
      named(systems.indexOf(best.system)),
      best.low === null && best.high === null ? "" : ` ${range(best.low, best.high)}`,
    ]),
  ];
  if (state.b === null)
    tiles.push(
      tile("Queries", whole(best.n), [best.n === 1 ? "one query says nothing about others" : "averaged over"]),
    );
  else tiles.push(...pairTiles(state));
  const cautions = report.cautions.length;
  renew(
    body("verdict"),
    ...spoken(report.measures[state.m].verdict),
    report.conclusion ? el("p", { class: "reasons", dir: "auto", text: report.conclusion }) : "",
    el("div", { class: "tiles" }, tiles),
    cautions
      ? el(
          "p",
          {},
          el("a", {
            class: "caution",
            href: "#trust",
            text: `Before you rely on this: ${plural(cautions, "caution")}`,
          }),
        )
      : "",
  );
}

// The claim large, the reasons as text.
function spoken({ claim, reasons }) {
  return [
    el("p", { class: "verdict", dir: "auto", text: `${claim}.` }),
    reasons ? el("p", { class: "reasons", dir: "auto", text: sentence(reasons) }) : "",
  ];
}

const BEST = { mean: "Best mean", sum: "Largest sum", geometric: "Best geometric mean" };

function pairTiles(state) {
  const { m, a, b } = state;
  const p = pair(measures[m], systems[a], systems[b]);
  const label = `B against A: ${systems[b]} − ${systems[a]}`;
  const counts = p ?? (model.values && !isSample ? tally(m, a, b) : null);
  return [
    p
      ? tile(
          label,
          gap(m, p.difference),
          [
            `${gapRange(m, p)}, `,
            el("span", { class: "together", text: `adjusted ${chance(p.adjusted_p)}` }),
            ...marginParts(p),
            p.open ? el("div", { class: "decision", text: "Open: unjudged documents could reverse their order" }) : "",
          ],
          p.significant ? "strong" : "",
        )
      : tile(label, gap(m, untested(m, a, b)), [noPair(m)]),
    counts
      ? tile(`Queries where B is ${report.measures[m].better === "neither" ? "higher : lower" : "better : worse"}`, `${whole(counts.wins)} : ${whole(counts.losses)}`, [
          balance(state, counts),
        ])
      : "",
    p && p.detectable !== null
      ? tile("Smallest detectable difference", isFactor(m) ? gap(m, p.detectable) : show(p.detectable), [
          `with ${plural(p.n, "query", "queries")}, at 80% power`,
        ])
      : "",
  ];
}

const tile = (label, value, below, extra = "") =>
  el(
    "div",
    { class: `tile ${extra}` },
    said(label, "div", { class: "label" }),
    el("div", { class: "value", text: value }),
    el("div", { class: "below muted" }, below),
  );

// What the margin decides, and the interval of the difference over the margin as a band.
function marginParts(p) {
  if (!p.margin) return [];
  const ends = [p.low ?? p.difference, p.high ?? p.difference, -p.margin, p.margin];
  const reach = 1.1 * Math.max(...ends.map(Math.abs));
  const x = linear([-reach, reach], [0, 100]);
  const at = (value) => `${x(value).toFixed(2)}%`;
  const width = (from, to) => `${Math.max(x(to) - x(from), 0).toFixed(2)}%`;
  const label = `B is ${p.decision}, up to the margin of ${p.margin_text}`;
  return [
    el("div", { class: "decision", text: label }),
    svg(
      "svg",
      { class: "interval", width: "100%", height: 22, role: "img", "aria-label": "the interval of the difference and the margin" },
      svg("rect", { class: "margin", x: at(-p.margin), width: width(-p.margin, p.margin), y: 1, height: 20 }),
      svg("line", { class: "track", x1: "0%", x2: "100%", y1: 11, y2: 11 }),
      svg("line", { class: "zero", x1: at(0), x2: at(0), y1: 1, y2: 21 }),
      svg("rect", { class: "difference", x: at(ends[0]), width: width(ends[0], ends[1]), y: 7, height: 8, rx: 4 }),
    ),
  ];
}

// Wins, ties and losses as one bar.
function balance(state, p) {
  const part = (n, kind) => (n ? el("span", { class: `part ${kind}`, "--share": n }) : null);
  return el(
    "span",
    {
      class: "balance",
      role: "img",
      "aria-label": `B wins ${p.wins} queries, ties on ${p.ties} and loses ${p.losses}`,
    },
    part(p.wins, look(state.b)),
    part(p.ties, "even"),
    part(p.losses, look(state.a)),
  );
}

function drawLeaderboard(state) {
  const measure = measures[state.m];
  const place = prepareLeaderboard();
  const rows = onBoard(measure);
  const ends = rows.flatMap((r) => [r.low ?? r.mean, r.high ?? r.mean]);
  const low = ends.length ? Math.min(...ends) : 0,
    high = ends.length ? Math.max(...ends) : 1;
  const pad = (high - low) * 0.06 || 0.01;
  const others = measures.filter((name) => name !== measure);
  const level = `${Number((100 * report.level).toPrecision(4))}% interval`;
  const against = report.baseline !== null;
  const grouped = rows.some((r) => r.group);
  const head = [
    ...(grouped ? [th(hidden("Group"), { class: "group" })] : []),
    ...(report.crowd ? [th("#", { class: "num" })] : []),
    th("System"),
    ...(report.teams ? [th("Team", { class: "roomy" })] : []),
    th(measure, { class: "num" }),
    th(level, { class: "bar-cell" }),
    th(hidden("Interval"), { class: "num roomy" }),
    ...(against ? [th(["against ", said(report.baseline)], { class: "num" })] : []),
    ...others.map((name) => th(name, { class: "num roomy" })),
  ];
  const lines = rows.map((r) => {
    const s = r.s;
    const p = against && r.system !== report.baseline ? pair(measure, report.baseline, r.system) : null;
    return el(
      "tr",
      { class: [s === state.a ? "is-a" : "", s === state.b ? "is-b" : ""].join(" ") },
      ...(grouped ? [td(r.group ? el("span", { class: "letters", text: r.group }) : "", { class: "group" })] : []),
      ...(report.crowd ? [num(whole(r.place), { class: "muted" })] : []),
      el("th", { scope: "row" }, named(s), tag(state, s), report.crowd ? pickers(state, s) : null),
      ...(report.teams ? [td(said(teamOf(s)), { class: "roomy muted" })] : []),
      num(amount(state.m, r.mean), { class: "strong", "data-value": r.mean }),
      td(isCount(state.m) ? "" : intervalBar(s, r, low - pad, high + pad), { class: "bar-cell" }),
      num(isCount(state.m) ? "" : range(r.low, r.high), { class: "muted roomy" }),
      ...(against
        ? [
            difference(state.m, p, r.system === report.baseline, () =>
              untested(state.m, systems.indexOf(report.baseline), s),
            ),
          ]
        : []),
      ...others.map((name) => num(amount(measures.indexOf(name), result(name, r.system).mean), { class: "roomy" })),
    );
  });
  renew(
    place,
    lines.length
      ? table(`Leaderboard by ${measure}`, head, lines, { class: "leaderboard" })
      : el("p", { class: "empty", text: "No system matches. Change the search or the filters." }),
    el("p", { class: "muted note", text: explainGroups(ranked(measure)) }),
  );
}

// Buttons to make a system A or B, where the lists to choose from are long.
const pickers = (state, s) =>
  el(
    "span",
    { class: "pickers" },
    ["a", "b"]
      .filter((side) => s !== state.a && s !== state.b)
      .map((side) =>
        el("button", {
          type: "button",
          class: "quiet",
          text: side.toUpperCase(),
          "aria-label": `Show ${systems[s]} as ${side.toUpperCase()}`,
          title: `Show as ${side.toUpperCase()}`,
          onclick: () => choose({ [side]: s }),
        }),
      ),
  );

const STAR = "★ marks a significant difference.";
const explainGroups = (rows) =>
  rows.length < 2
    ? ""
    : rows.some((r) => r.group)
      ? `Systems that share a letter do not differ significantly on these queries. ${STAR}`
      : report.baseline === null
        ? ""
        : rows.length > 2
          ? `${STAR} Only pairs with ${report.baseline} were tested.`
          : STAR;

const tag = (state, s) =>
  state.b === null
    ? null
    : s === state.a
      ? el("span", { class: "tag", text: "A" })
      : s === state.b
        ? el("span", { class: "tag", text: "B" })
        : null;

// A cell with a difference: coloured and starred if it is significant.
function difference(m, p, isBaseline, bare, part = report) {
  if (isBaseline) return td("baseline", { class: "num muted" });
  if (!p)
    return el("td", { class: "num muted" }, el("span", { text: gap(m, bare()) }), el("small", { text: noPair(m, part) }));
  return el(
    "td",
    { class: `num ${shade(m, p)}` },
    el("span", { text: starred(m, p) }),
    el("small", { class: "muted", text: chance(p.adjusted_p) }),
  );
}

const starred = (m, p, digits = 4) => `${gap(m, p.difference, digits)}${p.significant ? " ★" : ""}`;
const shade = (m, p) => (!p.significant || report.measures[m].better === "neither" ? "" : word(m, p.difference));

function intervalBar(s, r, low, high) {
  const x = linear([low, high], [0, 100]);
  const at = (value) => `${x(value).toFixed(2)}%`;
  const [from, to] = [r.low ?? low, r.high ?? high];
  return svg(
    "svg",
    {
      class: "interval",
      width: "100%",
      height: 22,
      role: "img",
      "aria-label": `from ${show(r.low)} to ${show(r.high)}`,
    },
    svg("line", { class: "track", x1: "0%", x2: "100%", y1: 11, y2: 11 }),
    svg("rect", {
      class: `reach ${look(s)}`,
      x: at(from),
      width: `${Math.max(x(to) - x(from), 0).toFixed(2)}%`,
      y: 7,
      height: 8,
      rx: 4,
    }),
    svg("svg", { x: at(r.mean), overflow: "visible" }, marker(s, 0, 11, 5)),
  );
}

function drawPairs(state) {
  const section = byId("pairs");
  const m = state.m,
    measure = measures[m];
  section.hidden = systems.length < 2 || (Boolean(report.crowd) && (report.baseline !== null || isCount(m)));
  if (section.hidden) return;
  if (report.crowd) return drawHeatMap(state);
  const order = ranked(measure).map((r) => systems.indexOf(r.system));
  const cell = (row, column) => {
    if (row === column) return td("", { class: "self" });
    const p = pair(measure, systems[column], systems[row]);
    const shown = p ? starred(m, p, 3) : gap(m, untested(m, column, row), 3);
    const chances = p ? chance(p.adjusted_p) : "not tested";
    return td(
      el(
        "button",
        { type: "button", class: "quiet", onclick: () => choose({ a: column, b: row }) },
        hidden(`${systems[row]} against ${systems[column]}: `),
        el("span", { text: shown }),
        el("small", { text: chances }),
        hidden(". Show as B and A"),
      ),
      { class: `num ${p ? shade(m, p) : "muted"}${row === state.b && column === state.a ? " chosen" : ""}` },
    );
  };
  const head = [
    th(hidden("System")),
    ...order.map((s, i) => th([swatch(s), hidden(systems[s]), ` ${i + 1}`], { title: systems[s] })),
  ];
  const rows = order.map((row, i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, `${i + 1} `, named(row)),
      order.map((column) => cell(row, column)),
    ),
  );
  const shown = [
    table(`Differences in ${measure}: the row's system against the column's`, head, rows, { class: "matrix" }),
    el("p", {
      class: "muted note",
      text: `${measure}: the row’s system against the column’s, with adjusted p-values. Colour and ★ mark significant differences. Click a cell to show its pair as B (row) and A (column) on the whole page.`,
    }),
  ];
  // The one pair of two systems is described above; here it is seen from both sides.
  const folded = section.querySelector("details");
  const isOpen = folded !== null && folded.open;
  renew(
    body(section.id),
    ...(systems.length > 2 ? shown : [el("details", { open: isOpen }, el("summary", { text: "Show the pair" }), shown)]),
  );
}
