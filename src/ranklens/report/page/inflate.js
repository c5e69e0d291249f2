// ---------------------------------------------------------------------------------------------------------------------
// gzip for browsers without DecompressionStream: RFC 1951, symbol by symbol.

const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const REACH_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
  8193, 12289, 16385, 24577,
];
const REACH_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// A canonical Huffman code: how many codes there are of each length, and the symbols in the order of their codes.
function huffman(lengths) {
  const count = new Uint16Array(16);
  const start = new Uint16Array(16);
  const symbols = new Uint16Array(lengths.length);
  for (const length of lengths) count[length]++;
  count[0] = 0;
  for (let i = 1; i < 16; i++) start[i] = start[i - 1] + count[i - 1];
  lengths.forEach((length, symbol) => {
    if (length) symbols[start[length]++] = symbol;
  });
  return { count, symbols };
}

// The content of a gzip member as Python's gzip.compress writes it: ten bytes of header, no name, eight bytes at the end.
function gunzip(packed) {
  const size = new DataView(packed.buffer, packed.byteOffset).getUint32(packed.length - 4, true);
  const out = new Uint8Array(size);
  let at = 0,
    place = 10,
    held = 0,
    bits = 0;

  function take(n) {
    while (bits < n) {
      held |= packed[place++] << bits;
      bits += 8;
    }
    const value = held & ((1 << n) - 1);
    held >>>= n;
    bits -= n;
    return value;
  }
  function symbol(code) {
    let word = 0,
      first = 0,
      index = 0;
    for (let length = 1; length < 16; length++) {
      word |= take(1);
      const n = code.count[length];
      if (word - n < first) return code.symbols[index + (word - first)];
      index += n;
      first = (first + n) << 1;
      word <<= 1;
    }
    throw new Error("This report is damaged: a packed piece cannot be read.");
  }
  function dynamic() {
    const literals = take(5) + 257,
      reaches = take(5) + 1,
      n = take(4) + 4;
    const small = new Array(19).fill(0);
    for (let i = 0; i < n; i++) small[ORDER[i]] = take(3);
    const code = huffman(small);
    const lengths = [];
    while (lengths.length < literals + reaches) {
      const s = symbol(code);
      if (s < 16) lengths.push(s);
      else if (s === 16) {
        const last = lengths[lengths.length - 1];
        for (let i = 3 + take(2); i; i--) lengths.push(last);
      } else for (let i = s === 17 ? 3 + take(3) : 11 + take(7); i; i--) lengths.push(0);
    }
    return [huffman(lengths.slice(0, literals)), huffman(lengths.slice(literals))];
  }
  function fixedCodes() {
    const lengths = Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
    return [huffman(lengths), huffman(new Array(30).fill(5))];
  }
  function stored() {
    held = bits = 0;
    const length = packed[place] | (packed[place + 1] << 8);
    out.set(packed.subarray(place + 4, place + 4 + length), at);
    place += 4 + length;
    at += length;
  }

  for (let last = 0; !last;) {
    last = take(1);
    const kind = take(2);
    if (kind === 0) {
      stored();
      continue;
    }
    const [literal, reach] = kind === 1 ? fixedCodes() : dynamic();
    for (let s = symbol(literal); s !== 256; s = symbol(literal)) {
      if (s < 256) {
        out[at++] = s;
        continue;
      }
      let length = LENGTH_BASE[s - 257] + take(LENGTH_BITS[s - 257]);
      const d = symbol(reach);
      const back = REACH_BASE[d] + take(REACH_BITS[d]);
      for (; length; length--, at++) out[at] = out[at - back];
    }
  }
  return out;
}
