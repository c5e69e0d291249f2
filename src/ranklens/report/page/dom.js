// ---------------------------------------------------------------------------------------------------------------------
// Elements and numbers. Data reach the page through textContent and attributes only, never as markup.

const byId = (id) => document.getElementById(id);
const body = (section) => byId(section).querySelector(".body");

function el(name, props = {}, ...children) {
  return fill(document.createElement(name), props, children);
}

function svg(name, props = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), props, children);
}

// "on…" is a listener, "text" the content, a name that begins with "--" a CSS variable; all else is an attribute.
function fill(node, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "text") node.textContent = value;
    else if (key.startsWith("--")) node.style.setProperty(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...present(children));
  return node;
}

// Children without null, undefined and false, which append and replaceChildren would print as words.
const present = (children) =>
  children.flat().filter((child) => child !== null && child !== undefined && child !== false);

// Gives a node other children; anything that may be null goes through here or through el.
const renew = (node, ...children) => node.replaceChildren(...present(children));

// Text of unknown language and direction.
const said = (text, name = "bdi", props = {}) => el(name, { dir: "auto", text, ...props });

function table(caption, head, rows, props = {}) {
  const cell = (name) => (content) => (content instanceof Node ? content : el(name, { text: content }));
  return sideways(
    "scroll",
    { role: "region", tabindex: 0, "aria-label": caption },
    el(
      "table",
      props,
      el("caption", { class: "hidden", text: caption }),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((h) => (h instanceof Node ? h : el("th", { scope: "col", text: h }))),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) => (row instanceof Node ? row : el("tr", {}, row.map(cell("td"))))),
      ),
    ),
  );
}

// A box that scrolls sideways, with a sign at its right edge as long as there is more to see.
function sideways(name, props, ...children) {
  const box = el("div", { ...props, class: name }, ...children);
  const frame = el("div", { class: "sideways" }, box, el("span", { class: "more", "aria-hidden": true, text: "›" }));
  const look = () => frame.classList.toggle("has-more", box.scrollWidth - box.clientWidth - box.scrollLeft > 4);
  box.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(box);
  return frame;
}

const hidden = (text) => el("span", { class: "hidden", text }); // for those who listen
const th = (content, props = {}) => el("th", { scope: "col", ...props }, content);
const td = (content, props = {}) => el("td", props, content);
const num = (text, props = {}) => el("td", { ...props, class: `num ${props.class || ""}`, text });

// Rounded as Python rounds, so that the page and the terminal agree: a number that lies exactly between two goes to the
// even one. With d digits only odd multiples of 1 / 2^(d + 1) lie exactly between.
function fixed(x, digits = 4) {
  const halves = x * 2 ** (digits + 1);
  if (Number.isInteger(halves) && Math.abs(halves % 2) === 1) {
    const below = Math.floor(x * 10 ** digits);
    return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
  }
  return x.toFixed(digits);
}

const minus = (text) => text.replace("-", "−");
const show = (x, digits = 4) => (x === null || x === undefined ? "–" : minus(fixed(x, digits)));
const signed = (x, digits = 4) => (x > 0 ? "+" : "") + show(x, digits);
const range = (low, high, digits = 4) =>
  low === null && high === null
    ? "unbounded"
    : `[${low === null ? "−∞" : show(low, digits)}, ${high === null ? "∞" : show(high, digits)}]`;

// A p-value with three decimals, and more where these could be taken for alpha.
function chance(p) {
  if (p < 0.001) return "p < 0.001";
  let digits = 3;
  while (digits < 8 && p !== report.alpha && Number(fixed(p, digits)) === report.alpha) digits++;
  return `p = ${fixed(p, digits)}`;
}

const percent = (x) =>
  x === null
    ? "–"
    : x === 0 || x === 1 || (x >= 0.005 && x < 0.995)
      ? `${Math.round(100 * x)}%`
      : `${Number((100 * x).toPrecision(2))}%`;
// With a capital, unless it begins with the name of a system.
const sentence = (text) =>
  report.systems.some((name) => text.startsWith(name)) ? text : text.charAt(0).toUpperCase() + text.slice(1);
const whole = (n) => n.toLocaleString("en");
const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;
const seconds = (s) => (s >= 1 ? `${s.toPrecision(3)} s` : `${(1000 * s).toPrecision(3)} ms`);

// What a browser remembers for this page, where it is allowed to.
const memory = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      /* private window: then not */
    }
  },
};
