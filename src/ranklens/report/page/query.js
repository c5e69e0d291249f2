// ---------------------------------------------------------------------------------------------------------------------
// One query: the rankings side by side, what moved, what is missing.

const detail = { i: null, all: false, whole: false };

async function drawQuery(state) {
  const i = detail.i;
  const dialog = byId("query");
  const found = report.documents ? await loadQuery(i) : null;
  if (detail.i !== i) return; // another query was asked for meanwhile
  const known = report.documents?.systems ?? [];
  const pairOnly = [state.a, state.b].filter((s) => s !== null && known.includes(s));
  const shown = detail.all || !pairOnly.length ? known : pairOnly;
  const at = list.order.indexOf(i);
  const step = (by, label, text, key) =>
    el("button", {
      type: "button",
      class: "quiet",
      "aria-label": label,
      title: `${label} (${key})`,
      text,
      disabled: !(at + by in list.order) || at < 0,
      onclick: () => openQuery(list.order[at + by]),
    });
  renew(
    dialog,
    el(
      "header",
      {},
      el(
        "div",
        {},
        el(
          "p",
          { class: "muted" },
          el("code", { dir: "auto", text: model.ids[i] }),
          model.slices && report.slices[model.slices[i]] ? [" · ", said(report.slices[model.slices[i]].name)] : null,
        ),
        said(model.texts?.[i] || model.ids[i], "h2", { id: "query-title", tabindex: -1 }),
      ),
      el(
        "div",
        { class: "buttons" },
        step(-1, "Previous query", "←", "left arrow key"),
        step(1, "Next query", "→", "right arrow key"),
        el("button", {
          type: "button",
          class: "quiet",
          "aria-label": "Close",
          title: "Close (Escape)",
          text: "✕",
          onclick: () => dialog.close(),
        }),
      ),
    ),
    queryValues(state, i),
    found
      ? el(
          "div",
          { class: "switches" },
          known.length > pairOnly.length
            ? toggle("all-systems", "Show all systems", detail.all, (on) => {
                detail.all = on;
              })
            : null,
          toggle("whole-texts", "Show whole texts", detail.whole, (on) => {
            detail.whole = on;
          }),
          el("span", { class: "muted", text: relevantNote(found) }),
        )
      : null,
    found
      ? sideways(
          `rankings${detail.whole ? " whole" : ""}`,
          {
            "--columns": shown.length,
            onpointerover: highlight,
            onpointerleave: highlight,
          },
          shown.map((s) => rankingColumn(state, s, found, i, shown)),
        )
      : el("p", {
          class: "muted",
          text: "This report was made from per-query values, so there are no documents to show.",
        }),
    found ? el("p", { class: "muted note", text: textsNote() }) : null,
    found && report.crowd
      ? el("p", {
          class: "muted note",
          text: `Rankings of the ${whole(known.length)} best systems are in this report${pairOnly.length < 2 ? "; A or B is not among them" : ""}. For others, use comparison.documents() or ranklens compare --documents.`,
        })
      : null,
  );
}

const toggle = (id, label, on, set) =>
  el(
    "label",
    {},
    el("input", {
      type: "checkbox",
      id,
      checked: on,
      onchange(event) {
        set(event.target.checked);
        drawQuery(state).then(() => byId(id).focus());
      },
    }),
    ` ${label}`,
  );

function queryValues(state, i) {
  const shown = state.b === null ? [state.a] : [state.a, state.b];
  const head = [
    "Measure",
    ...shown.map((s) => th([named(s), tag(state, s)], { class: "num" })),
    ...(state.b === null ? [] : [th("B − A", { class: "num" })]),
  ];
  return table(
    "Values of this query",
    head,
    measures.map((name, m) => {
      const values = shown.map((s) => model.values[m][s][i]);
      const d = values[values.length - 1] - values[0];
      return el(
        "tr",
        { class: m === state.m ? "chosen" : "" },
        el("th", { scope: "row", text: name }),
        values.map((x) => num(amount(m, x))),
        state.b === null ? "" : num(d ? (isCount(m) ? gap(m, d) : signed(d)) : "0", { class: "strong" }),
      );
    }),
    { class: "values" },
  );
}

function rankingColumn(state, s, found, i, shown) {
  const depth = report.documents.depth;
  const docs = found.documents
    .filter((d) => d.ranks.get(s) >= 1 && d.ranks.get(s) <= depth)
    .sort((x, y) => x.ranks.get(s) - y.ranks.get(s));
  const missed = found.documents
    .filter((d) => isRelevant(d) && !(d.ranks.get(s) >= 1 && d.ranks.get(s) <= depth))
    .sort((x, y) => y.grade - x.grade || (x.ranks.get(s) || Infinity) - (y.ranks.get(s) || Infinity));
  const retrieved = model.retrieved[s]?.[i] ?? 0;
  const error = failure(s, i);
  const other = shown.length < 2 ? null : s === shown[0] ? shown[1] : shown[0];
  return el(
    "section",
    { class: `ranking ${look(s)}`, "aria-label": systems[s] },
    el(
      "h3",
      {},
      named(s),
      tag(state, s),
      el("span", { class: "muted", text: retrieved ? `${whole(retrieved)} retrieved` : "" }),
    ),
    docs.length
      ? el(
          "ol",
          {},
          docs.map((d) =>
            el(
              "li",
              { class: `doc ${gradeClass(d)}`, value: d.ranks.get(s), "data-doc": d.id },
              el("span", { class: "rank", text: d.ranks.get(s) }),
              documentBody(d, s, badges(d, s, other, s === shown[0])),
            ),
          ),
        )
      : el("p", { class: "empty", text: error ? `failed: ${error}` : "Nothing was retrieved for this query." }),
    missed.length
      ? el(
          "details",
          { class: "missed", open: true },
          el("summary", { text: `${plural(missed.length, "relevant document")} not in the first ${depth}` }),
          el(
            "ul",
            {},
            missed.map((d) =>
              el(
                "li",
                { class: `doc ${gradeClass(d)}`, "data-doc": d.id },
                el("span", { class: "rank", text: d.ranks.get(s) || "–" }),
                documentBody(d, s, [badge("missed", d.ranks.get(s) ? `at rank ${d.ranks.get(s)}` : "not retrieved")]),
              ),
            ),
          ),
        )
      : null,
  );
}

function documentBody(d, s, marks) {
  const score = d.scores.get(s);
  return el(
    "div",
    { class: "about" },
    el(
      "div",
      { class: "line" },
      el("span", { class: "grade", text: gradeText(d) }),
      el("code", { dir: "auto", text: d.id }),
      marks,
      score === null || score === undefined
        ? null
        : el("span", { class: "score muted", title: "score", text: minus(String(score)) }),
    ),
    d.title && d.title !== d.id ? said(d.title, "p", { class: "title" }) : null,
    d.text ? said(d.text, "p", { class: "text" }) : null,
  );
}

const isRelevant = (d) => d.grade !== null && d.grade >= report.documents.rel;
const isJudged = (d) => d.grade !== null && d.grade >= 0;
const gradeText = (d) => (isJudged(d) ? `grade ${short(d.grade)}` : "unjudged");
function gradeClass(d) {
  if (!isJudged(d)) return "unjudged";
  if (!isRelevant(d)) return "g0";
  return `relevant g${Math.max(1, Math.ceil((4 * d.grade) / Math.max(report.documents.max_grade, 1)))}`;
}

const badge = (kind, text, title) => el("span", { class: `badge ${kind}`, text, title });

// What became of a document between two rankings, and what is odd about it. A document of the first ranking that the
// other lacks is lost; one of the other that the first lacks is new.
function badges(d, s, other, isFirst) {
  const found = [];
  const repeats = d.repeats.get(s);
  if (other !== null) {
    const here = d.ranks.get(s),
      there = d.ranks.get(other),
      depth = report.documents.depth;
    const beyond = there ? `rank ${there}` : "not retrieved";
    if (!(there >= 1 && there <= depth))
      found.push(badge(isFirst ? "lost" : "new", isFirst ? "lost" : "new", `${systems[other]}: ${beyond}`));
    else if (here === there) found.push(badge("same", "=", `also rank ${there}`));
    else if (!isFirst)
      found.push(
        badge(
          here < there ? "up" : "down",
          `${here < there ? "▲" : "▼"} ${Math.abs(here - there)}`,
          `moved ${here < there ? "up" : "down"} from rank ${there}`,
        ),
      );
    else found.push(badge("moved", `→ ${there}`, `moved to rank ${there}`));
  }
  if (repeats)
    found.push(
      badge("duplicate", "duplicate", `repeated ${plural(repeats, "time")} further down; only the first counts`),
    );
  if (d.tied.has(s)) found.push(badge("tied", "tied", "another document has the same score"));
  return found;
}

// The same document in all rankings.
function highlight(event) {
  const id = event.type === "pointerover" ? event.target.closest("[data-doc]")?.dataset.doc : undefined;
  for (const item of byId("query").querySelectorAll("[data-doc]"))
    item.classList.toggle("same-doc", id !== undefined && item.dataset.doc === id);
}

function relevantNote(found) {
  const listed = found.documents.filter(isRelevant).length;
  return `${plural(found.relevant, "relevant document")} known${listed < found.relevant ? `; of those missed, only the ones with the highest grades are listed` : ""}.`;
}

function textsNote() {
  const { texts, depth } = report.documents;
  const parts = [`The first ${depth} documents of each ranking, and the relevant ones missing from it.`];
  if (!report.has_texts.corpus) parts.push("No document texts were given.");
  else {
    if (texts.unknown)
      parts.push(`${plural(texts.unknown, "document is", "documents are")} not in the given corpus.`);
    if (texts.left_out)
      parts.push(
        `To keep this file small, the texts of ${whole(texts.left_out)} of ${whole(texts.known)} documents are left out; relevant and highly ranked documents are kept first.`,
      );
    if (texts.cut)
      parts.push(`${plural(texts.cut, "text is", "texts are")} cut after ${whole(texts.length)} characters.`);
  }
  return parts.join(" ");
}
