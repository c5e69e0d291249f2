// ---------------------------------------------------------------------------------------------------------------------
// What is chosen, where one is, light or dark: the page as a whole.

const firstMeasure =
  report.primary ??
  Math.max(
    report.measures.findIndex((measure) => measure.aggregate !== "sum"),
    0,
  ); // counts say little
const state = { m: firstMeasure, a: 0, b: null };

function firstChoice() {
  const order = ranked(measures[firstMeasure]).map((r) => systems.indexOf(r.system));
  state.a = Math.max(systems.indexOf(report.baseline ?? systems[0]), 0);
  if (report.crowd && report.baseline === null) state.a = order[1]; // the first of many is not special
  state.b = order.find((s) => s !== state.a) ?? null;
}

function choose(change) {
  const before = { ...state };
  Object.assign(state, change);
  if (state.a === state.b) state["a" in change ? "b" : "a"] = before["a" in change ? "a" : "b"];
  showChoice();
  draw();
  remember();
  if (report.crowd?.packed && !packed.has(state.m)) loadPairs(state.m).then(draw);
}

function draw() {
  drawVerdict(state);
  drawLeaderboard(state);
  drawPairs(state);
  drawSlices(state);
  drawTrust(state);
  if (model.values) {
    drawCharts(state);
    drawTable(state);
    if (byId("query").open) drawQuery(state);
  }
}

function showChoice() {
  byId("choose-measure").value = String(state.m);
  byId("choose-a").value = String(state.a);
  byId("choose-b").value = String(state.b);
}

function prepareChoice() {
  const options = (names) => names.map((text, value) => el("option", { value, text }));
  byId("choose-measure").append(...options(measures));
  byId("choose-a").append(...options(systems));
  byId("choose-b").append(...options(systems));
  byId("choose-measure").addEventListener("change", (event) => choose({ m: Number(event.target.value) }));
  byId("choose-a").addEventListener("change", (event) => choose({ a: Number(event.target.value) }));
  byId("choose-b").addEventListener("change", (event) => choose({ b: Number(event.target.value) }));
  byId("swap").addEventListener("click", () => choose({ a: state.b, b: state.a }));
  document.body.classList.toggle("single", state.b === null);
}

// --- Where one is: #query=…&measure=…&a=…&b=… can be shared.

function here() {
  const found = new URLSearchParams();
  if (detail.i !== null) found.set("query", model.ids[detail.i]);
  if (state.m !== firstMeasure) found.set("measure", measures[state.m]);
  const start = { ...state };
  firstChoice();
  const moved = start.a !== state.a || start.b !== state.b;
  Object.assign(state, start);
  if (moved && state.b !== null) {
    found.set("a", systems[state.a]);
    found.set("b", systems[state.b]);
  }
  return String(found);
}

function remember() {
  const hash = here();
  try {
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  } catch {
    /* a page from disk in some browsers */
  }
}

function follow() {
  if (!location.hash.includes("query=") && byId("query").open) byId("query").close(); // the way back
  if (!location.hash.includes("=")) return;
  const asked = new URLSearchParams(location.hash.slice(1));
  const change = {};
  for (const [key, names, name] of [
    ["m", measures, "measure"],
    ["a", systems, "a"],
    ["b", systems, "b"],
  ]) {
    const place = names.indexOf(asked.get(name));
    if (place >= 0 && !(key !== "m" && state.b === null)) change[key] = place;
  }
  if (Object.entries(change).some(([key, value]) => state[key] !== value)) {
    Object.assign(state, change);
    showChoice();
    draw();
    loadPairs(state.m).then(draw);
  }
  const query = asked.get("query");
  if (query === null) return;
  if (model.place.has(query)) openQuery(model.place.get(query));
  else byId("found").textContent = `This report has no query “${query}”.`;
}

async function openQuery(i) {
  const dialog = byId("query");
  tip.hide();
  detail.i = i;
  await drawQuery(state);
  if (!dialog.open) dialog.showModal();
  byId("query-title").focus({ preventScroll: true }); // what had the focus may be gone
  dialog.scrollTop = 0;
  remember();
}

function prepareDialog() {
  const dialog = byId("query");
  dialog.addEventListener("close", () => {
    const link =
      model.place && byId("rows")?.querySelector(`a[href="#${new URLSearchParams({ query: model.ids[detail.i] })}"]`);
    detail.i = null;
    renew(dialog);
    remember();
    link?.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  }); // outside it
  dialog.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select") || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = list.order[list.order.indexOf(detail.i) + { ArrowRight: 1, ArrowLeft: -1 }[event.key]];
    if (next !== undefined && list.order.includes(detail.i)) {
      event.preventDefault();
      openQuery(next);
    }
  });
}

// --- Light or dark: as the system has it, until one chooses.

function prepareTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (chosen) => {
    const isDark = (chosen ?? (dark.matches ? "dark" : "light")) === "dark";
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    byId("theme").textContent = isDark ? "☀ Light" : "☾ Dark";
    byId("theme").setAttribute("aria-label", isDark ? "Switch to light colours" : "Switch to dark colours");
    return isDark;
  };
  let isDark = set(memory.get("ranklens-theme"));
  byId("theme").addEventListener("click", () => {
    const chosen = isDark ? "light" : "dark";
    memory.set("ranklens-theme", chosen);
    isDark = set(chosen);
  });
  dark.addEventListener("change", () => {
    isDark = set(memory.get("ranklens-theme"));
  });
}

function prepareContents() {
  const links = new Map(
    [...document.querySelectorAll("main > section")]
      .filter((section) => !section.hidden)
      .map((section) => [section, el("a", { href: `#${section.id}`, text: section.querySelector("h2").textContent })]),
  );
  byId("contents").append(...links.values());
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries)
        if (entry.isIntersecting)
          for (const [section, link] of links)
            section === entry.target ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  for (const section of links.keys()) seen.observe(section);
}

function prepareFrame() {
  renew(byId("title"), said(report.title));
  const facts = [
    plural(systems.length, "system"),
    plural(report.n, "query", "queries"),
    plural(measures.length, "measure"),
    ...(report.baseline === null ? [] : [`baseline ${report.baseline}`]),
    report.created,
  ];
  renew(byId("facts"), said(facts.join(" · ")));
  byId("footer").textContent =
    `Made with RankLens ${report.version} on ${report.created}. A single file that needs no network and sends nothing.`;
}

prepareTheme();
prepareFrame();
firstChoice();
prepareChoice();
showChoice();
drawSpeed();
drawDefinitions();
draw();
prepareContents();
prepareDialog();
if (typeof DecompressionStream === "undefined") {
  const note = "This browser is too old to unpack charts and queries. Open the report in one from 2023 or later.";
  for (const section of ["charts", "queries"]) renew(body(section), el("p", { class: "card muted", text: note }));
  document.documentElement.dataset.ready = "";
} else {
  Promise.all([loadModel(), loadPairs(state.m)]).then(() => {
    draw();
    follow();
    addEventListener("hashchange", follow);
    document.documentElement.dataset.ready = "";
  });
}
