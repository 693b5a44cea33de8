// The colours of frames, and what they mean in words: by module, by what most of their bytes are, or by how they differ.
import { ofModules, ofName } from "./palette";
import { color } from "./timeline";
import { formatCount } from "./units";
import { hiddenName } from "./walk";
import type { Frames } from "./walk";

/** What a colour means. A mark stands before names too, so that nobody needs to tell colours apart. */
export type Meaning = { fill: string; text: string; mark?: string };
export type Paint = { fill: (i: number) => string; mark: (i: number) => string; said: (i: number) => string; legend: Meaning[] };

/** How many colours the legend names; all others are named where one points at a frame. */
const mostNamed = 8;

export function paint(f: Frames, dark: boolean): Paint {
  if (f.gone) return differences(f);
  return f.colors ? byBytes(f, f.colors, dark) : byModule(f, dark);
}

const nothing = () => "";

/** The names that have most, of those that frames have themselves: first those that one looks for. */
function legend(f: Frames, names: string[], of: (i: number) => number, fill: (name: number) => string, text: (name: string) => string, what: string, first: boolean[] = []): Meaning[] {
  const sums = new Float64Array(names.length), there = new Set<number>();
  for (let i = 0; i < f.count; i++) {
    const n = f.name[i] === hiddenName ? names.length : of(i);
    if (n < names.length) { sums[n] += f.own[i]; there.add(n); }
  }
  const list = [...there].sort((a, b) => Number(first[b] ?? false) - Number(first[a] ?? false) || sums[b] - sums[a] || a - b);
  const out: Meaning[] = list.slice(0, mostNamed).map((n) => ({ fill: fill(n), text: text(names[n]) }));
  if (list.length > mostNamed) out.push({ fill: "", text: `and ${formatCount(list.length - mostNamed)} more ${what}, each in its colour` });
  return out;
}

/** Modules that are not the user's stay in the background; where nobody knows whose any is, none does. */
function byModule(f: Frames, dark: boolean): Paint {
  const known = f.user_code.includes(true);
  const fills = ofModules(f.modules, f.modules.map((m, n) => m !== "" && (!known || f.user_code[n])), dark);
  const of = (i: number) => f.module[f.name[i]];
  return { fill: (i) => fills[of(i)], mark: nothing, said: nothing, legend: legend(f, f.modules, of, (n) => fills[n], (m) => m || "process", "modules", f.user_code) };
}

/** What the ends of objects are called. */
export const ends: Record<string, string> = { gen0: "died in gen 0", gen1: "died in gen 1", gen2: "died in gen 2", loh: "died in the LOH", poh: "died in the POH", alive: "alive at the end" };

/** What most bytes of a frame are, with those that it called: types, or how their objects ended. */
function byBytes(f: Frames, names: string[], dark: boolean): Paint {
  const isEnd = names.some((n) => n in ends), none = color("--merged");
  const fills = names.map((n) => isEnd ? color("--frame-" + n) : ofName(n, dark));
  const of = (i: number) => Math.min(f.color[i], names.length);
  const list = legend(f, names, of, (n) => fills[n], (n) => isEnd ? ends[n] : n, "types");
  return {
    fill: (i) => fills[of(i)] ?? none, mark: nothing, legend: [...list, { fill: none, text: "no bytes" }],
    said: (i) => {
      const name = names[of(i)];
      return !name ? "" : `${f.share[i]} % of its bytes ${name === "alive" || !isEnd ? "are " : ""}${isEnd ? ends[name] : name}`;
    },
  };
}

/** How a frame differs: from half or less to twice or more. The first and the last are in one of the sessions alone. */
const steps: Meaning[] = [
  { fill: "--diff-gone", mark: "✕", text: "only in the older one" }, { fill: "--diff-half", mark: "▼▼", text: "half or less" }, { fill: "--diff-less", mark: "▼", text: "less" },
  { fill: "--diff-same", mark: "=", text: "the same within 10 %" }, { fill: "--diff-more", mark: "▲", text: "more" }, { fill: "--diff-twice", mark: "▲▲", text: "twice or more" },
  { fill: "--diff-new", mark: "+", text: "only in this one" },
];

export const nowAndBefore = (f: Frames, i: number): [number, number] => older(f) ? [f.other[i], f.value[i]] : [f.value[i], f.other[i]];

/** Whether the widths are those of the older session. */
export const older = (f: Frames) => f.diff === "old";

function differences(f: Frames): Paint {
  const fills = steps.map((s) => color(s.fill));
  const step = (i: number) => {
    const [now, before] = nowAndBefore(f, i);
    if (!before) return 6;
    if (!now) return 0;
    const by = now / before;
    return by >= 2 ? 5 : by > 1.1 ? 4 : by >= 0.9 ? 3 : by > 0.5 ? 2 : 1;
  };
  return { fill: (i) => fills[step(i)], mark: (i) => steps[step(i)].mark + " ", said: (i) => steps[step(i)].text,
    legend: steps.map((s, n) => ({ ...s, fill: fills[n] })).filter((_, n) => n !== (older(f) ? 6 : 0)) };
}
