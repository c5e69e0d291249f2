// ---------------------------------------------------------------------------------------------------------------------
// Drawing: scales, axes, markers, and the card around a chart. Colours come from the style sheet by class.

// What a system looks like depends on its number; among many on its place, so that the best ones look different.
const places = report.crowd
  ? new Map(report.results[measures[0]].map((r, place) => [systems.indexOf(r.system), place]))
  : null;
const slot = (s) => places?.get(s) ?? s;
const look = (s) => `s${slot(s) % report.dashes.length}`; // the class of a system's colour

// A shape for each system in addition to its colour: for print in grey, and for people who see colours differently.
function marker(s, x, y, r = 4.5) {
  const shapes = [
    () => svg("circle", { cx: x, cy: y, r }),
    () => svg("rect", { x: x - r * 0.9, y: y - r * 0.9, width: r * 1.8, height: r * 1.8 }),
    () => svg("path", { d: `M${x} ${y - r * 1.2}L${x + r * 1.1} ${y + r * 0.8}H${x - r * 1.1}Z` }),
    () => svg("path", { d: `M${x} ${y - r * 1.3}L${x + r * 1.2} ${y}L${x} ${y + r * 1.3}L${x - r * 1.2} ${y}Z` }),
    () => svg("path", { d: `M${x} ${y + r * 1.2}L${x + r * 1.1} ${y - r * 0.8}H${x - r * 1.1}Z` }),
    () =>
      svg("path", {
        d: `M${x - r} ${y - r * 0.4}H${x - r * 0.4}V${y - r}H${x + r * 0.4}V${y - r * 0.4}H${x + r}V${y + r * 0.4}H${x + r * 0.4}V${y + r}H${x - r * 0.4}V${y + r * 0.4}H${x - r}Z`,
      }),
    () =>
      svg("path", { d: `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`, class: "stroked" }),
    () => svg("circle", { cx: x, cy: y, r: r * 0.8, class: "stroked" }),
  ];
  const shape = shapes[slot(s) % shapes.length]();
  shape.classList.add("mark", look(s));
  return shape;
}

const swatch = (s) =>
  svg(
    "svg",
    { class: "swatch", width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": true },
    marker(s, 7, 7, 4.6),
  );
const named = (s, props = {}) => el("span", { class: "system", ...props }, swatch(s), said(systems[s]));

const linear =
  ([d0, d1], [r0, r1]) =>
  (x) =>
    r0 + ((x - d0) / (d1 - d0 || 1)) * (r1 - r0);
const logarithmic = ([d0, d1], r) => {
  const f = linear([Math.log(d0), Math.log(d1)], r);
  return (x) => f(Math.log(x));
};

// Round numbers that cover [low, high].
function ticks(low, high, n = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((f) => f * power >= rough * 0.999) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

const short = (x) => minus(String(Number(x.toPrecision(6))));

// An SVG with a frame of room for axes around it; draw with x from 0 to inner width, y from 0 to inner height.
function canvas(width, height, room, label) {
  const [top, right, bottom, left] = room;
  const inside = svg("g", { transform: `translate(${left} ${top})` });
  const root = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    inside,
  );
  return { root, inside, w: width - left - right, h: height - top - bottom };
}

function yAxis(plot, y, values, name, text = short) {
  for (const v of values) {
    plot.inside.append(
      svg("line", { class: "gridline", x1: 0, x2: plot.w, y1: y(v), y2: y(v) }),
      svg("text", { class: "tick", x: -8, y: y(v) + 4, "text-anchor": "end", text: text(v) }),
    );
  }
  if (name) plot.inside.append(label(name, plot.w, { class: "axis", x: -36, y: -12 }));
}

function xAxis(plot, x, values, name, text = short) {
  plot.inside.append(svg("line", { class: "baseline", x1: 0, x2: plot.w, y1: plot.h, y2: plot.h }));
  for (const v of values)
    plot.inside.append(svg("text", { class: "tick", x: x(v), y: plot.h + 18, "text-anchor": "middle", text: text(v) }));
  if (name) plot.inside.append(label(name, plot.w, { class: "axis", x: plot.w, y: plot.h + 36, "text-anchor": "end" }));
}

// 1, 2 and 5 times the powers of ten between two numbers.
function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
    for (const factor of [1, 2, 5]) found.push(Number((factor * 10 ** power).toPrecision(3)));
  return found.filter((t) => t >= low && t <= high);
}

// The first choice of ticks whose labels stand apart; of the last, as many as do.
function fitting(choices, x, text) {
  const gap = 12;
  const reach = (v) => textWidth(text(v)) / 2;
  const apart = (p, q) => x(q) - reach(q) - (x(p) + reach(p)) >= gap;
  const found = choices.find((values) => values.length > 1 && values.every((v, i) => !i || apart(values[i - 1], v)));
  if (found) return found;
  return choices[choices.length - 1].reduce(
    (kept, v) => (!kept.length || apart(kept[kept.length - 1], v) ? [...kept, v] : kept),
    [],
  );
}

// As much of a label as there is room for, with all of it to hover.
const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text) {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}
function label(text, width, props = {}) {
  let shown = text;
  while (shown.length > 1 && textWidth(shown) > width) shown = `${[...shown].slice(0, -2).join("")}…`;
  return svg("text", { class: "direct", ...props }, shown, shown === text ? "" : svg("title", { text }));
}

const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

const legend = (shown) =>
  el(
    "ul",
    { class: "legend" },
    shown.map((s) => el("li", {}, named(s))),
  );

// A card with a heading, a chart that follows its width, and the same numbers as a table to unfold.
function card({ title, note, shown, draw, numbers, wide }) {
  const place = el("div", { class: "canvas" });
  const figure = el(
    "figure",
    { class: `card chart${wide ? " wide" : ""}` },
    el("figcaption", {}, el("h3", { text: title }), note ? el("p", { class: "muted", text: note }) : null),
    shown ? legend(shown) : null,
    place,
    numbers ? unfold("Numbers", numbers) : null,
  );
  let width = 0;
  const redraw = () => {
    const now = Math.floor(place.clientWidth);
    if (now < 40 || now === width) return;
    width = now;
    renew(place, draw(now));
  };
  new ResizeObserver(redraw).observe(place);
  return figure;
}

// Filled when it is first opened.
function unfold(title, make) {
  const details = el("details", {}, el("summary", { text: title }));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(make());
  });
  return details;
}

// One small label that follows the pointer; the same facts are in tables for those without one.
const tip = {
  show(event, ...lines) {
    const box = byId("tip");
    renew(box, ...lines.map((line) => said(line, "div")));
    box.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
    const top =
      event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 12 : event.clientY + 18;
    box.style.transform = `translate(${Math.max(left, 8)}px, ${top}px)`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};
