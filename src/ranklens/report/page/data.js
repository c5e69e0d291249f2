// ---------------------------------------------------------------------------------------------------------------------
// The data: a summary at once; packed pieces when they are needed.

const report = JSON.parse(byId("summary").textContent);
const systems = report.systems;
const measures = report.measures.map((measure) => measure.name);

// Of very many queries, the page holds a sample.
const isSample = report.shown < report.n;
const sampleNote = isSample
  ? `To keep this file small, single queries are a random sample: ${whole(report.shown)} of ${whole(report.n)}. Means, intervals, tests and verdicts are over all queries.`
  : "";

const parsed = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

// In `atob` and DecompressionStream the browser brings all that is needed; nothing is requested.
async function unpack(id) {
  await parsed;
  const packed = Uint8Array.from(atob(byId(`piece-${id}`).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const pieces = new Map();
function piece(id) {
  if (!pieces.has(id))
    pieces.set(
      id,
      unpack(id).then((bytes) => JSON.parse(new TextDecoder().decode(bytes))),
    );
  return pieces.get(id);
}

// Values by measure, system and query; ids, texts, slices and lengths of rankings by query.
const model = { values: null, ids: [], texts: null, slices: null, retrieved: [], place: new Map() };

async function loadModel() {
  const [bytes, queries] = await Promise.all([unpack("values"), piece("queries")]);
  const all = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
  const n = queries.ids.length;
  model.values = measures.map((_, m) =>
    systems.map((__, s) => all.subarray((m * systems.length + s) * n, (m * systems.length + s + 1) * n)),
  );
  Object.assign(model, queries);
  model.place = new Map(queries.ids.map((id, i) => [id, i]));
}

// The documents of one query: id, title, text and grade, and for each system rank, score, and what is odd about it. A piece
// holds columns; the rows of a query begin where the next number of `starts` says.
async function loadQuery(i) {
  const { queries_a_piece: q, documents_a_piece: d, systems: known } = report.documents;
  const columns = await piece(`rankings-${Math.floor(i / q)}`);
  const [start, end] = columns.starts.slice(i % q, (i % q) + 2);
  const numbers = columns.number.slice(start, end);
  const parts = await Promise.all(
    [...new Set(numbers.map((x) => Math.floor(x / d)))].map(async (p) => [p, await piece(`documents-${p}`)]),
  );
  const shelf = new Map(parts);
  const documents = numbers.map((number, place) => {
    const part = shelf.get(Math.floor(number / d));
    return {
      id: part.ids[number % d],
      title: part.titles?.[number % d] ?? "",
      text: part.texts?.[number % d] ?? "",
      grade: columns.grade[start + place],
      ranks: new Map(known.map((s) => [s, columns[`rank_${s}`][start + place]])),
      scores: new Map(known.map((s) => [s, columns[`score_${s}`]?.[start + place] ?? null])),
      repeats: new Map(),
      tied: new Set(),
    };
  });
  const marks = (rows) => rows.filter(([, row]) => start <= row && row < end);
  for (const [k, row, n] of marks(columns.repeats)) documents[row - start].repeats.set(known[k], n);
  for (const [k, row] of marks(columns.tied)) documents[row - start].tied.add(known[k]);
  return { documents, relevant: columns.relevant[i % q] };
}

// The result of one system, and of B against A whichever way round the pair was tested.
const result = (measure, system, part = report) => part.results[measure].find((r) => r.system === system);

function pair(measure, a, b, part = report) {
  if (report.crowd?.packed)
    return part === report ? packedPair(measures.indexOf(measure), systems.indexOf(a), systems.indexOf(b)) : null;
  const found = part.pairs[measure].find((p) => (p.a === a && p.b === b) || (p.a === b && p.b === a));
  if (!found || found.a === a) return found;
  const turned = (x) => (x === null ? null : -x);
  return {
    ...found,
    a,
    b,
    difference: -found.difference,
    low: turned(found.high),
    high: turned(found.low),
    wins: found.losses,
    losses: found.wins,
    decision: found.turned,
    turned: found.decision,
  };
}

// Why there is no p-value for a pair.
const noPair = (m, part = report) =>
  !report.crowd?.packed || isCount(m) ? "not tested" : part === report ? "…" : "not in this report";

const isCount = (m) => report.measures[m].aggregate === "sum";

// Of a geometric mean the logarithms are compared, so a difference is a factor.
const isFactor = (m) => report.measures[m].aggregate === "geometric";
const gap = (m, x, digits = 4) =>
  x === null || x === undefined
    ? "–"
    : isFactor(m)
      ? `×${fixed(Math.exp(x), 3)}`
      : isCount(m)
        ? `${x > 0 ? "+" : ""}${minus(whole(x))}`
        : signed(x, digits);
const amount = (m, x, digits = 4) => (isCount(m) ? whole(x) : show(x, digits)); // a value of a measure
const gapRange = (m, p) =>
  isFactor(m) && p.low !== null && p.high !== null
    ? `[×${fixed(Math.exp(p.low), 3)}, ×${fixed(Math.exp(p.high), 3)}]`
    : p.has_interval === false
      ? "interval not in this report"
      : range(p.low, p.high);

// The difference of two means that was not tested: of counts, and of pairs without the baseline.
function untested(m, a, b, part = report) {
  const [u, v] = [a, b].map((s) => result(measures[m], systems[s], part).mean);
  return isFactor(m) ? Math.log(v / u) : v - u;
}

// What a higher value is: better, worse, or just higher.
const WORDS = { higher: ["better", "worse"], lower: ["worse", "better"], neither: ["higher", "lower"] };
const word = (m, difference) => WORDS[report.measures[m].better][difference > 0 ? 0 : 1];

const ranked = (measure) => report.results[measure]; // the best first
