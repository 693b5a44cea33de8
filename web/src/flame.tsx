// The flame graph: a canvas on which the walk draws what is in sight.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getBytes } from "./api";
import type { Session } from "./api";
import { isFile } from "./offline";
import { Command, copy, Failed, useLoad, Waiting } from "./parts";
import { addTerm, change, param, theme, viewAddress } from "./state";
import { color } from "./timeline";
import { format, formatCount, formatPercent } from "./units";
import { decode, find, hiddenName, hit, pathOf, search, walk } from "./walk";
import type { Frames, Matches } from "./walk";

const row = matchMedia("(pointer: coarse)").matches ? 26 : 19;
const least = 1; // pixels; narrower frames are one grey block

export function FlameView({ session }: { session: Session }) {
  const metric = param("metric"), up = param("up"), most = param("most");
  const { value, error, loading } = useLoad(`flame ${metric} ${up} ${most}`, () => getBytes("flame", { metric, up, most }).then(decode));
  const options = session.metrics;
  return <section class="view flame">
    <header class="title"><h1>Flame graph</h1>
      <p>{up ? "Bottom-up: who spends. Below each function are those that called it." : "Each function is above those that it calls, as wide as what it takes."}</p></header>
    <div class="tools">
      <label>by <select id="metric" value={metric || options[0]?.key} onChange={(e) => change({ metric: e.currentTarget.value, at: "" })}>
        {options.map((m) => <option key={m.key} value={m.key} title={m.about}>{m.title}</option>)}</select></label>
      <label><input type="checkbox" checked={!!up} onChange={() => change({ up: up ? "" : "1", at: "" })} /> bottom-up</label>
      <label><input type="checkbox" checked={!!param("flip")} onChange={() => change({ flip: param("flip") ? "" : "1" })} /> flames (root below)</label>
      <label>search <input id="find" type="search" value={param("find")} placeholder="part of a name" onInput={(e) => change({ find: e.currentTarget.value }, true)} /></label>
    </div>
    {error ? <Failed error={error} /> : value ? value.count ? <Graph key={metric + up} f={value} stale={loading} /> : <p class="hint">Nothing to show: no frame has any of this.</p> : <Waiting />}
  </section>;
}

function fnv(s: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193) >>> 0;
  return h;
}

/** The colours of modules: those of the framework stay in the background. */
function palette(f: Frames, dark: boolean): string[] {
  return f.modules.map((m) => {
    const framework = m === "" || /^(System|Microsoft|mscorlib|netstandard)\b/.test(m);
    const hue = framework ? 205 + fnv(m) % 40 : [24, 42, 340, 96, 150, 275, 12, 60][fnv(m) % 8];
    return framework ? `hsl(${hue} ${dark ? "16% 30%" : "26% 86%"})` : `hsl(${hue} ${dark ? "42% 36%" : "68% 78%"})`;
  });
}

function Graph({ f, stale }: { f: Frames; stale: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [top, setTop] = useState(0);
  const [over, setOver] = useState(-1);
  const [pan, setPan] = useState<[number, number] | undefined>();
  const at = param("at"), flip = !!param("flip"), text = param("find");
  const zoomed = useMemo(() => at ? find(f, at) : -1, [f, at]);
  const matches = useMemo(() => search(f, text), [f, text]);
  const [chosen, setChosen] = useState(-1);
  useEffect(() => { setPan(undefined); setTop(0); setChosen(zoomed); }, [zoomed, f]);
  const [from, to] = pan ?? (zoomed >= 0 ? [f.left[zoomed], f.left[zoomed] + f.value[zoomed]] : [0, f.total]);
  const height = Math.max(size.height, 1), all = (f.deepest + 1) * row;
  const mostTop = Math.max(0, all - height);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? theme.value !== "light" : theme.value === "dark";
  const colors = useMemo(() => palette(f, dark), [f, dark]);

  useEffect(() => {
    const c = canvas.current!;
    const measure = () => setSize({ width: c.clientWidth, height: c.clientHeight });
    const o = new ResizeObserver(measure);
    o.observe(c);
    measure();
    return () => o.disconnect();
  }, []);

  useEffect(() => {
    const c = canvas.current;
    if (!c || !size.width) return;
    const request = requestAnimationFrame(() => draw(c, f, { from, to, top: Math.min(top, mostTop), ...size, flip, colors, matches, over, chosen, zoomed }));
    return () => cancelAnimationFrame(request);
  });

  const point = (e: MouseEvent) => {
    const y = flip ? height - e.offsetY : e.offsetY;
    return hit(f, from + e.offsetX / size.width * (to - from), Math.floor((y + Math.min(top, mostTop)) / row));
  };
  const zoom = (i: number) => change({ at: i < 0 || f.depth[i] === 0 ? "" : pathOf(f, i) });
  const scaleBy = (by: number, center = (from + to) / 2) => {
    const width = Math.min(f.total, Math.max((to - from) * by, f.total / 1e9));
    const start = Math.max(0, Math.min(f.total - width, center - (center - from) * width / (to - from)));
    setPan([start, start + width]);
  };
  const move = (by: number) => {
    const width = to - from, start = Math.max(0, Math.min(f.total - width, from + by * width));
    setPan([start, start + width]);
  };
  const show = (i: number) => {
    setChosen(i);
    const y = f.depth[i] * row;
    if (y < top || y > top + height - row * 2) setTop(Math.max(0, Math.min(mostTop, y - height / 2)));
  };
  const next = (by: number) => {
    const list = matches?.frames ?? [];
    if (!list.length) return;
    const i = list.findIndex((m) => m >= chosen);
    const to = by > 0 ? list.find((m) => m > chosen) ?? list[0] : list[(i <= 0 ? list.length : i) - 1];
    show(to);
    if (f.value[to] / f.total * size.width < 30) change({ at: pathOf(f, to) }, true);
  };
  useEffect(() => {
    const events: [string, () => void][] = [["nextmatch", () => next(1)], ["previousmatch", () => next(-1)], ["zoomin", () => scaleBy(0.5)], ["zoomout", () => scaleBy(2)],
      ["panleft", () => move(-0.25)], ["panright", () => move(0.25)]];
    for (const [name, on] of events) addEventListener(name, on);
    return () => { for (const [name, on] of events) removeEventListener(name, on); };
  });
  const onKey = (e: KeyboardEvent) => {
    const i = chosen >= 0 ? chosen : 0;
    const sibling = (by: number) => {
      if (by > 0) return f.end[i] < f.count && f.depth[f.end[i]] === f.depth[i] ? f.end[i] : i;
      let before = f.parent[i] + 1, last = i;
      while (before < i) { last = before; before = f.end[before]; }
      return last;
    };
    const steps: Record<string, () => number> = {
      ArrowRight: () => sibling(1), ArrowLeft: () => sibling(-1), [flip ? "ArrowUp" : "ArrowDown"]: () => f.end[i] > i + 1 ? i + 1 : i, [flip ? "ArrowDown" : "ArrowUp"]: () => Math.max(0, f.parent[i]),
    };
    if (steps[e.key]) { e.preventDefault(); show(steps[e.key]()); } else if (e.key === "Enter") open(i);
  };
  const open = (i: number) => f.name[i] === hiddenName ? change({ most: String(Math.min(8_000_000, f.count * 8)) }) : zoom(i);
  const drag = useRef<{ x: number; y: number; from: number; to: number; top: number; moved: boolean } | undefined>(undefined);
  const shown = over >= 0 ? over : chosen;
  const stack = () => { const out = []; for (let i = chosen; i >= 0; i = f.parent[i]) if (f.depth[i]) out.push(f.full[f.name[i]]); return param("up") ? out.reverse() : out; };
  const name = chosen >= 0 && f.depth[chosen] > 0 && f.name[chosen] !== hiddenName ? f.full[f.name[chosen]] : "";
  const crumbs: number[] = [];
  for (let i = zoomed; i >= 0; i = f.parent[i]) crumbs.unshift(i);
  return <div class={stale ? "stale" : ""}>
    <div class="tools">
      <button type="button" disabled={!at && !pan} onClick={() => { setPan(undefined); change({ at: "" }); }}>All of it</button>
      <button type="button" disabled={!name || isFile} onClick={() => addTerm("focus", name)}>Only stacks with it</button>
      <button type="button" disabled={!name || isFile} onClick={() => addTerm("hide", name)}>Hide it</button>
      {name ? <a class="button" href={viewAddress("callers", { argument: name })}>Callers and callees</a> : null}
      <button type="button" disabled={!name} onClick={() => copy(stack().join("\n"), "Stack")}>Copy stack</button>
      {matches ? <span class="count" role="status">{formatCount(matches.frames.length)} matches: {format(f.kind, matches.sum)} ({formatPercent(matches.sum, f.total)}), themselves {format(f.kind, matches.own)}</span> : null}
    </div>
    {crumbs.length > 1 ? <p class="crumbs">{crumbs.slice(-6).map((i, k, list) => <span key={i}>{k === 0 && crumbs.length > 6 ? "… › " : ""}
      {k < list.length - 1 ? <button type="button" onClick={() => zoom(i)}>{f.short[f.name[i]]}</button> : <b>{f.short[f.name[i]]}</b>}{k < list.length - 1 ? " › " : ""}</span>)}</p> : null}
    <canvas ref={canvas} tabIndex={0} role="img" aria-label={"Flame graph by " + f.metric.title + ". Arrows move among functions, Enter zooms; what is chosen is said below."}
      onKeyDown={onKey} onMouseLeave={() => setOver(-1)}
      onMouseDown={(e) => { drag.current = { x: e.clientX, y: e.clientY, from, to, top: Math.min(top, mostTop), moved: false }; }}
      onMouseMove={(e) => {
        const d = drag.current;
        if (d && e.buttons === 1) {
          const x = e.clientX - d.x, y = e.clientY - d.y;
          if (!d.moved && Math.abs(x) + Math.abs(y) < 5) return;
          d.moved = true;
          const width = d.to - d.from, start = Math.max(0, Math.min(f.total - width, d.from - x / size.width * width));
          setPan([start, start + width]);
          setTop(Math.max(0, Math.min(mostTop, d.top + (flip ? y : -y))));
        } else setOver(point(e));
      }}
      onClick={(e) => { if (drag.current?.moved) return; const i = point(e); if (i >= 0) { setChosen(i); open(i); } }}
      onWheel={(e) => {
        if (e.ctrlKey) { e.preventDefault(); scaleBy(e.deltaY > 0 ? 1.2 : 1 / 1.2, from + e.offsetX / size.width * (to - from)); }
        else if (mostTop > 0) { e.preventDefault(); setTop(Math.max(0, Math.min(mostTop, top + (flip ? -e.deltaY : e.deltaY)))); }
      }} />
    <p class="details" role="status" aria-live="polite">{shown >= 0 ? <Details f={f} i={shown} /> : "Point at a function, or click it to zoom."}</p>
    {f.frames > f.count ? <p class="hint">{formatCount(f.frames)} frames, of which the {formatCount(f.count)} greatest are here; grey blocks stand for the others, and open with a click.</p> : null}
    <Command text={f.command} />
  </div>;
}

function Details({ f, i }: { f: Frames; i: number }) {
  const value = <><b>{format(f.kind, f.value[i])}</b> ({formatPercent(f.value[i], f.total)})</>;
  if (f.name[i] === hiddenName) return <>{formatCount(f.hidden[i])} smaller frames: {value}. A click shows more of them.</>;
  return <>{f.full[f.name[i]]}<br />{value}, itself {format(f.kind, f.own[i])} ({formatPercent(f.own[i], f.total)}){f.modules[f.module[f.name[i]]] ? " · " + f.modules[f.module[f.name[i]]] : ""}</>;
}

type Drawn = {
  from: number; to: number; top: number; width: number; height: number; flip: boolean; colors: string[];
  matches?: Matches; over: number; chosen: number; zoomed: number;
};

function draw(c: HTMLCanvasElement, f: Frames, o: Drawn) {
  const ratio = devicePixelRatio || 1;
  if (c.width !== Math.round(o.width * ratio) || c.height !== Math.round(o.height * ratio)) {
    c.width = Math.round(o.width * ratio);
    c.height = Math.round(o.height * ratio);
  }
  const g = c.getContext("2d", { alpha: false })!;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = color("--panel");
  g.fillRect(0, 0, o.width, o.height);
  const seen = walk(f, o.from, o.to, o.width, o.height, o.top, row, least);
  c.dataset.visited = String(seen.visited);
  c.dataset.boxes = String(seen.boxes.length / 4);
  c.dataset.frames = String(f.count);
  const y = (of: number) => o.flip ? o.height - of - row : of;
  const found = color("--found"), grey = color("--merged"), match = (i: number) => !o.matches || o.matches.names.has(f.name[i]);
  const by = new Map<string, number[]>();
  for (let k = 0; k < seen.boxes.length; k += 4) {
    const i = seen.boxes[k];
    const fill = f.name[i] === hiddenName ? grey : o.matches && match(i) ? found : o.colors[f.module[f.name[i]]];
    let list = by.get(fill);
    if (!list) by.set(fill, list = []);
    list.push(k);
  }
  for (const [fill, list] of by) {
    g.fillStyle = fill;
    g.globalAlpha = o.matches && fill !== found ? 0.45 : 1;
    for (const k of list) g.fillRect(seen.boxes[k + 1], y(seen.boxes[k + 2]), Math.max(0.5, seen.boxes[k + 3] - 1), row - 1);
  }
  g.globalAlpha = 1;
  g.fillStyle = grey;
  for (let k = 0; k < seen.merged.length; k += 3) g.fillRect(seen.merged[k], y(seen.merged[k + 1]), seen.merged[k + 2], row - 1);
  label(g, f, seen.boxes, y, o);
  for (const [i, stroke] of [[o.chosen, color("--accent")], [o.over, color("--text")]] as [number, string][]) {
    for (let k = 0; i >= 0 && k < seen.boxes.length; k += 4) {
      if (seen.boxes[k] !== i) continue;
      g.strokeStyle = stroke;
      g.lineWidth = 2;
      g.strokeRect(seen.boxes[k + 1] + 1, y(seen.boxes[k + 2]) + 1, Math.max(1, seen.boxes[k + 3] - 3), row - 3);
    }
  }
}

let glyph = 0;

/** Writes names into boxes that are wide enough for some of it, without measuring each. */
function label(g: CanvasRenderingContext2D, f: Frames, boxes: number[], y: (of: number) => number, o: Drawn) {
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  glyph ||= g.measureText("abcdefghijklmnopqrstuvwxyzABCDEFG.<,>()").width / 39;
  const strong = color("--text"), soft = color("--soft");
  for (let k = 0; k < boxes.length; k += 4) {
    const i = boxes[k], w = boxes[k + 3];
    if (w < 34) continue;
    const name = f.name[i] === hiddenName ? formatCount(f.hidden[i]) + " more" : f.short[f.name[i]] || "?";
    const room = Math.floor((w - 8) / glyph);
    const plain = name.length > room ? name.replace(/\(.*$/, "") : name;
    const text = plain.length > room ? plain.slice(0, Math.max(1, room - 1)) + "…" : plain;
    g.fillStyle = o.zoomed >= 0 && i < o.zoomed ? soft : strong;
    g.fillText(text, boxes[k + 1] + 4, y(boxes[k + 2]) + row / 2);
  }
}
