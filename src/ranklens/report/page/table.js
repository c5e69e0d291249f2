// ---------------------------------------------------------------------------------------------------------------------
// The table of queries: search, filter, sort, page.

const PAGE = 50;
const list = { words: [], slice: "", outcome: "all", limit: 0.5, key: "change", direction: -1, page: 0, order: [] };

// What to show, and whether the values of A and B and the number of the query say so. Of one system, A is also B.
const OUTCOMES = {
  all: ["all queries", () => true],
  different: ["A and B differ", (a, b) => a !== b],
  above: ["B is higher", (a, b) => b > a],
  below: ["A is higher", (a, b) => b < a],
  equal: ["A and B are equal", (a, b) => a === b],
  zero_a: ["A is 0", (a) => a === 0],
  zero_b: ["B is 0", (_, b) => b === 0],
  low_a: ["A is below …", (a) => a < list.limit],
  low_b: ["B is below …", (_, b) => b < list.limit],
  failed: ["A or B failed", (_, __, i) => hasFailed(state.a, i) || hasFailed(state.b, i)],
};
const SINGLE = {
  all: OUTCOMES.all,
  zero_a: ["value is 0", (a) => a === 0],
  some: ["value is above 0", (a) => a > 0],
  low_a: ["value is below …", (a) => a < list.limit],
  failed: ["failed", (_, __, i) => hasFailed(state.a, i)],
};

const failure = (s, i) => report.errors[systems[s]]?.[model.ids[i]];
const hasFailed = (s, i) => failure(s, i) !== undefined;

// Only what can be found: where nothing failed, the filter is hidden.
function outcomesFor(state) {
  const known = Object.entries(state.b === null ? SINGLE : OUTCOMES);
  const anyFailed = Object.values(report.errors).some((found) => Object.keys(found).length);
  return known.filter(([key]) => key !== "failed" || anyFailed);
}

function prepareTable(state) {
  const place = body("queries");
  if (place.children.length) return;
  let waiting = 0;
  const filters = el(
    "form",
    { class: "filters", role: "search", autocomplete: "off", onsubmit: (event) => event.preventDefault() },
    el(
      "label",
      {},
      "Search ",
      el("input", {
        type: "search",
        id: "search",
        placeholder: model.texts ? "query text or id" : "query id",
        oninput(event) {
          clearTimeout(waiting);
          waiting = setTimeout(
            () => narrow({ words: event.target.value.toLowerCase().split(/\s+/).filter(Boolean) }),
            80,
          );
        },
      }),
    ),
    model.slices
      ? el(
          "label",
          {},
          "Slice ",
          select("slice", [["", "all"], ...report.slices.map((part, i) => [String(i), part.name])], (slice) =>
            narrow({ slice }),
          ),
        )
      : null,
    el(
      "label",
      {},
      "Show ",
      select(
        "outcome",
        outcomesFor(state).map(([key, [label]]) => [key, label]),
        (outcome) => {
          byId("limit").hidden = !outcome.startsWith("low_");
          narrow({ outcome });
        },
      ),
      el("input", {
        type: "number",
        id: "limit",
        step: "any",
        value: list.limit,
        hidden: true,
        "aria-label": "Below this value",
        oninput: (event) => narrow({ limit: event.target.valueAsNumber }),
      }),
    ),
    el("p", { id: "found", class: "muted", role: "status" }),
  );
  place.append(...(isSample ? [el("p", { class: "sample muted", text: sampleNote })] : []), filters, el("div", { id: "rows" }), el("div", { id: "pages", class: "pages" }));
}

const select = (id, choices, onpick) =>
  el(
    "select",
    { id, onchange: (event) => onpick(event.target.value) },
    choices.map(([value, text]) => el("option", { value, text })),
  );

function narrow(change) {
  Object.assign(list, change, { page: 0 });
  drawTable(state);
}

// The numbers of the queries that pass the filters, in order.
function matching({ m, a, b }) {
  const u = model.values[m][a],
    v = b === null ? u : model.values[m][b];
  const outcome = (b === null ? SINGLE : OUTCOMES)[list.outcome]?.[1] ?? OUTCOMES.all[1];
  const text = (i) => `${model.ids[i]} ${model.texts?.[i] ?? ""}`.toLowerCase();
  const keep = model.ids
    .map((_, i) => i)
    .filter(
      (i) =>
        outcome(u[i], v[i], i) &&
        (list.slice === "" || model.slices[i] === Number(list.slice)) &&
        (!list.words.length || list.words.every((word) => text(i).includes(word))),
    );
  const keys = {
    change: (i) => Math.abs(v[i] - u[i]),
    difference: (i) => v[i] - u[i],
    a: (i) => u[i],
    b: (i) => v[i],
    slice: (i) => model.slices[i],
    query: (i) => i,
  };
  const key = keys[list.key];
  return keep.sort((i, j) => (key(i) - key(j)) * list.direction || i - j);
}

const SORTS = {
  difference: [
    ["change", -1],
    ["difference", -1],
    ["difference", 1],
  ],
};

// A heading that sorts; the difference sorts by size first, then by sign.
function sortable(key, content, props = {}) {
  const ways =
    SORTS[key] ??
    (key === "query" || key === "slice"
      ? [
          [key, 1],
          [key, -1],
        ]
      : [
          [key, -1],
          [key, 1],
        ]);
  const now = ways.findIndex(([k, d]) => k === list.key && d === list.direction);
  const sort = now < 0 ? null : ways[now][0] === "change" ? "other" : ways[now][1] > 0 ? "ascending" : "descending";
  const sign = { other: "⇅", ascending: "↑", descending: "↓" }[sort] ?? "";
  const [next, direction] = ways[(now + 1) % ways.length];
  return th(
    el(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-sort": key,
        onclick() {
          narrow({ key: next, direction });
          byId("rows").querySelector(`[data-sort="${key}"]`).focus();
        },
      },
      content,
      el("span", { class: "sign", "aria-hidden": true, text: sign }),
    ),
    { ...props, "aria-sort": sort },
  );
}

function drawTable(state) {
  prepareTable(state);
  const { m, a, b } = state;
  list.order = matching(state);
  const last = Math.max(Math.ceil(list.order.length / PAGE) - 1, 0);
  list.page = Math.min(list.page, last);
  const shown = list.order.slice(list.page * PAGE, (list.page + 1) * PAGE);
  const u = model.values[m][a],
    v = b === null ? null : model.values[m][b];
  const most = v ? u.reduce((x, y, i) => Math.max(x, Math.abs(v[i] - y)), 1e-9) : 1;
  const head = [
    sortable("query", "Query"),
    model.slices ? sortable("slice", "Slice", { class: "roomy" }) : null,
    sortable("a", b === null ? [measures[m]] : ["A ", swatch(a)], {
      class: `num${b === null ? "" : " roomy"}`,
      title: systems[a],
    }),
    ...(b === null
      ? []
      : [
          sortable("b", ["B ", swatch(b)], { class: "num roomy", title: systems[b] }),
          sortable("difference", "B − A", { class: "num" }),
          th(hidden("Difference as a bar"), { class: "bar-cell" }),
        ]),
  ].filter(Boolean);
  const rows = shown.map((i) => {
    const d = v ? v[i] - u[i] : 0;
    return el(
      "tr",
      {},
      el("th", { scope: "row", class: "query-cell" }, queryLink(i)),
      model.slices ? td(said(report.slices[model.slices[i]]?.name ?? ""), { class: "roomy muted" }) : null,
      num(amount(m, u[i]), { class: v ? "roomy" : "", "data-value": u[i] }),
      v
        ? [
            num(amount(m, v[i]), { class: "roomy", "data-value": v[i] }),
            el(
              "td",
              { class: "num strong", "data-value": d },
              el("span", { text: d ? (isCount(m) ? gap(m, d) : signed(d)) : "0" }),
              el("small", { class: "muted tight", text: `${amount(m, u[i], 2)} → ${amount(m, v[i], 2)}` }),
            ),
            td(differenceBar(d, most, a, b), { class: "bar-cell" }),
          ]
        : null,
    );
  });
  renew(
    byId("rows"),
    rows.length
      ? table(`Queries by ${measures[m]}`, head, rows, { class: "queries" })
      : el("p", { class: "empty", text: "No query matches. Change the search or the filters." }),
  );
  byId("found").textContent =
    list.order.length === report.shown
      ? plural(report.shown, "query", "queries")
      : `${whole(list.order.length)} of ${plural(report.shown, "query", "queries")}`;
  drawPages(last);
}

function queryLink(i) {
  const text = model.texts?.[i];
  const href = `#${new URLSearchParams({ query: model.ids[i] })}`;
  return el(
    "a",
    { href },
    el("code", { dir: "auto", text: model.ids[i] }),
    text ? said(text, "span", { class: "asked" }) : null,
  );
}

function differenceBar(d, most, a, b) {
  const width = 50 * (Math.abs(d) / most);
  return svg(
    "svg",
    { class: "interval", width: "100%", height: 16, "aria-hidden": true },
    svg("line", { class: "track", x1: "50%", x2: "50%", y1: 0, y2: 16 }),
    d
      ? svg("rect", {
          class: `bar ${look(d > 0 ? b : a)}`,
          x: `${d > 0 ? 50 : 50 - width}%`,
          width: `${width}%`,
          y: 3,
          height: 10,
          rx: 2,
        })
      : "",
  );
}

function drawPages(last) {
  const go = (page, label, text) =>
    el("button", {
      type: "button",
      disabled: page < 0 || page > last || page === list.page,
      "aria-label": label,
      text,
      onclick() {
        list.page = page;
        drawTable(state);
        byId("rows").scrollIntoView({ block: "nearest" });
      },
    });
  const first = list.page * PAGE;
  renew(
    byId("pages"),
    ...(last < 1
      ? []
      : [
          go(0, "First page", "«"),
          go(list.page - 1, "Previous page", "‹"),
          el("span", {
            class: "muted",
            text: `${whole(first + 1)}–${whole(Math.min(first + PAGE, list.order.length))} of ${whole(list.order.length)}`,
          }),
          go(list.page + 1, "Next page", "›"),
          go(last, "Last page", "»"),
        ]),
  );
}
