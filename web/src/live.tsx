// A recording that goes on: what its recorder tells, four times a second, as long as the page is in sight.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { comebacks, lost } from "./link";
import { Failed } from "./parts";
import { theme } from "./state";
import type { CounterPoints } from "./api";
import { clean } from "./table";
import { axes, bands, bytes, color, counted, counterText, counterWords, lines, usual } from "./timeline";
import { formatBytes, formatCount, formatDuration, formatTime } from "./units";

// The messages are documented in docs/live.md.
type Numbers = { allocations: number; bytes: number; calls: number };
type LiveRow = { id: number; name: string; short: string; module: string; new: Numbers; total: Numbers };
type Table = { rows: LiveRow[]; rest: { rows: number; new: Numbers } };
type GC = { process: number; number: number; generation: number; induced: boolean; begin_ns: number; pause_ns: number; died: { objects: number; bytes: number }; heap: { objects: number; bytes: number }[] };
type Mark = { at_ns: number; name: string; text: string; source: string };
type Counter = { name: string; unit: string; is_sum: boolean; about: string; at_ns: number; value: number };
type Pause = { id: number; level: string; begin_ns: number; end_ns: number; ended: boolean };
type Message = {
  id: number; event: "start" | "tick" | "end"; session: string; mode: string; begin_ns: number; end_ns: number; new: Numbers; total: Numbers;
  processes: number; threads: number; functions: Table; types: Table; gcs: { rows: GC[]; left_out: number; total: number }; marks: { rows: Mark[]; left_out: number; total: number };
  paused: boolean; estimated?: boolean; pauses: { rows: Pause[]; left_out: number; total: number }; counters: { rows: Counter[]; left_out: number };
  losses: { reason: string; events: number; allocations: number; bytes: number }[];
};

/** Points of a chart: at four messages a second those of five minutes. Older ones are left out, as the axis says. */
const mostPoints = 1200;
/** Rates are those of the last messages: two seconds of them. One alone would jump. */
const mostRecent = 8;
const mostRows = 15, mostGCs = 600, mostMarks = 600, mostPauses = 600;
/** Points of a small chart, which is not wider. */
const smallPoints = 120;

type Measure = "bytes" | "allocations" | "calls";

/** All that was told so far. */
class Recording {
  last?: Message;
  recent: Message[] = [];
  at: number[] = [];
  bytes: number[] = [];
  calls: number[] = [];
  gcs: GC[] = [];
  marks: Mark[] = [];
  pauses = new Map<number, Pause>();
  counters = new Map<string, CounterPoints & { at: number; total: number }>();
  functions = new Map<number, LiveRow>();
  types = new Map<number, LiveRow>();

  add(m: Message) {
    if (m.event === "start" || m.id !== (this.last?.id ?? -1) + 1) this.forget();
    for (const row of m.functions.rows) this.functions.set(row.id, row);
    for (const row of m.types.rows) this.types.set(row.id, row);
    const took = (m.end_ns - m.begin_ns) / 1e9;
    if (took > 0) {
      this.at.push(m.end_ns / 1e9);
      this.bytes.push(m.new.bytes / took);
      this.calls.push(m.new.calls / took);
      this.recent.push(m);
    }
    this.gcs.push(...m.gcs.rows);
    this.marks.push(...m.marks.rows.map((k) => ({ ...k, name: clean(k.name), text: clean(k.text) })));
    this.marks.splice(0, this.marks.length - mostMarks);
    for (const p of m.pauses.rows) this.pauses.set(p.id, p);
    for (const id of [...this.pauses.keys()].slice(0, Math.max(0, this.pauses.size - mostPauses))) this.pauses.delete(id);
    for (const c of m.counters.rows) this.count(c);
    for (const list of [this.at, this.bytes, this.calls]) list.splice(0, list.length - mostPoints);
    this.recent.splice(0, this.recent.length - mostRecent);
    this.gcs.splice(0, this.gcs.length - mostGCs);
    this.last = m;
  }

  /** A point more of a counter, as in the page of a session: a level, or by how much a sum has grown since the one before. */
  count(c: Counter) {
    let of = this.counters.get(c.name);
    const isFirst = !of;
    if (!of) this.counters.set(c.name, of = { name: c.name, unit: c.unit, is_sum: c.is_sum, about: clean(c.about), begin_ns: [], end_ns: [], value: [], at: c.at_ns, total: c.value });
    if (isFirst ? c.is_sum : c.at_ns <= of.at) return; // of a sum nobody knows how fast it grew; who comes to watch is told the last ones twice
    of.begin_ns.push(of.at); of.end_ns.push(c.at_ns); of.value.push(c.is_sum ? c.value - of.total : c.value);
    of.at = c.at_ns;
    of.total = c.value;
    for (const list of [of.begin_ns, of.end_ns, of.value]) list.splice(0, list.length - mostPoints);
  }

  /** What was paused lately, up to now if it still is. */
  paused(): { begin_ns: number; end_ns: number }[] {
    return [...this.pauses.values()].map((p) => ({ begin_ns: p.begin_ns, end_ns: p.ended ? p.end_ns : this.last!.end_ns }));
  }

  /** Everything since the start follows. */
  forget() {
    this.recent = []; this.at = []; this.bytes = []; this.calls = []; this.gcs = []; this.marks = [];
    this.functions.clear(); this.types.clear(); this.pauses.clear(); this.counters.clear();
  }

  rate(measure: Measure): number {
    const took = this.recent.reduce((sum, m) => sum + m.end_ns - m.begin_ns, 0) / 1e9;
    return took ? this.recent.reduce((sum, m) => sum + m.new[measure], 0) / took : 0;
  }

  /** What did most, lately or since the start: per second or in sum. */
  most(table: "functions" | "types", measure: Measure, lately: boolean): { row: LiveRow; value: number }[] {
    const all = this[table], took = this.recent.reduce((sum, m) => sum + m.end_ns - m.begin_ns, 0) / 1e9;
    const out: { row: LiveRow; value: number }[] = [];
    if (lately) {
      const sums = new Map<number, number>();
      for (const m of this.recent) for (const row of m[table].rows) sums.set(row.id, (sums.get(row.id) ?? 0) + row.new[measure]);
      for (const [id, sum] of sums) out.push({ row: all.get(id)!, value: took ? sum / took : 0 });
    } else {
      for (const row of all.values()) out.push({ row, value: row.total[measure] });
    }
    return out.filter((x) => x.value > 0).sort((a, b) => Number(isFew(this.last, a.row)) - Number(isFew(this.last, b.row)) || b.value - a.value || a.row.id - b.row.id).slice(0, mostRows);
  }
}

const show = (measure: Measure, n: number) => measure === "bytes" ? formatBytes(Math.round(n)) : formatCount(Math.round(n));

/** What samples stand for that are too few for a number, at most: an estimate of fewer bytes may be of fewer than ten. */
const bytesOfFew = 10 * 153_600;
/** Whether a row may be of too few samples for a number. */
const isFew = (m: Message | undefined, row: LiveRow) => !!m?.estimated && row.total.bytes < bytesOfFew;
const few = "<10 samples";

export function LiveView() {
  const [recording] = useState(() => new Recording());
  const [, redraw] = useState(0);
  const [error, setError] = useState("");
  const [lately, setLately] = useState(true);
  const [counter, setCounter] = useState(usual);
  const [chosen, setMeasure] = useState<Measure | "">("");
  useEffect(() => {
    let source: EventSource | undefined;
    const stop = () => { source?.close(); source = undefined; };
    const start = () => {
      if (source || document.hidden) return;
      const own = source = new EventSource("/api/live?after=" + (recording.last?.id ?? 0));
      own.onmessage = (e) => { recording.add(JSON.parse(e.data)); setError(""); redraw((n) => n + 1); };
      own.onerror = () => { if (own.readyState === EventSource.CLOSED) stop(); lost(); };
      own.addEventListener("failed", (e) => { stop(); setError(JSON.parse((e as MessageEvent).data).error); setTimeout(look, 2000); });
      own.addEventListener("finished", () => { stop(); location.reload(); });
    };
    // Nothing is computed for a page that nobody sees.
    const look = () => document.hidden ? stop() : start();
    document.addEventListener("visibilitychange", look);
    start();
    return () => { document.removeEventListener("visibilitychange", look); stop(); };
  }, [comebacks.value]);
  const m = recording.last, about = m?.estimated ? "≈" : "";
  if (!m) return error ? <Failed error={error} /> : <p class="waiting" role="status">Waiting for the program…</p>;
  const modes = m.mode.split(","), hasTime = modes.includes("time"), hasMemory = m.mode !== "time"; // "lifetime" is not "time"
  const measure = chosen || (hasMemory ? "bytes" : "calls");
  const measures: [Measure, string][] = [...(hasMemory ? [["bytes", "bytes"], ["allocations", "objects"]] as [Measure, string][] : []), ...(hasTime ? [["calls", "calls"]] as [Measure, string][] : [])];
  return <div class="overview live" data-id={m.id}>
    <header class="title"><h1>{m.event === "end" ? "Recorded" : m.paused ? "Paused" : "Recording"}</h1><p>{m.event === "end" ? "The program has ended: its session is being written." : m.paused ? "The program is running, but nothing is recorded until clrprof ctl, a signal or the program itself resumes the recording." : "The program is running. When it has ended, this page shows its session."}</p></header>
    {error ? <Failed error={error} /> : null}
    <section class="facts" aria-label="Totals">
      <Fact name="duration" value={formatTime(m.end_ns)} more={`${formatCount(m.processes)} ${m.processes === 1 ? "process" : "processes"}, ${formatCount(m.threads)} ${m.threads === 1 ? "thread" : "threads"}`} />
      {hasMemory ? <Fact name="allocated" value={about + formatCount(m.total.allocations) + " objects"} more={`${about}${formatBytes(m.total.bytes)}; ${about}${formatBytes(Math.round(recording.rate("bytes")))} per second now`} /> : null}
      {hasTime ? <Fact name="calls" value={formatCount(m.total.calls)} more={formatCount(Math.round(recording.rate("calls"))) + " per second now"} /> : null}
      {m.gcs.total ? <Fact name="collections" value={formatCount(m.gcs.total)} more={recording.gcs.length ? "the last paused for " + formatDuration(recording.gcs[recording.gcs.length - 1].pause_ns) : ""} /> : null}
      <div class={"fact" + (m.losses.length ? " lost" : "")}><small>losses</small><strong>{m.losses.length ? m.losses.map((l) => `${l.reason} (${formatCount(l.events)})`).join(", ") : "none"}</strong></div>
    </section>
    <section class="timeline" aria-label="What happens when"><header><h2>Over time</h2>{recording.pauses.size ? <p>Grey: nothing was recorded.</p> : null}</header><Charts recording={recording} id={m.id} memory={hasMemory} time={hasTime} counter={recording.counters.has(counter) ? counter : ""} dark={theme.value} /></section>
    <div class="tools">
      <label>by <select value={measure} onChange={(e) => setMeasure(e.currentTarget.value as Measure)}>{measures.map(([key, label]) => <option key={key} value={key}>{label}</option>)}</select></label>
      <label><input type="checkbox" checked={!lately} onChange={(e) => setLately(!e.currentTarget.checked)} /> since the start</label>
    </div>
    <div class="lists">
      <Most title={lately ? "Functions, per second now" : "Functions, since the start"} list={recording.most("functions", measure, lately)} of={m} measure={measure} hidden={m.functions.rest.rows} />
      {measure !== "calls" ? <Most title={lately ? "Types, per second now" : "Types, since the start"} list={recording.most("types", measure, lately)} of={m} measure={measure} hidden={m.types.rest.rows} /> : null}
      {m.gcs.total ? <Collections list={recording.gcs} total={m.gcs.total} /> : null}
      {recording.counters.size ? <Counters list={[...recording.counters.values()]} chosen={counter} choose={setCounter} leftOut={m.counters.left_out} /> : null}
      {m.marks.total ? <Marks list={recording.marks} total={m.marks.total} /> : null}
    </div>
  </div>;
}

function Fact({ name, value, more }: { name: string; value: string; more: string }) {
  return <div class="fact" data-fact={name}><small>{name}</small><strong>{value}</strong>{more ? <span>{more}</span> : null}</div>;
}

function Most({ title, list, of, measure, hidden }: { title: string; list: { row: LiveRow; value: number }[]; of: Message; measure: Measure; hidden: number }) {
  return <section><h2>{title}</h2>
    {list.length ? <table class="now"><thead><tr><th scope="col">Name</th><th scope="col">{{ bytes: "Bytes", allocations: "Objects", calls: "Calls" }[measure]}</th></tr></thead>
      <tbody>{list.map(({ row, value }) => <tr key={row.id}><td title={clean(row.name)}>{clean(row.short)}</td><td>{isFew(of, row) ? few : (of.estimated && measure !== "calls" ? "≈" : "") + show(measure, value)}</td></tr>)}</tbody></table> : <p class="hint">Nothing now.</p>}
    {hidden ? <p class="hint">{formatCount(hidden)} more that changed least are left out.</p> : null}
  </section>;
}

function Collections({ list, total }: { list: GC[]; total: number }) {
  const last = list.slice(-mostRows).reverse();
  return <section><h2>Collections</h2>
    <table class="now"><thead><tr>{["Number", "Generation", "At", "Pause", "Died", "Heap after"].map((h) => <th scope="col" key={h}>{h}</th>)}</tr></thead>
      <tbody>{last.map((g) => <tr key={g.process + "." + g.number}><td>{g.number}</td><td>{g.generation}{g.induced ? " (induced)" : ""}</td><td>{formatTime(g.begin_ns)}</td><td>{formatDuration(g.pause_ns)}</td>
        <td>{formatBytes(g.died.bytes)}</td><td>{formatBytes(g.heap.reduce((sum, h) => sum + h.bytes, 0))}</td></tr>)}</tbody></table>
    {total > last.length ? <p class="hint">{formatCount(total - last.length)} earlier ones.</p> : null}
  </section>;
}

/** What each counter says now, and what it said before, as a small chart. A click shows it among the charts over time. */
function Counters({ list, chosen, choose, leftOut }: { list: CounterPoints[]; chosen: string; choose: (name: string) => void; leftOut: number }) {
  return <section class="counters"><h2>Counters</h2>
    <table class="now"><thead><tr><th scope="col">Name</th><th scope="col">Lately</th><th scope="col">Now</th></tr></thead>
      <tbody>{list.map((c) => {
        const points = counted(c).data[1] as number[];
        return <tr key={c.name}><td title={c.name}><button type="button" aria-pressed={c.name === chosen} onClick={() => choose(c.name)}>{counterWords(c)}</button></td>
          <td><Small values={points.filter((_, i) => i % 2 === 1).slice(-smallPoints)} /></td><td>{points.length ? counterText(c)(points[points.length - 1]) : "–"}</td></tr>;
      })}</tbody></table>
    {leftOut ? <p class="hint">{formatCount(leftOut)} more are sampled, and are in the session.</p> : null}
  </section>;
}

function Small({ values }: { values: number[] }) {
  const most = Math.max(...values, 0) || 1;
  const at = (v: number, i: number) => `${(i / Math.max(1, values.length - 1) * 100).toFixed(1)},${(19 - Math.max(0, v) / most * 18).toFixed(1)}`;
  return <svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true"><polyline points={values.map(at).join(" ")} /></svg>;
}

function Marks({ list, total }: { list: Mark[]; total: number }) {
  const last = list.slice(-mostRows).reverse();
  return <section class="marks"><h2>Marks</h2>
    <table class="now"><thead><tr>{["Name", "Text", "From", "At"].map((h) => <th scope="col" key={h}>{h}</th>)}</tr></thead>
      <tbody>{last.map((k, i) => <tr key={total - i}><td title={k.name}>{k.name}</td><td title={k.text}>{k.text}</td><td>{k.source}</td><td>{formatTime(k.at_ns)}</td></tr>)}</tbody></table>
    {total > last.length ? <p class="hint">{formatCount(total - last.length)} earlier ones.</p> : null}
  </section>;
}

type Drawn = { chart: uPlot; data: () => uPlot.AlignedData };

function Charts({ recording, id, memory, time, counter, dark }: { recording: Recording; id: number; memory: boolean; time: boolean; counter: string; dark: string }) {
  const box = useRef<HTMLDivElement>(null), made = useRef<Drawn[]>([]);
  const collects = recording.gcs.length > 0;
  useEffect(() => {
    const host = box.current!;
    made.current = [
      ...(memory ? [line(host, recording, "Allocated per second", (n) => formatBytes(Math.round(n)), () => [recording.at, recording.bytes])] : []),
      ...(time ? [line(host, recording, "Calls per second", (n) => formatCount(Math.round(n)), () => [recording.at, recording.calls])] : []),
      ...(collects ? [heap(host, recording)] : []),
      ...(counter ? [count(host, recording, counter)] : []),
    ];
    const o = new ResizeObserver(() => made.current.forEach(({ chart }) => chart.setSize({ width: host.clientWidth, height: chart.height })));
    o.observe(host);
    return () => { o.disconnect(); made.current.splice(0).forEach(({ chart }) => chart.destroy()); };
  }, [memory, time, collects, counter, dark]);
  useEffect(() => { for (const { chart, data } of made.current) chart.setData(data()); }, [id]);
  return <div ref={box} class="charts" />;
}

function draw(host: HTMLElement, recording: Recording, title: string, axis: (n: number) => string, series: uPlot.Series[], data: () => uPlot.AlignedData): Drawn {
  const chart = new uPlot({
    title, width: host.clientWidth, height: series.length > 1 ? 150 : 110, scales: { x: { time: false, range: () => [recording.at[0] ?? 0, (recording.last?.end_ns ?? 1e9) / 1e9] }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
    cursor: { drag: { x: false, y: false }, sync: { key: "live" } }, legend: { show: series.length > 1, live: true }, axes: axes(axis), hooks: { drawClear: [(u) => bands(u, recording.paused())], draw: [(u) => lines(u, recording.marks)] },
    series: [{ label: "time", value: (_u, v) => v == null ? "–" : v.toFixed(1) + " s" }, ...series],
  }, data(), host);
  return { chart, data };
}

function count(host: HTMLElement, recording: Recording, name: string): Drawn {
  const known = recording.counters.get(name); // it may have gone since the page was drawn: another recorder tells now
  const { title, axis, series } = counted(known ?? { name, unit: "", is_sum: false, about: "", begin_ns: [], end_ns: [], value: [] });
  return draw(host, recording, title, axis, series, () => { const c = recording.counters.get(name); return c ? counted(c).data : [[], []]; });
}

function line(host: HTMLElement, recording: Recording, title: string, values: (n: number) => string, data: () => uPlot.AlignedData): Drawn {
  return draw(host, recording, title, title.startsWith("Allocated") ? bytes : values, [{ label: "per second", stroke: color("--bytes"), fill: color("--bytes-soft"), width: 1.5, points: { show: false }, value: (_u, v) => v == null ? "–" : values(v) }], data);
}

const generations: [string, string][] = [["gen 0", "--gen0"], ["gen 1", "--gen1"], ["gen 2", "--gen2"], ["large", "--loh"], ["pinned", "--poh"]];

/** The heap after each collection; of several processes that of the one that collected. Each part is drawn over the sum of all. */
function heap(host: HTMLElement, recording: Recording): Drawn {
  const sums = () => {
    const ends = recording.gcs.map((g) => (g.begin_ns + g.pause_ns) / 1e9), order = ends.map((_, i) => i).sort((a, b) => ends[a] - ends[b]);
    const lists = generations.map((_, first) => order.map((i) => recording.gcs[i].heap.slice(first).reduce((sum, h) => sum + h.bytes, 0)));
    return [order.map((i) => ends[i]), ...lists] as uPlot.AlignedData;
  };
  const series = generations.map(([label, stroke], i): uPlot.Series => ({
    label, stroke: color(stroke), fill: color(stroke), width: 1, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: () => recording.gcs.length === 1, size: 7 },
    value: (u, v, _s, at) => v == null || at == null ? "–" : formatBytes(v - (i + 2 < u.data.length ? u.data[i + 2][at] ?? 0 : 0)),
  }));
  return draw(host, recording, "Heap after each collection", bytes, series, sums);
}
