// ---------------------------------------------------------------------------------------------------------------------
// Every pair of many systems: packed numbers, and a map of them to zoom into.

// By measure, typed arrays with one number per pair, in the order (0, 1), (0, 2) … (1, 2) …
const packed = new Map();

async function loadPairs(m) {
  if (!report.crowd?.packed || packed.has(m) || isCount(m)) return;
  const bytes = await unpack(`pairs-${m}`);
  const n = (systems.length * (systems.length - 1)) / 2;
  const columns = (bytes.length / n - 1) / 4;
  const found = { significant: bytes.subarray(bytes.length - n) };
  for (let c = 0; c < columns; c++) {
    const whole = new Uint8Array(4 * n);
    for (let plane = 0; plane < 4; plane++) {
      const start = (4 * c + plane) * n;
      for (let i = 0; i < n; i++) whole[4 * i + plane] = bytes[start + i];
    }
    found[report.crowd.fields[c]] = new Float32Array(whole.buffer);
  }
  packed.set(m, found);
}

// B against A, as the page knows other pairs; null while it is not unpacked.
function packedPair(m, a, b) {
  const found = packed.get(m);
  if (!found || a === b) return null;
  const [i, j] = a < b ? [a, b] : [b, a];
  const at = i * systems.length - (i * (i + 1)) / 2 + (j - i - 1);
  const sign = a < b ? 1 : -1;
  const number = (name) => (found[name] && Number.isFinite(found[name][at]) ? found[name][at] : null);
  const ends = [number("low"), number("high")].map((x) => (x === null ? null : sign * x));
  const counts = model.values ? tally(m, a, b) : { wins: null, ties: null, losses: null };
  return {
    a: systems[a],
    b: systems[b],
    n: report.n,
    difference: untested(m, a, b),
    low: sign > 0 ? ends[0] : ends[1],
    high: sign > 0 ? ends[1] : ends[0],
    has_interval: Boolean(found.low),
    adjusted_p: found.adjusted_p[at],
    significant: found.significant[at] === 1,
    detectable: number("detectable"),
    ...counts,
  };
}

const view = { row: 0, column: 0, size: 0 };

function drawHeatMap(state) {
  const m = state.m;
  if (heat.m === m) return heat.paint(); // the same map, perhaps with another pair
  heat.m = m;
  const order = ranked(measures[m]).map((r) => systems.indexOf(r.system));
  const n = order.length;
  view.size = view.size || n;
  const means = order.map((s) => result(measures[m], systems[s]).mean);
  const scale = (x) => (isFactor(m) ? Math.log(x) : x);
  const most = Math.max(...means.map((x) => Math.abs(scale(x) - scale(means[0]))), 1e-12);
  const board = el("canvas", { class: "heat", tabindex: 0, role: "img", "aria-label": `Every pair by ${measures[m]}, a map of ${n} × ${n} cells; choose a pair above to read it` });
  const caption = el("p", { class: "muted note", role: "status" });
  let room = { left: 0, top: 0, cell: 1 };

  const limit = () => {
    view.size = Math.min(Math.max(view.size, Math.min(8, n)), n);
    view.row = Math.min(Math.max(Math.round(view.row), 0), n - view.size);
    view.column = Math.min(Math.max(Math.round(view.column), 0), n - view.size);
  };

  function paint() {
    limit();
    const width = Math.min(board.parentNode?.clientWidth - 34 || 600, 860);
    if (width < 60) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const named = width / view.size >= 11; // room for names
    const left = named ? Math.min(130, width / 4) : 34;
    const cell = (width - left - 12) / view.size;
    const top = 24;
    room = { left, top, cell };
    const ratio = devicePixelRatio || 1;
    board.width = width * ratio;
    board.height = (top + cell * view.size + 8) * ratio;
    board.style.width = `${width}px`;
    board.style.height = `${top + cell * view.size + 8}px`;
    const pen = board.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = colour("--faint");
    pen.fillRect(left, top, cell * view.size, cell * view.size);
    const [better, worse] = [colour("--better-ink"), colour("--worse-ink")];
    const gap = cell > 6 ? 1 : 0;
    const found = packed.get(m);
    for (let r = 0; found && r < view.size; r++)
      for (let c = 0; c < view.size; c++) {
        const [i, j] = [view.row + r, view.column + c];
        if (i === j) continue;
        const [a, b] = order[i] < order[j] ? [order[i], order[j]] : [order[j], order[i]];
        if (!found.significant[a * n - (a * (a + 1)) / 2 + (b - a - 1)]) continue;
        const d = scale(means[i]) - scale(means[j]);
        pen.globalAlpha = 0.35 + 0.65 * Math.min(Math.abs(d) / most, 1);
        const isBetter = report.measures[m].better === "lower" ? d < 0 : d > 0;
        pen.fillStyle = isBetter ? better : worse;
        pen.fillRect(left + c * cell, top + r * cell, Math.max(cell - gap, 0.6), Math.max(cell - gap, 0.6));
      }
    pen.globalAlpha = 1;
    label(pen, colour("--muted"), named);
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 1.5;
    const [i, j] = [order.indexOf(state.b), order.indexOf(state.a)];
    if (inside(i - view.row) && inside(j - view.column))
      pen.strokeRect(left + (j - view.column) * cell - 1, top + (i - view.row) * cell - 1, cell + 2, cell + 2);
    caption.textContent = found
      ? `${measures[m]}: the row’s system against the column’s, in the order of the leaderboard${view.size < n ? `, places ${view.row + 1}–${view.row + view.size} against ${view.column + 1}–${view.column + view.size}` : ""}. Coloured: significantly better or worse, stronger for larger differences; grey: no significant difference. Drag to move, double-click to zoom in, click a cell to show its pair as B (row) and A (column).`
      : "Unpacking the pairs …";
  }

  const inside = (place) => place >= 0 && place < view.size;

  function label(pen, ink, named) {
    const { left, top, cell } = room;
    pen.fillStyle = ink;
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const step = named ? 1 : [5, 10, 25, 50, 100, 250].find((x) => x * cell >= 34) ?? 500;
    pen.textBaseline = "middle";
    for (let k = 0; k < view.size; k++) {
      const [row, column] = [view.row + k + 1, view.column + k + 1];
      pen.textAlign = "right";
      if (named || row === 1 || row % step === 0)
        pen.fillText(named ? fittingName(pen, `${row} ${systems[order[row - 1]]}`, left - 10) : row, left - 6, top + (k + 0.5) * cell);
      pen.textAlign = "center";
      if ((named ? cell >= 26 || column % 5 === 0 : column % step === 0) || column === 1)
        pen.fillText(column, left + (k + 0.5) * cell, top - 10);
    }
  }

  function fittingName(pen, text, width) {
    let shown = text;
    while (shown.length > 2 && pen.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
    return shown;
  }

  function at(event) {
    const box = board.getBoundingClientRect();
    const c = Math.floor((event.clientX - box.left - room.left) / room.cell);
    const r = Math.floor((event.clientY - box.top - room.top) / room.cell);
    return inside(r) && inside(c) ? [view.row + r, view.column + c] : null;
  }

  function zoom(factor, centre = null) {
    const [r, c] = centre ?? [view.row + view.size / 2, view.column + view.size / 2];
    const size = Math.round(view.size * factor);
    const share = [(r - view.row) / view.size, (c - view.column) / view.size];
    view.size = Math.min(Math.max(size, Math.min(8, n)), n);
    view.row = r - share[0] * view.size;
    view.column = c - share[1] * view.size;
    paint();
  }

  let held = null;
  board.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, y: event.clientY, row: view.row, column: view.column, moved: false };
    board.setPointerCapture(event.pointerId);
  });
  board.addEventListener("pointermove", (event) => {
    if (held) {
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      held.moved ||= Math.hypot(dx, dy) > 5;
      if (held.moved && view.size < n) {
        view.column = held.column - dx / room.cell;
        view.row = held.row - dy / room.cell;
        paint();
      }
    }
    const place = held?.moved ? null : at(event);
    if (!place || place[0] === place[1]) return tip.hide();
    const [b, a] = place.map((i) => order[i]);
    const p = packedPair(m, a, b);
    if (p) tip.show(event, `${place[0] + 1} ${systems[b]} against ${place[1] + 1} ${systems[a]}`, `${starred(m, p)}, ${chance(p.adjusted_p)}`);
  });
  board.addEventListener("pointerleave", () => tip.hide());
  board.addEventListener("pointerup", (event) => {
    const place = held?.moved ? null : at(event);
    held = null;
    if (place && place[0] !== place[1]) {
      const top = scrollY;
      choose({ b: order[place[0]], a: order[place[1]] });
      scrollTo(0, top);
    }
  });
  board.addEventListener("dblclick", (event) => zoom(0.5, at(event)));
  board.addEventListener("keydown", (event) => {
    const step = Math.max(1, Math.round(view.size / 8));
    const moves = { ArrowUp: ["row", -step], ArrowDown: ["row", step], ArrowLeft: ["column", -step], ArrowRight: ["column", step] };
    if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (moves[event.key] && view.size < n) {
      view[moves[event.key][0]] += moves[event.key][1];
      paint();
    } else return;
    event.preventDefault();
  });
  const button = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, text, onclick: act });
  const top = (size) => {
    Object.assign(view, { row: 0, column: 0, size });
    paint();
  };
  const frame = el(
    "div",
    { class: "card" },
    el(
      "div",
      { class: "filters" },
      button("+", "Zoom in", () => zoom(0.5)),
      button("−", "Zoom out", () => zoom(2)),
      button("Top 25", "The best 25 systems", () => top(25)),
      button("All", "All systems", () => top(n)),
    ),
    board,
    caption,
  );
  renew(body("pairs"), frame);
  new ResizeObserver(paint).observe(frame);
  heat.paint = paint;
}

const heat = { m: null, paint: null };
new MutationObserver(() => heat.paint?.()).observe(document.documentElement, {
  attributes: true,
  attributeFilter: ["data-theme"],
});
