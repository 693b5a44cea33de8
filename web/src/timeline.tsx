// What happened when: allocation by slice of time, the heap after each collection, pauses. A dragged range selects it.
import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { get } from "./api";
import type { CounterPoints, Sheet, Timeline } from "./api";
import { isFile } from "./offline";
import { Failed, useLoad, Waiting } from "./parts";
import { addTerm, change, param, removeTerm, theme } from "./state";
import { formatBytes } from "./units";

/** Colours of the style sheet, read once for each theme: pictures need them many times a second. */
const colors = new Map<string, string>();
let themed = "";

/** A colour of the style sheet as it is in the theme of the moment. */
export function color(name: string): string {
  const now = theme.value + matchMedia("(prefers-color-scheme: dark)").matches;
  if (now !== themed) { colors.clear(); themed = now; }
  let found = colors.get(name);
  if (!found) colors.set(name, found = read(name));
  return found;
}

function read(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const out = getComputedStyle(probe).color;
  probe.remove();
  return out;
}

/** Bytes beside an axis, where there is little room. */
export function bytes(n: number): string {
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (Math.abs(n) < 1024 || unit === "TiB") return n.toFixed(n < 10 && unit !== "B" ? 1 : 0) + " " + unit;
    n /= 1024;
  }
  return "";
}

/** Seconds as the flag --time takes them, exact to the nanosecond. */
export function seconds(ns: number): string {
  const whole = Math.floor(ns / 1e9), rest = String(Math.round(ns - whole * 1e9)).padStart(9, "0").replace(/0+$/, "");
  return whole + (rest ? "." + rest : "") + "s";
}

/** The counter that is shown unless another is chosen. */
export const usual = "process.resident";

export function TimelineView() {
  // Of the whole run, so that the range can be moved.
  const { value, error } = useLoad("timeline", (more) => get<Timeline>("timeline", {}, more));
  const counters = value?.counters ?? [], name = param("counter") || (counters.some((c) => c.name === usual) ? usual : "");
  const counted = useLoad("counter " + name, (more) => name ? get<CounterPoints>("counter", { name }, more) : Promise.resolve(undefined));
  const drawn = useSame(value), drawnCounter = useSame(counted.value);
  if (error) return <Failed error={error} />;
  if (!value || !drawn) return <section class="timeline"><h2>Over time</h2><Waiting /></section>; // it has its room, so that nothing jumps
  if (!ending(value)) return null;
  return <section class="timeline" aria-label="What happened when">
    <header><h2>Over time</h2><p>{isFile ? "" : "Drag to look at a span: every view follows it. "}{value.pauses.length ? "Grey: nothing was recorded. " : ""}{param("time")
      ? <button type="button" onClick={() => removeTerm("time", param("time"))}>Whole run</button> : null}</p>
      {counters.length ? <label>counter <select id="counter" value={name} onChange={(e) => change({ counter: e.currentTarget.value }, true)}>
        {counters.map((c) => <option key={c.name} value={c.name} title={c.name}>{counterWords(c)}</option>)}</select></label> : null}</header>
    {name && counted.loading && counted.value === undefined ? <Waiting /> : null}
    {counted.error ? <Failed error={counted.error} /> : null}
    <Charts data={drawn} counter={drawnCounter} dark={theme.value} />
  </section>;
}

/** Where the axis of time ends: 0 if there is nothing to show. */
function ending(t: Timeline): number {
  const made = t.slices.some((s) => s.bytes > 0) || t.usage.length > 1 || t.marks.length > 0 || !!t.gcs?.rows.length;
  return made ? Math.max(t.slices.at(-1)?.end_ns ?? 0, t.usage.at(-1)?.end_ns ?? 0) / 1e9 : 0;
}

/** What it was before, if that says the same: what is loaded again is not drawn anew, while somebody may be dragging over it. */
function useSame<T>(value: T): T {
  const kept = useRef(value);
  if (kept.current !== value && JSON.stringify(kept.current) !== JSON.stringify(value)) kept.current = value;
  return kept.current;
}

function Charts({ data, counter, dark }: { data: Timeline; counter?: CounterPoints; dark: string }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => { // at once: who drags over charts that are replaced has dragged in vain
    const host = box.current;
    if (!host) return;
    const made: uPlot[] = [];
    const draw = () => {
      made.splice(0).forEach((u) => u.destroy());
      const charts = [
        ...(data.slices.some((s) => s.bytes > 0) ? [rate(data)] : []),
        ...(data.usage.length > 1 ? [processors(data.usage)] : []),
        ...(counter && counter.value.length > 1 ? [counted(counter)] : []),
        ...(data.gcs?.rows.length ? [heap(data.gcs), pauses(data.gcs)] : []),
      ];
      if (!charts.length) charts.push(nothing); // but marks
      made.push(...charts.map((c) => new uPlot(options(host, data, c), c.data, host)));
    };
    draw();
    const o = new ResizeObserver(() => made.forEach((u) => u.setSize({ width: host.clientWidth, height: u.height })));
    o.observe(host);
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", draw);
    return () => { o.disconnect(); media.removeEventListener("change", draw); made.forEach((u) => u.destroy()); };
  }, [data, counter, dark]);
  return <div ref={box} class="charts" />;
}

/** The axes of a chart over time. Each chart says the seconds: of several below each other one is often in sight alone. */
export function axes(values: (n: number) => string): uPlot.Axis[] {
  const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 }, font: "11px system-ui" };
  return [{ ...axis, size: 28, values: (_u, list) => list.map((v) => v + " s") }, { ...axis, size: 72, values: (_u, list) => list.map(values), space: 28 }];
}

/** One of the charts below each other: its series, without that of time, and their values. */
type Chart = { title: string; height: number; series: uPlot.Series[]; axis: (n: number) => string; data: uPlot.AlignedData };

const nothing: Chart = { title: "Marks", height: 60, series: [], axis: () => "", data: [[]] };

function options(host: HTMLElement, t: Timeline, chart: Chart): uPlot.Options {
  return {
    title: chart.title, width: host.clientWidth, height: chart.height + 14,
    scales: { x: { time: false, range: [0, ending(t)] }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
    cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: "time" }, points: { size: 6 } },
    legend: { show: chart.series.length > 0, live: true },
    axes: axes(chart.axis),
    series: [{ label: "time", value: (_u, v) => v == null ? "–" : v.toFixed(3) + " s" }, ...chart.series],
    hooks: {
      ready: [(u) => select(u, t)], setSize: [(u) => select(u, t)],
      drawClear: [(u) => bands(u, t.pauses)], draw: [(u) => lines(u, t.marks)],
      setSelect: [(u) => {
        if (u.select.width < 3 || isFile) return;
        const from = u.posToVal(u.select.left, "x") * 1e9, to = u.posToVal(u.select.left + u.select.width, "x") * 1e9;
        choose(from, to, t.slices);
      }],
    },
  };
}

/** Shows the span that is selected. */
function select(u: uPlot, t: Timeline) {
  if (!t.chosen) return;
  const left = u.valToPos(t.chosen.begin_ns / 1e9, "x"), right = u.valToPos(t.chosen.end_ns / 1e9, "x");
  u.setSelect({ left, width: Math.max(1, right - left), top: 0, height: u.over.clientHeight }, false);
}

/** A place on the axis of time, on the canvas. */
const across = (u: uPlot, ns: number) => Math.min(u.bbox.left + u.bbox.width, Math.max(u.bbox.left, u.valToPos(ns / 1e9, "x", true)));

/** What was paused is grey. */
export function bands(u: uPlot, pauses: { begin_ns: number; end_ns: number }[]) {
  u.ctx.fillStyle = color("--line");
  for (const p of pauses) if (p.end_ns / 1e9 >= u.scales.x.min!) u.ctx.fillRect(across(u, p.begin_ns), u.bbox.top, Math.max(1, across(u, p.end_ns) - across(u, p.begin_ns)), u.bbox.height);
}

/** The least room for a mark on average, in CSS pixels: where there is less, lines would hide what the chart shows. */
const markRoom = 12;

/** Marks are lines, with their names as far as there is room; where there are many, short lines and their number. */
export function lines(u: uPlot, marks: Timeline["marks"]) {
  const c = u.ctx, scale = devicePixelRatio;
  const shown = marks.filter((m) => m.at_ns / 1e9 >= u.scales.x.min! && m.at_ns / 1e9 <= u.scales.x.max!);
  const many = shown.length * markRoom * scale > u.bbox.width;
  c.save();
  c.strokeStyle = c.fillStyle = color("--soft");
  c.font = 11 * scale + "px system-ui";
  c.textAlign = "left";
  if (many) {
    c.globalAlpha = 0.6;
    c.fillText(`${shown.length.toLocaleString("en")} marks`, u.bbox.left + 3 * scale, u.bbox.top + 18 * scale);
  } else c.setLineDash([3 * scale, 3 * scale]);
  let free = 0, last = -1;
  for (const m of shown) {
    const x = across(u, m.at_ns);
    if (many && Math.round(x) === last) continue;
    last = Math.round(x);
    const width = many ? 0 : c.measureText(m.name).width;
    c.beginPath();
    c.moveTo(x, u.bbox.top);
    c.lineTo(x, u.bbox.top + (many ? 6 * scale : u.bbox.height));
    c.stroke();
    if (many || x < free || x + width > u.bbox.left + u.bbox.width) continue;
    c.fillText(m.name, x + 3 * scale, u.bbox.top + 10 * scale);
    free = x + width + 8 * scale;
  }
  c.restore();
}

/** Takes the slices that a range touches: of parts of a slice only the sum is known. */
function choose(from: number, to: number, slices: Timeline["slices"]) {
  const touched = slices.filter((s) => s.begin_ns < to && s.end_ns > from);
  if (!touched.length) return;
  const begin = touched[0].begin_ns, end = touched[touched.length - 1].end_ns;
  addTerm("time", (begin > 0 ? seconds(begin) : "") + ".." + (end < slices[slices.length - 1].end_ns || begin === 0 ? seconds(end) : ""));
}

function rate(data: Timeline): Chart {
  const xs: number[] = [], ys: number[] = [];
  for (const s of data.slices) {
    if (s.end_ns === s.begin_ns) continue;
    const y = s.bytes / Math.max(1e-6, (s.end_ns - s.begin_ns) / 1e9);
    xs.push(s.begin_ns / 1e9, s.end_ns / 1e9);
    ys.push(y, y);
  }
  return { title: "Allocated per second", height: 130, axis: bytes, data: [xs, ys],
    series: [{ label: "allocated", stroke: color("--bytes"), fill: color("--bytes-soft"), width: 1.5, points: { show: false }, value: (_u, v) => v == null ? "–" : formatBytes(Math.round(v)) + "/s" }] };
}

function processors(usage: Timeline["usage"]): Chart {
  const xs = usage.flatMap((u) => [u.begin_ns / 1e9, u.end_ns / 1e9]);
  const cores = usage.flatMap((u) => { const y = u.cpu_ns / Math.max(1, u.end_ns - u.begin_ns); return [y, y]; });
  return { title: "Processors used", height: 110, axis: (n) => n.toFixed(n < 10 ? 1 : 0), data: [xs, cores, xs.map(() => null)], series: [
    { label: "processors", stroke: color("--accent"), fill: color("--accent-back"), width: 1.5, points: { show: false }, value: (_u, v) => v == null ? "–" : v.toFixed(2) },
    { label: "threads", stroke: "transparent", points: { show: false }, value: (_u, _v, _s, i) => i == null ? "–" : String(usage[i >> 1].threads) },
  ] };
}

/** How a counter's values are written: bytes with their unit, what need not be whole with a fraction. */
export function counterText(c: { unit: string; is_sum: boolean }): (n: number) => string {
  return c.unit === "bytes" ? bytes : (n) => n.toFixed(Number.isInteger(n) && !c.is_sum || Math.abs(n) >= 100 ? 0 : Math.abs(n) >= 10 ? 1 : 2);
}

/** What a counter is called: what it means, or its name if nobody says that. Whose it is is told where it is not the program's. */
export function counterWords({ name, about }: { name: string; about: string }): string {
  const of: Record<string, string> = { cgroup: "of the control group: ", machine: "of the machine: " };
  const words = (of[name.split(".")[0]] ?? "") + about;
  return about ? words[0].toUpperCase() + words.slice(1) : name;
}

/** A counter: a level, or how fast a sum grew. Time per time is a number of processors. */
export function counted(c: CounterPoints): Chart {
  const isTime = c.is_sum && c.unit === "ns", one = counterText(c);
  const xs = c.begin_ns.flatMap((begin, i) => [begin / 1e9, c.end_ns[i] / 1e9]);
  const ys = c.value.flatMap((value, i) => { const y = c.is_sum ? value / Math.max(1, c.end_ns[i] - c.begin_ns[i]) * (isTime ? 1 : 1e9) : value; return [y, y]; });
  const per = c.is_sum ? isTime ? ", in processors" : ", per second" : "";
  return { title: counterWords(c) + per, height: 110, axis: one, data: [xs, ys], series: [
    { label: "counter", stroke: color("--alive"), width: 1.5, points: { show: false }, value: (_u, v) => v == null ? "–" : one(v) }] };
}

/** The values of a column; what is not there is 0. */
function values(sheet: Sheet, key: string): number[] {
  const at = sheet.columns.findIndex((c) => c.key === key);
  return sheet.rows.map((r) => Number(r.values[at] ?? 0));
}

const generations: [string, string, string][] = [["poh", "pinned", "--poh"], ["loh", "large", "--loh"], ["gen2", "gen 2", "--gen2"], ["gen1", "gen 1", "--gen1"], ["gen0", "gen 0", "--gen0"]];

/** The positions of numbers in their order. */
const ordered = (list: number[]) => list.map((_, i) => i).sort((a, b) => list[a] - list[b]);

function heap(gcs: Sheet): Chart {
  const paused = values(gcs, "pause_ns"), xs = values(gcs, "at_ns").map((v, i) => (v + paused[i]) / 1e9), order = ordered(xs);
  const parts = generations.map(([key]) => values(gcs, key + "_heap_after_bytes"));
  // Drawn over each other, the sum of all first, so that each part shows as a band.
  const stacked: number[][] = [];
  const sum = xs.map(() => 0);
  for (const part of parts) { part.forEach((v, i) => { sum[i] += v; }); stacked.push([...sum]); }
  const series = generations.map(([, label, stroke], g): uPlot.Series => ({
    label, stroke: color(stroke), fill: color(stroke), width: 1, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: xs.length === 1, size: 7 }, // a line needs two
    value: (_u, _v, _s, i) => i == null ? "–" : formatBytes(parts[g][order[i]]),
  })).reverse();
  return { title: "Heap after each collection", height: 130, axis: bytes, series, data: [order.map((i) => xs[i]), ...stacked.reverse().map((list) => order.map((i) => list[i]))] };
}

function pauses(gcs: Sheet): Chart {
  const xs = values(gcs, "at_ns").map((v) => v / 1e9), order = ordered(xs);
  const generation = values(gcs, "generation"), pause = values(gcs, "pause_ns"), induced = values(gcs, "induced");
  const series = [0, 1, 2].map((g): uPlot.Series => ({
    label: "gen " + g, stroke: color("--gen" + g), fill: color("--gen" + g), width: 2, paths: uPlot.paths.bars!({ size: [0.9, 5, 2] }), points: { show: false },
    value: (_u, v, _s, i) => v == null || i == null ? "–" : (v * 1e3).toFixed(2) + " ms, " + (induced[order[i]] ? "induced by the program" : "decided by the runtime"),
  }));
  const ys = [0, 1, 2].map((g) => order.map((i) => generation[i] === g ? pause[i] / 1e9 : null));
  return { title: "Pauses of collections", height: 106, axis: (v) => (v * 1e3).toFixed(v < 0.01 ? 1 : 0) + " ms", series, data: [order.map((i) => xs[i]), ...ys] };
}
