// What happened when: allocation by slice of time, the heap after each collection, pauses. A dragged range selects it.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { getWhole } from "./api";
import type { Sheet, Timeline } from "./api";
import { isFile } from "./offline";
import { Failed, useLoad } from "./parts";
import { addTerm, param, removeTerm, theme } from "./state";

/** A colour of the style sheet as it is in the theme of the moment. */
export function color(name: string): string {
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

export function TimelineView() {
  // The whole run, so that the range can be moved.
  const { value, error } = useLoad("timeline", (more) => getWhole<Timeline>("timeline", more));
  if (error) return <Failed error={error} />;
  if (!value || !value.slices.some((s) => s.bytes > 0)) return null;
  return <section class="timeline" aria-label="What happened when">
    <header><h2>Over time</h2><p>{isFile ? "" : "Drag to look at a span: every view follows it. "}{param("time")
      ? <button type="button" onClick={() => removeTerm("time", param("time"))}>Whole run</button> : null}</p></header>
    <Charts data={value} range={param("time")} dark={theme.value} />
  </section>;
}

function Charts({ data, range, dark }: { data: Timeline; range: string; dark: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const made: uPlot[] = [];
    const draw = () => {
      made.splice(0).forEach((u) => u.destroy());
      shown = data;
      const end = data.slices[data.slices.length - 1].end_ns / 1e9;
      if (data.slices.some((s) => s.bytes > 0)) made.push(rate(host, data, end));
      if (data.usage.length > 1) made.push(processors(host, data.usage, end));
      if (data.gcs && data.gcs.rows.length) made.push(heap(host, data.gcs, end), pauses(host, data.gcs, end));
      const [from, to] = range.split("..").map((t) => parseFloat(t));
      if (range) for (const u of made) {
        const left = u.valToPos(Number.isNaN(from) ? 0 : from, "x"), right = u.valToPos(Number.isNaN(to) ? end : to, "x");
        u.setSelect({ left, width: Math.max(1, right - left), top: 0, height: u.over.clientHeight }, false);
      }
    };
    draw();
    const o = new ResizeObserver(() => made.forEach((u) => u.setSize({ width: host.clientWidth, height: u.height })));
    o.observe(host);
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", draw);
    return () => { o.disconnect(); media.removeEventListener("change", draw); made.forEach((u) => u.destroy()); };
  }, [data, range, dark]);
  return <div ref={box} class="charts" />;
}

/** The axes of a chart over time; only the last of several below each other says the seconds. */
export function axes(values: (n: number) => string, last: boolean): uPlot.Axis[] {
  const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 }, font: "11px system-ui" };
  return [{ ...axis, size: last ? 28 : 14, values: (_u, list) => list.map((v) => last ? v + " s" : "") }, { ...axis, size: 72, values: (_u, list) => list.map(values), space: 28 }];
}

function options(host: HTMLElement, title: string, height: number, end: number, slices: Timeline["slices"] | undefined, series: uPlot.Series[], values: (n: number) => string, last: boolean): uPlot.Options {
  return {
    title, width: host.clientWidth, height, scales: { x: { time: false, range: [0, end] }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
    cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: "time" }, points: { size: 6 } },
    legend: { live: true },
    axes: axes(values, last),
    series: [{ label: "time", value: (_u, v) => v == null ? "–" : v.toFixed(3) + " s" }, ...series],
    hooks: {
      drawClear: [bands], draw: [lines],
      setSelect: [(u) => {
        if (u.select.width < 3 || isFile) return;
        const from = u.posToVal(u.select.left, "x") * 1e9, to = u.posToVal(u.select.left + u.select.width, "x") * 1e9;
        choose(from, to, slices);
      }],
    },
  };
}

let shown: Timeline | undefined;

/** A place on the axis of time, on the canvas. */
const across = (u: uPlot, ns: number) => Math.min(u.bbox.left + u.bbox.width, Math.max(u.bbox.left, u.valToPos(ns / 1e9, "x", true)));

/** What was paused is grey. */
function bands(u: uPlot) {
  u.ctx.fillStyle = color("--line");
  for (const p of shown?.pauses ?? []) u.ctx.fillRect(across(u, p.begin_ns), u.bbox.top, Math.max(1, across(u, p.end_ns) - across(u, p.begin_ns)), u.bbox.height);
}

/** Marks are lines, with their names as far as there is room. */
function lines(u: uPlot) {
  const c = u.ctx, scale = devicePixelRatio;
  c.save();
  c.strokeStyle = c.fillStyle = color("--soft");
  c.font = 11 * scale + "px system-ui";
  c.textAlign = "left";
  c.setLineDash([3 * scale, 3 * scale]);
  let free = 0;
  for (const m of shown?.marks ?? []) {
    const x = across(u, m.at_ns), width = c.measureText(m.name).width;
    c.beginPath();
    c.moveTo(x, u.bbox.top);
    c.lineTo(x, u.bbox.top + u.bbox.height);
    c.stroke();
    if (x < free || x + width > u.bbox.left + u.bbox.width) continue;
    c.fillText(m.name, x + 3 * scale, u.bbox.top + 10 * scale);
    free = x + width + 8 * scale;
  }
  c.restore();
}

let borders: Timeline["slices"] = [];

/** Takes the slices that a range touches: of parts of a slice only the sum is known. */
function choose(from: number, to: number, slices = borders) {
  const touched = slices.filter((s) => s.begin_ns < to && s.end_ns > from);
  if (!touched.length) return;
  const begin = touched[0].begin_ns, end = touched[touched.length - 1].end_ns;
  addTerm("time", (begin > 0 ? seconds(begin) : "") + ".." + (end < slices[slices.length - 1].end_ns || begin === 0 ? seconds(end) : ""));
}

function rate(host: HTMLElement, data: Timeline, end: number): uPlot {
  borders = data.slices;
  const xs: number[] = [], ys: number[] = [];
  for (const s of data.slices) {
    const y = s.bytes / Math.max(1e-6, (s.end_ns - s.begin_ns) / 1e9);
    if (s.end_ns === s.begin_ns) continue;
    xs.push(s.begin_ns / 1e9, s.end_ns / 1e9);
    ys.push(y, y);
  }
  return new uPlot(options(host, "Allocated per second", 130, end, data.slices,
    [{ label: "allocated", stroke: color("--bytes"), fill: color("--bytes-soft"), width: 1.5, points: { show: false }, value: (_u, v) => v == null ? "–" : bytes(v) + "/s" }],
    bytes, !data.gcs?.rows.length), [xs, ys], host);
}

function processors(host: HTMLElement, usage: Timeline["usage"], end: number): uPlot {
  const xs = usage.flatMap((u) => [u.begin_ns / 1e9, u.end_ns / 1e9]);
  const cores = usage.flatMap((u) => { const y = u.cpu_ns / Math.max(1, u.end_ns - u.begin_ns); return [y, y]; });
  return new uPlot(options(host, "Processors used", 110, end, undefined, [
    { label: "processors", stroke: color("--accent"), fill: color("--accent-back"), width: 1.5, points: { show: false }, value: (_u, v) => v == null ? "–" : v.toFixed(2) },
    { label: "threads", stroke: "transparent", points: { show: false }, value: (_u, _v, _s, i) => i == null ? "–" : String(usage[i >> 1].threads) },
    { label: "memory in RAM", stroke: "transparent", points: { show: false }, value: (_u, _v, _s, i) => i == null ? "–" : bytes(usage[i >> 1].resident_bytes) },
  ], (n) => n.toFixed(n < 10 ? 1 : 0), false), [xs, cores, xs.map(() => null), xs.map(() => null)], host);
}

function cells(sheet: Sheet, key: string): number[] {
  const at = sheet.columns.findIndex((c) => c.key === key);
  return sheet.rows.map((r) => Number(r.values[at] ?? 0));
}

const generations: [string, string, string][] = [["poh", "pinned", "--poh"], ["loh", "large", "--loh"], ["gen2", "gen 2", "--gen2"], ["gen1", "gen 1", "--gen1"], ["gen0", "gen 0", "--gen0"]];

function heap(host: HTMLElement, gcs: Sheet, end: number): uPlot {
  const xs = cells(gcs, "at_ns").map((v, i) => (v + cells1(gcs, "pause_ns", i)) / 1e9);
  const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b]);
  const parts = generations.map(([key]) => cells(gcs, key + "_heap_after_bytes"));
  // Drawn over each other, the sum of all first, so that each part shows as a band.
  const stacked: number[][] = [];
  const sum = xs.map(() => 0);
  for (const part of parts) { part.forEach((v, i) => { sum[i] += v; }); stacked.push([...sum]); }
  const series = generations.map(([, label, stroke], g): uPlot.Series => ({
    label, stroke: color(stroke), fill: color(stroke), width: 1, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false },
    value: (_u, _v, _s, i) => i == null ? "–" : bytes(parts[g][order[i]]),
  })).reverse();
  const ys = stacked.reverse().map((list) => order.map((i) => list[i]));
  return new uPlot(options(host, "Heap after each collection", 130, end, undefined, series, bytes, false), [order.map((i) => xs[i]), ...ys], host);
}

function cells1(sheet: Sheet, key: string, row: number): number {
  const at = sheet.columns.findIndex((c) => c.key === key);
  return Number(sheet.rows[row].values[at] ?? 0);
}

function pauses(host: HTMLElement, gcs: Sheet, end: number): uPlot {
  const xs = cells(gcs, "at_ns").map((v) => v / 1e9);
  const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b]);
  const generation = cells(gcs, "generation"), pause = cells(gcs, "pause_ns");
  const series = [0, 1, 2].map((g): uPlot.Series => ({
    label: "gen " + g, stroke: color("--gen" + g), fill: color("--gen" + g), width: 2, paths: uPlot.paths.bars!({ size: [0.9, 5, 2] }), points: { show: false },
    value: (_u, v) => v == null ? "–" : (v * 1e3).toFixed(2) + " ms",
  }));
  const ys = [0, 1, 2].map((g) => order.map((i) => generation[i] === g ? pause[i] / 1e9 : null));
  return new uPlot(options(host, "Pauses of collections", 120, end, undefined, series, (v) => (v * 1e3).toFixed(v < 0.01 ? 1 : 0) + " ms", true), [order.map((i) => xs[i]), ...ys], host);
}

