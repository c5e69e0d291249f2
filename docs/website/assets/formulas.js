// Sets the formulas of a page with KaTeX (katex/, version 0.19.1; of its style sheet only the fonts in WOFF2 are kept),
// which is loaded from the site itself, and only where there are formulas.
"use strict";

{
  const folder = new URL("katex/", document.currentScript.src);

  const set = (element) => {
    const [, opening, formula] = element.textContent.trim().match(/^\\([[(])([^]*)\\[\])]$/);
    katex.render(formula, element, { displayMode: opening === "[", throwOnError: false });
  };

  document.addEventListener("DOMContentLoaded", () => {
    const formulas = document.querySelectorAll(".arithmatex");
    if (!formulas.length) return;
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("katex.min.css", folder) });
    const script = Object.assign(document.createElement("script"), { src: new URL("katex.min.js", folder) });
    script.addEventListener("load", () => formulas.forEach(set));
    document.head.append(style, script);
  });
}
