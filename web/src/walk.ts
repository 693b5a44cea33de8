// Frames as arrays in preorder, and the walk that finds those in sight: what is outside, too narrow or too deep is
// skipped with all that it called, so that the work depends on what is seen, not on what there is.
export type Frames = {
  count: number; kind: string; total: number; metric: { key: string; title: string; kind: string; about: string };
  frames: number; command: string; diff: string; notes: string[]; threads?: number; estimated?: boolean; modules: string[]; user_code: boolean[]; short: string[]; full: string[]; module: number[];
  value: Float64Array; name: Uint32Array; hidden: Uint32Array; depth: Uint16Array;
  /** What most bytes of a frame are: positions in colors, with shares in percent. Null and empty: nothing is said of that. */
  colors: string[] | null; color: Uint32Array; share: Uint8Array;
  /** The values in the other session of a comparison, and what only that has. */
  other: Float64Array; gone?: { frames: number; value: number; total: number };
  left: Float64Array; own: Float64Array; end: Int32Array; parent: Int32Array; deepest: number;
  /** Those of one caller are in the order of their names, not of their values. */
  named?: boolean;
  /** The frames called by those that have called very many, which are searched, not passed one by one. */
  wide: Map<number, Int32Array>;
  /** Two hashes of each of the names, and of what stands for others. */
  hashes?: [Uint32Array, Uint32Array];
};

const many = 64; // frames with one caller, from which on it takes less to search them

export const hiddenName = 0xffffffff;

export function decode(b: ArrayBuffer, diff = ""): Frames {
  const length = new DataView(b).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(b, 4, length)));
  const n: number = head.sent;
  let at = 4 + length;
  const value = new Float64Array(b, at, n); at += 8 * n;
  const others = head.gone ? n : 0, colored = head.colors ? n : 0;
  const other = new Float64Array(b, at, others); at += 8 * others;
  const name = new Uint32Array(b, at, n); at += 4 * n;
  const hidden = new Uint32Array(b, at, n); at += 4 * n;
  const color = new Uint32Array(b, at, colored); at += 4 * colored;
  const depth = new Uint16Array(b, at, n); at += 2 * n;
  const share = new Uint8Array(b, at, colored);
  return { ...head, diff, kind: head.metric.kind, count: n, value, other, name, hidden, color, depth, share, ...laid(value, depth) };
}

/** Where frames are: what follows from their values and depths. */
function laid(value: Float64Array, depth: Uint16Array) {
  const n = value.length;
  const left = new Float64Array(n), own = new Float64Array(value), end = new Int32Array(n).fill(n), parent = new Int32Array(n).fill(-1);
  const next: number[] = [0], open: number[] = [];
  let deepest = 0, total = 0;
  for (let i = 0; i < n; i++) {
    const d = depth[i];
    while (open.length > d) end[open.pop()!] = i;
    if (d > 0) { parent[i] = open[d - 1]; own[parent[i]] -= value[i]; } else total += value[i];
    open.push(i);
    left[i] = next[d];
    next[d] += value[i];
    next[d + 1] = left[i];
    if (d > deepest) deepest = d;
  }
  return { total, left, own, end, parent, deepest, wide: widest(parent) };
}

/** The same frames, those of one caller in the order of their names, so that the graphs of two sessions look alike. What stands for
 * others is the last. */
export function byName(f: Frames): Frames {
  const n = f.count, ranks = new Uint32Array(f.full.length + 1);
  const order = f.full.map((_, i) => i).sort((a, b) => compare(f.short[a], f.short[b]) || compare(f.full[a], f.full[b]) || a - b);
  order.forEach((name, rank) => { ranks[name] = rank; });
  ranks[f.full.length] = f.full.length; // others
  // All frames in the order of their names, and then those of each caller in this order: those called by i begin at first[i + 1].
  const all = dealt(f.full.length + 1, n, (k) => k, (i) => ranks[nameAt(f, i)]).list;
  const { list: called, first } = dealt(n + 1, n, (k) => all[k], (i) => f.parent[i] + 1);
  const at = new Int32Array(n), open: number[] = []; // which frame comes where; those that are to come, the next one last
  const push = (p: number) => { for (let k = first[p + 1] - 1; k >= first[p]; k--) open.push(called[k]); };
  push(0);
  for (let k = 0; k < n; k++) {
    const i = at[k] = open.pop()!;
    push(i + 1);
  }
  const moved = <T extends Float64Array | Uint32Array | Uint16Array | Uint8Array>(list: T): T => list.length ? list.map((_, k) => list[at[k]]) as T : list;
  const value = moved(f.value), depth = moved(f.depth);
  return { ...f, named: true, value, depth, other: moved(f.other), name: moved(f.name), hidden: moved(f.hidden), color: moved(f.color), share: moved(f.share), ...laid(value, depth) };
}

/** Puts n things, which come in an order, on piles, and the piles behind each other: where each begins. */
function dealt(piles: number, n: number, thing: (k: number) => number, pile: (thing: number) => number): { list: Int32Array; first: Int32Array } {
  const first = new Int32Array(piles + 1), list = new Int32Array(n);
  for (let k = 0; k < n; k++) first[pile(thing(k)) + 1]++;
  for (let p = 1; p <= piles; p++) first[p] += first[p - 1];
  const next = first.slice();
  for (let k = 0; k < n; k++) { const i = thing(k); list[next[pile(i)]++] = i; }
  return { list, first };
}

const compare = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;

function widest(parent: Int32Array): Frames["wide"] {
  const counts = new Int32Array(parent.length), out: Frames["wide"] = new Map();
  for (const p of parent) if (p >= 0) counts[p]++;
  counts.forEach((count, i) => { if (count >= many) out.set(i, new Int32Array(count)); });
  if (out.size) for (let i = parent.length - 1; i >= 0; i--) { const list = out.get(parent[i]); if (list) list[--counts[parent[i]]] = i; }
  return out;
}

/** The first frame called by one that reaches beyond a value; the first of all if there are few. */
function firstBeyond(f: Frames, i: number, value: number): number {
  const list = f.wide.get(i);
  if (!list) return i + 1;
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (f.left[list[middle]] + f.value[list[middle]] > value) high = middle; else low = middle + 1;
  }
  return low < list.length ? list[low] : f.end[i];
}

export type Seen = { visited: number; boxes: number[]; merged: number[] };

/** The frames in sight: boxes are index, x, y, width; merged, of frames too narrow to draw, are x, y, width. */
export function walk(f: Frames, from: number, to: number, width: number, height: number, top: number, row: number, least: number): Seen {
  const scale = width / (to - from), deep = Math.ceil((top + height) / row), high = Math.floor(top / row);
  const out: Seen = { visited: 0, boxes: [], merged: [] };
  for (let i = 0; i < f.count;) {
    out.visited++;
    const a = f.left[i], b = a + f.value[i], d = f.depth[i];
    if (b <= from || d >= deep) { i = f.end[i]; continue; }
    if (a >= to) { const p = f.parent[i]; i = p < 0 ? f.count : f.end[p]; continue; } // later ones are farther to the right
    const w = f.value[i] * scale;
    if (w < least && f.named) { // one block with those after it in the same pixel, and with the block before it
      const p = f.parent[i], next = f.wide.has(p) ? Math.max(firstBeyond(f, p, a + least / scale), f.end[i]) : f.end[i];
      const end = f.parent[next] === p && next < f.count ? f.left[next] : p < 0 ? f.total : f.left[p] + f.value[p] - f.own[p];
      if (d >= high) join(out.merged, Math.max(0, (a - from) * scale), d * row - top, Math.min(width, (Math.min(end, to) - from) * scale));
      i = next;
      continue;
    }
    if (w < least && f.name[i] !== hiddenName) { // those after it are narrower: one block to the end of their caller
      const p = f.parent[i], last = p < 0 ? f.total : f.left[p] + f.value[p] - f.own[p];
      if (d >= high) out.merged.push(Math.max(0, (a - from) * scale), d * row - top, Math.min(width, (Math.min(last, to) - a) * scale));
      i = p < 0 ? f.count : f.end[p];
      continue;
    }
    if (d >= high) {
      const x = Math.max(0, (a - from) * scale);
      out.boxes.push(i, x, d * row - top, Math.min(width, (b - from) * scale) - x);
    }
    i = firstBeyond(f, i, from);
  }
  return out;
}

/** Adds a block up to an end, or has the one before it reach there. */
function join(merged: number[], x: number, y: number, end: number) {
  const k = merged.length - 3;
  if (k >= 0 && merged[k + 1] === y && x <= merged[k] + merged[k + 2] + 0.01) merged[k + 2] = end - merged[k];
  else merged.push(x, y, end - x);
}

/** The frame at a value and depth, -1: none. */
export function hit(f: Frames, at: number, depth: number): number {
  for (let i = 0, above = 0; i < f.count;) {
    if (at < f.left[i] || f.depth[i] < above) return -1; // what is wide enough does not reach so far
    if (at >= f.left[i] + f.value[i]) { i = f.end[i]; continue; }
    if (f.depth[i] === depth) return i;
    above = f.depth[i] + 1;
    i = firstBeyond(f, i, at);
  }
  return -1;
}

function hashesOf(f: Frames): [Uint32Array, Uint32Array] {
  if (f.hashes) return f.hashes;
  const names = [...f.full, "…"], out: [Uint32Array, Uint32Array] = [new Uint32Array(names.length), new Uint32Array(names.length)];
  names.forEach((name, n) => {
    let h = 0x811c9dc5, g = 5381;
    for (let k = 0; k < name.length; k++) {
      h = Math.imul(h ^ name.charCodeAt(k), 0x01000193) >>> 0;
      g = (Math.imul(g, 33) + name.charCodeAt(k)) >>> 0;
    }
    out[0][n] = h; out[1][n] = g;
  });
  return f.hashes = out;
}

const nameAt = (f: Frames, i: number) => f.name[i] === hiddenName ? f.full.length : f.name[i];
const mix = (above: number, of: number) => Math.imul(above ^ of, 0x01000193) >>> 0;

/** A name for a frame that stays the same when the tree is made anew: a hash of the names on its path. */
export function pathOf(f: Frames, i: number): string {
  const path: number[] = [], [first, second] = hashesOf(f);
  for (let at = i; at >= 0; at = f.parent[at]) path.push(nameAt(f, at));
  let h = 0, g = 0;
  for (const n of path.reverse()) { h = mix(h, first[n]); g = mix(g, second[n]); }
  return path.length + "-" + h.toString(36) + "." + g.toString(36);
}

/** The frame that pathOf names, -1: it is not in this tree. */
export function find(f: Frames, path: string): number {
  const depth = Number(path.split("-")[0]) - 1, [first, second] = hashesOf(f);
  const [h, g] = (path.split("-")[1] ?? "").split(".").map((n) => parseInt(n, 36));
  const above: [number[], number[]] = [[], []]; // the hashes on the way to the frame of the moment, by depth
  for (let i = 0; i < f.count;) {
    const d = f.depth[i], n = nameAt(f, i);
    above[0][d] = mix(d ? above[0][d - 1] : 0, first[n]);
    above[1][d] = mix(d ? above[1][d - 1] : 0, second[n]);
    if (d === depth && above[0][d] === h && above[1][d] === g) return i;
    i = d >= depth ? f.end[i] : i + 1;
  }
  return -1;
}

export type Matches = { names: Set<number>; frames: number[]; sum: number; own: number };

/** What a text matches: the sum counts what is below a match once. */
export function search(f: Frames, text: string): Matches | undefined {
  if (!text) return undefined;
  const lower = text.toLowerCase(), out: Matches = { names: new Set(), frames: [], sum: 0, own: 0 };
  f.full.forEach((s, n) => { if (s.toLowerCase().includes(lower)) out.names.add(n); });
  let covered = 0;
  for (let i = 0; i < f.count; i++) {
    if (!out.names.has(f.name[i])) continue;
    out.frames.push(i);
    out.own += f.own[i];
    if (i >= covered) { out.sum += f.value[i]; covered = f.end[i]; }
  }
  return out;
}
