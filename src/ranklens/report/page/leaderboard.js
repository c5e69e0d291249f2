// ---------------------------------------------------------------------------------------------------------------------
// Many systems: which of them the leaderboard shows, and which ones have lines in the charts.

const TOPS = [10, 25, 50, 100];
const board = { words: [], team: "", top: 25, which: "all" };

const teamOf = (s) => report.teams?.[s] ?? "";

// The controls stay where they are while the table below them changes.
function prepareLeaderboard() {
  const place = body("leaderboard");
  if (byId("board")) return byId("board");
  const teams = report.teams ? [...new Set(report.teams.filter(Boolean))].sort() : [];
  const change = (what) => {
    Object.assign(board, what);
    drawLeaderboard(state);
  };
  const which = [
    ["all", "all systems"],
    ["rivals", "not significantly different from the best"],
    ["apart", "significantly different from the best"],
    ...(teams.length ? [["teams", "the best of each team"]] : []),
  ];
  place.append(
    report.crowd
      ? el(
          "form",
          { class: "filters", role: "search", autocomplete: "off", onsubmit: (event) => event.preventDefault() },
          el(
            "label",
            {},
            "Search ",
            el("input", {
              type: "search",
              id: "board-search",
              placeholder: teams.length ? "system or team" : "system",
              oninput: (event) => change({ words: event.target.value.toLowerCase().split(/\s+/).filter(Boolean) }),
            }),
          ),
          el("label", {}, "Show ", select("board-which", which.filter(([key]) => report.baseline === null || key === "all" || key === "teams"), (value) => change({ which: value }))),
          teams.length
            ? el("label", {}, "Team ", select("board-team", [["", "all"], ...teams.map((t) => [t, t])], (team) => change({ team })))
            : null,
          el(
            "label",
            {},
            "Top ",
            select("board-top", [...TOPS.map((n) => [String(n), String(n)]), ["all", "all"]], (value) =>
              change({ top: value === "all" ? Infinity : Number(value) }),
            ),
          ),
          el("p", { id: "board-found", class: "muted", role: "status" }),
        )
      : "",
    el("div", { id: "board" }),
  );
  if (report.crowd) byId("board-top").value = String(board.top);
  return byId("board");
}

// The rows to show, each with its place among all systems.
function onBoard(measure) {
  const rows = ranked(measure).map((r, i) => ({ ...r, place: i + 1, s: systems.indexOf(r.system) }));
  if (!report.crowd) return rows;
  const m = measures.indexOf(measure);
  const seen = new Set();
  const isApart = (r) => r.place > 1 && Boolean(packedPair(m, rows[0].s, r.s)?.significant);
  const kinds = {
    all: () => true,
    rivals: (r) => !isApart(r),
    apart: isApart,
    teams: (r) => !seen.has(teamOf(r.s)) && Boolean(seen.add(teamOf(r.s))),
  };
  const kept = rows.filter(
    (r) =>
      kinds[board.which](r) &&
      (!board.team || teamOf(r.s) === board.team) &&
      board.words.every((word) => `${r.system} ${teamOf(r.s)}`.toLowerCase().includes(word)),
  );
  const shown = kept.slice(0, board.top);
  byId("board-found").textContent =
    shown.length === rows.length
      ? plural(rows.length, "system")
      : `${whole(shown.length)} of ${plural(kept.length, "system")}${kept.length < rows.length ? ` (${whole(rows.length)} in all)` : ""}`;
  return shown;
}

// --- Systems with lines in the charts: those chosen, of the ones that the report knows in detail.

const lines = { chosen: null };

function withLines(state, all) {
  if (!report.crowd) return all;
  const order = ranked(measures[firstMeasure]).map((r) => systems.indexOf(r.system));
  const best = order.filter((s) => report.crowd.in_detail.includes(s)).slice(0, 3);
  const chosen = lines.chosen ?? new Set([...best, state.a, state.b]);
  return all.filter((s) => chosen.has(s));
}

function lineChoice(state) {
  const order = ranked(measures[firstMeasure])
    .map((r) => systems.indexOf(r.system))
    .filter((s) => report.crowd.in_detail.includes(s));
  const shown = new Set(withLines(state, order));
  const missing = [state.a, state.b].filter((s) => s !== null && !report.crowd.in_detail.includes(s));
  const chip = (s) =>
    el(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-pressed": String(shown.has(s)),
        onclick() {
          shown.has(s) ? shown.delete(s) : shown.add(s);
          lines.chosen = shown;
          drawCharts(state);
        },
      },
      named(s),
    );
  return el(
    "div",
    { class: "card wide" },
    el("h3", { text: "Systems in the charts below" }),
    el("div", { class: "chips" }, order.map(chip)),
    el("p", {
      class: "muted note",
      text: `This report holds curves and rankings of the ${whole(order.length)} best systems${report.baseline === null ? "" : " and the baseline"}.${missing.length ? ` ${missing.map((s) => systems[s]).join(" and ")} ${missing.length > 1 ? "are" : "is"} not among them.` : ""}`,
    }),
  );
}
