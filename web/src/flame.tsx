// The flame graph: a canvas on which the walk draws what is in sight.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { getBytes } from "./api";
import type { Session } from "./api";
import { isFile } from "./offline";
import { nowAndBefore, older, paint } from "./paint";
import type { Paint } from "./paint";
import { fittingName } from "./names";
import { Command, copy, Failed, Folded, Sentences, ShapeOfFile, useParts, Waiting } from "./parts";
import { addTerm, change, logicalFlame, param, theme } from "./state";
import { linkAddress } from "./table";
import { color } from "./timeline";
import { format, formatCount, formatPercent, hasPercents, inPercent, overThreads } from "./units";
import { byName, decode, find, hiddenName, hit, pathOf, search, walk } from "./walk";
import type { Frames, Matches } from "./walk";

const row = matchMedia("(pointer: coarse)").matches ? 26 : 19;
const mostMetrics = 4; // in a file: offlineMetrics of the server
const least = 1; // pixels; narrower frames are one grey block
const greatest = 20_000; // frames that come first: more than a screen has room for. The others come when these are drawn.

/** What so many samples stand for that there is a number, whatever the sizes: of fewer there may be less than ten. */
const surely: Record<string, number> = { bytes: 10 * 153_600, count: 10 * 4_267 };

/** A value as a person reads it. Of an estimate there is no number where it may be from too few samples. */
function amount(f: Frames, n: number): string {
  if (!f.estimated) return format(f.kind, n);
  return n < (surely[f.kind] ?? 0) ? "few samples" : "≈" + format(f.kind, n);
}

const colorTitles: Record<string, string> = { "": "module", type: "type of most bytes", generation: "how most bytes ended" };

/** The parameters of the graph that the server is asked for. */
function asked(session: Session) {
  const diff = session.compared?.length ? param("diff") : "";
  const options = diff ? session.metrics.filter((m) => session.compared!.includes(m.key)) : session.metrics.slice(0, isFile ? mostMetrics : undefined);
  const metric = options.find((m) => m.key === param("metric")) ?? options[0];
  const shape = isFile ? {} : { "fold-recursion": param("fold-recursion"), root: param("function-root"), async: logicalFlame() ? "logical" : "" };
  const shaped = !!(shape["fold-recursion"] || shape.root);
  const color = diff || shaped || !session.colors.includes(param("color")) ? "" : param("color");
  return { diff, options, metric, color, up: param("up"), most: param("most"), shape, shaped };
}

/** The shape of the tree: which frames there are. No sum changes. */
function Shape({ session }: { session: Session }) {
  const tick = (name: string, text: string) => <label><input id={name} type="checkbox" checked={!!param(name)} onChange={() => change({ [name]: param(name) ? "" : "1", at: "" })} /> {text}</label>;
  return <>
    {tick("fold-recursion", "fold recursion")}
    {session.has_async ? <label><input id="async" type="checkbox" checked={!logicalFlame()} onChange={() => change(logicalFlame() ? { async: "physical", at: "" } : { async: param("diff") ? "logical" : "", color: "", at: "" })} /> stacks as they were</label> : null}
    <label>begin with function <input id="function-root" key={param("function-root")} defaultValue={param("function-root")} placeholder="name" onChange={(e) => change({ "function-root": e.currentTarget.value.trim(), at: "" })} /></label>
  </>;
}

/** A graph with what it was asked for with: that it is from below, and which tree it is, in which part of the session. */
type Loaded = { f: Frames; up: string; tree: string };

export function FlameView({ session }: { session: Session }) {
  const { diff, options, metric, color, up, most, shape, shaped } = asked(session);
  const key = metric === session.metrics[0] ? "" : metric?.key;
  const tree = `${key} ${up} ${diff} ${JSON.stringify(shape)}`;
  const { value, error, loading, partial, got } = useParts<Loaded>(`flame ${tree} ${most} ${color}`, async (more) => {
    const load = async (most: string | number) => ({ f: decode(await getBytes("flame", { metric: key, up, most, color, diff, ...shape }, more), diff), up, tree: more.selection + "|" + tree });
    if (isFile || most) return load(most);
    const first = await load(greatest);
    if (first.f.frames <= first.f.count) return first;
    more.first(first);
    return load("");
  });
  const named = param("order") === "name";
  const f = useMemo(() => value && named ? byName(value.f) : value?.f, [value, named]);
  return <section class="view flame">
    <header class="title"><h1>Flame graph</h1>
      <p>{up ? "Bottom-up: functions by their own values, each with its callers below it." : "Each function is above those that it calls, as wide as what it takes."}</p></header>
    <div class="tools">
      <label>by <select id="metric" value={metric?.key} onChange={(e) => change({ metric: e.currentTarget.value, at: "" })}>
        {options.map((m) => <option key={m.key} value={m.key} title={m.about}>{m.title}</option>)}</select></label>
      <label>search <input id="find" type="search" value={param("find")} placeholder="part of a name" onInput={(e) => change({ find: e.currentTarget.value }, true)} /></label>
      <Folded>
      {diff || shaped || !session.colors.length ? null : <label>colours <select id="color" value={color} onChange={(e) => change({ color: e.currentTarget.value }, true)}>
        {["", ...session.colors].map((c) => <option key={c} value={c}>{colorTitles[c]}</option>)}</select></label>}
      {session.compared?.length ? <label>differences <select id="diff" value={diff} onChange={(e) => change({ diff: e.currentTarget.value, at: "" })}>
        <option value="">not shown</option><option value="new">as wide as in this session</option><option value="old">as wide as in the older one</option></select></label> : null}
      <label title="By name, the graphs of two sessions have the same functions at the same places.">sorted by <select id="order" value={named ? "name" : ""} onChange={(e) => change({ order: e.currentTarget.value }, true)}>
        <option value="">value</option><option value="name">name</option></select></label>
      <label><input type="checkbox" checked={!!up} onChange={() => change({ up: up ? "" : "1", at: "" })} /> bottom-up</label>
      <label><input type="checkbox" checked={!!param("flip")} onChange={() => change({ flip: param("flip") ? "" : "1" })} /> flames (root below)</label>
      {isFile ? null : <Shape session={session} />}
      </Folded>
    </div>
    {isFile ? <ShapeOfFile has={`the call tree from above and from below, by ${formatCount(Math.min(session.metrics.length, mostMetrics))} of ${formatCount(session.metrics.length)} metrics`} /> : null}
    {value && !error ? <p class="about">{value.f.metric.title}: {value.f.metric.about} {overThreads(value.f.threads)}</p> : null}
    {value?.f.notes.length ? <Sentences list={value.f.notes} kind="notes" /> : null}
    {error ? <Failed error={error} /> : value && f ? f.count ? <Graph key={value.tree} f={f} up={value.up} stale={loading} partial={partial} /> : <p class="hint">Nothing to show: no frame has any of this.</p> : <Waiting got={got} />}
  </section>;
}

/** What is shown of a tree: places are of the frame that the address zooms to. */
type Place = { at: string; pan?: [number, number]; top: number };

function Graph({ f, up, stale, partial }: { f: Frames; up: string; stale: boolean; partial: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [pointed, setPointed] = useState({ f, i: -1 });
  const over = pointed.f === f ? pointed.i : -1; // numbers are of one graph alone
  const at = param("at"), flip = !!param("flip"), text = param("find");
  const zoomed = useMemo(() => at ? find(f, at) : -1, [f, at]);
  const matches = useMemo(() => search(f, text), [f, text]);
  const [place, setPlace] = useState<Place>({ at, top: 0 });
  const { pan, top } = place.at === at ? place : { pan: undefined, top: 0 };
  const go = (to: Partial<Place>) => setPlace((old) => ({ ...(old.at === at ? old : { top: 0 }), ...to, at }));
  const setPan = (pan: Place["pan"]) => go({ pan }), setTop = (top: number) => go({ top });
  const [choice, choose] = useState<{ f: Frames; i: number; at: string }>({ f, i: -1, at: "" });
  const chosen = useMemo(() => choice.at !== at ? zoomed : choice.f === f || choice.i < 0 ? choice.i : find(f, pathOf(choice.f, choice.i)), [choice, f, at, zoomed]);
  const setChosen = (i: number) => choose({ f, i, at });
  const [from, to] = pan ?? (zoomed >= 0 ? [f.left[zoomed], f.left[zoomed] + f.value[zoomed]] : [0, f.total]);
  const height = Math.max(size.height, 1), all = (f.deepest + 1) * row;
  const mostTop = Math.max(0, all - height);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? theme.value !== "light" : theme.value === "dark";
  const colors = useMemo(() => paint(f, dark), [f, dark]);

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
  useLayoutEffect(() => { // at once: keys are about what is shown now
    const events: [string, () => unknown][] = [["nextmatch", () => next(1)], ["previousmatch", () => next(-1)], ["zoomin", () => scaleBy(0.5)], ["zoomout", () => scaleBy(2)],
      ["copystack", () => name && copy(stack().join("\n"), "Stack")], ["panleft", () => move(-0.25)], ["panright", () => move(0.25)]];
    for (const [event, on] of events) addEventListener(event, on);
    return () => { for (const [event, on] of events) removeEventListener(event, on); };
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
  const stack = () => { const out = []; for (let i = chosen; i >= 0; i = f.parent[i]) if (f.depth[i]) out.push(f.full[f.name[i]]); return up ? out.reverse() : out; };
  const name = chosen >= 0 && f.depth[chosen] > 0 && f.name[chosen] !== hiddenName ? f.full[f.name[chosen]] : "";
  const crumbs: number[] = [];
  for (let i = zoomed; i >= 0; i = f.parent[i]) crumbs.unshift(i);
  return <div class={stale ? "stale" : ""}>
    <div class="tools">
      <button type="button" disabled={!at && !pan} onClick={() => { setPan(undefined); change({ at: "" }); }}>All of it</button>
      <button type="button" disabled={!name || isFile} onClick={() => addTerm("focus", name)}>Only stacks with it</button>
      <button type="button" disabled={!name || isFile} onClick={() => addTerm("hide", name)}>Hide it</button>
      {name ? <a class="button" href={linkAddress({ view: "callers", argument: name })}>Callers and callees</a> : null}
      <button type="button" disabled={!name} onClick={() => copy(stack().join("\n"), "Stack")}>Copy stack</button>
      {matches && partial ? <span class="count" role="status">Searching…</span> : matches ? <span class="count" role="status">{formatCount(matches.frames.length)} matches: {amount(f, matches.sum)}{inPercent(matches.sum, f.total)}, themselves {amount(f, matches.own)}</span> : null}
    </div>
    {crumbs.length > 1 ? <p class="crumbs">{crumbs.slice(-6).map((i, k, list) => <span key={i}>{k === 0 && crumbs.length > 6 ? "… › " : ""}
      {k < list.length - 1 ? <button type="button" onClick={() => zoom(i)}>{f.short[f.name[i]]}</button> : <b>{f.short[f.name[i]]}</b>}{k < list.length - 1 ? " › " : ""}</span>)}</p> : null}
    <canvas ref={canvas} tabIndex={0} style={{ maxHeight: Math.max(140, all + 2) + "px" }} role="img" aria-label={"Flame graph by " + f.metric.title + ". Arrows move among functions, Enter zooms; what is chosen is said below."}
      onKeyDown={onKey} onMouseLeave={() => setPointed({ f, i: -1 })}
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
        } else setPointed({ f, i: point(e) });
      }}
      onClick={(e) => { if (drag.current?.moved) return; const i = point(e); if (i >= 0) { setChosen(i); open(i); } }}
      onWheel={(e) => {
        if (e.ctrlKey) { e.preventDefault(); scaleBy(e.deltaY > 0 ? 1.2 : 1 / 1.2, from + e.offsetX / size.width * (to - from)); }
        else if (mostTop > 0) { e.preventDefault(); setTop(Math.max(0, Math.min(mostTop, top + (flip ? -e.deltaY : e.deltaY)))); }
      }} />
    <ul class="legend" aria-label="Colours">{colors.legend.map((m) => <li key={m.text} title={m.text} style={m.fill ? { background: m.fill } : undefined}>{m.mark ? <b>{m.mark} </b> : null}{m.text}</li>)}</ul>
    <p class="details" role="status" aria-live="polite">{shown >= 0 ? <Details f={f} i={shown} said={colors.said(shown)} /> : "Point at a function, or click it to zoom."}</p>
    {f.gone ? <Gone f={f} /> : null}
    {partial ? <p class="hint coming" role="status">The largest frames are shown; the others are loading.</p> : f.frames > f.count ? <p class="hint">{formatCount(f.frames)} frames, of which the {formatCount(f.count)} largest are shown; grey blocks stand for the others, and open with a click.</p> : null}
    <Command text={f.command} />
  </div>;
}

function Details({ f, i, said }: { f: Frames; i: number; said: string }) {
  const value = <><b>{amount(f, f.value[i])}</b>{inPercent(f.value[i], f.total)}</>;
  if (f.name[i] === hiddenName) return <>{formatCount(f.hidden[i])} smaller frames: {value}. A click shows more of them.</>;
  const module = f.modules[f.module[f.name[i]]];
  return <>{f.full[f.name[i]]}<br />{value}, itself {amount(f, f.own[i])}{inPercent(f.own[i], f.total)}{module ? " · " + module : ""}{f.gone ? <> · <Difference f={f} i={i} /></> : ""}{said ? " · " + said : ""}</>;
}

function Difference({ f, i }: { f: Frames; i: number }) {
  const [now, before] = nowAndBefore(f, i), by = now - before;
  return <b>{amount(f, before)} → {amount(f, now)}{by ? `, ${by > 0 ? "+" : "−"}${amount(f, Math.abs(by))}${before && now && hasPercents() ? ` (${by > 0 ? "+" : "−"}${formatPercent(Math.abs(by), before)})` : ""}` : ""}</b>;
}

/** What the widths cannot show, as this session has none of it. */
function Gone({ f }: { f: Frames }) {
  const { frames, value, total } = f.gone!;
  const [here, there] = older(f) ? ["older", "this"] : ["this", "older"];
  return <p class="hint gone">{frames ? <>{formatCount(frames)} {frames === 1 ? "frame" : "frames"} with {amount(f, value)}{inPercent(value, total)} {frames === 1 ? "is" : "are"} in {there === "this" ? "this session" : "the older session"} alone
    and cannot be seen here. <button type="button" onClick={() => change({ diff: older(f) ? "new" : "old", at: "" })}>As wide as there</button></>
    : `All that is in ${there === "this" ? "this session" : "the older session"} is in ${here === "this" ? "this one" : "the older one"} too.`}</p>;
}

type Drawn = {
  from: number; to: number; top: number; width: number; height: number; flip: boolean; colors: Paint;
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
  const began = performance.now();
  const seen = walk(f, o.from, o.to, o.width, o.height, o.top, row, least);
  c.dataset.visited = String(seen.visited);
  c.dataset.mostvisited = String(Math.max(seen.visited, Number(c.dataset.mostvisited ?? 0)));
  c.dataset.draws = String(Number(c.dataset.draws ?? 0) + 1);
  c.dataset.boxes = String(seen.boxes.length / 4);
  c.dataset.frames = String(f.count);
  const y = (of: number) => o.flip ? o.height - of - row : of;
  const found = color("--found"), grey = color("--merged"), match = (i: number) => !o.matches || o.matches.names.has(f.name[i]);
  const by = new Map<string, number[]>(), behind: number[] = []; // those that called what is zoomed to are faded
  for (let k = 0; k < seen.boxes.length; k += 4) {
    const i = seen.boxes[k];
    const fill = f.name[i] === hiddenName ? grey : o.matches && match(i) ? found : o.colors.fill(i);
    if (i < o.zoomed && !o.matches) behind.push(k);
    let list = by.get(fill);
    if (!list) by.set(fill, list = []);
    list.push(k);
  }
  for (const [fill, list] of by) {
    g.fillStyle = fill;
    g.globalAlpha = o.matches && fill !== found ? 0.45 : 1;
    for (const k of list) g.fillRect(seen.boxes[k + 1], y(seen.boxes[k + 2]), Math.max(0.5, seen.boxes[k + 3] - 1), row - 1);
  }
  g.globalAlpha = 0.45;
  g.fillStyle = color("--panel");
  for (const k of behind) g.fillRect(seen.boxes[k + 1], y(seen.boxes[k + 2]), seen.boxes[k + 3], row - 1);
  g.globalAlpha = 1;
  g.fillStyle = grey;
  for (let k = 0; k < seen.merged.length; k += 3) g.fillRect(seen.merged[k], y(seen.merged[k + 1]), seen.merged[k + 2], row - 1);
  label(g, f, seen.boxes, y, o);
  for (const [i, stroke] of [[o.chosen, color("--chosen")], [o.over, color("--text")]] as [number, string][]) {
    for (let k = 0; i >= 0 && k < seen.boxes.length; k += 4) {
      if (seen.boxes[k] !== i) continue;
      g.strokeStyle = stroke;
      g.lineWidth = 2;
      g.strokeRect(seen.boxes[k + 1] + 1, y(seen.boxes[k + 2]) + 1, Math.max(1, seen.boxes[k + 3] - 3), row - 3);
    }
  }
  c.dataset.slowest = String(Math.max(performance.now() - began, Number(c.dataset.slowest ?? 0)));
}

/** How wide characters are, measured once. */
const glyphs = new Map<string, number>();
function widthOfGlyph(g: CanvasRenderingContext2D, c: string): number {
  let w = glyphs.get(c);
  if (w === undefined) {
    if (glyphs.size > 2000) glyphs.clear(); // of all that names are written in only some are ever in sight
    glyphs.set(c, w = g.measureText(c).width);
  }
  return w;
}

/** Writes names into boxes that are wide enough for some of it. */
function label(g: CanvasRenderingContext2D, f: Frames, boxes: number[], y: (of: number) => number, o: Drawn) {
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.fillStyle = color("--text");
  for (let k = 0; k < boxes.length; k += 4) {
    const i = boxes[k], room = boxes[k + 3] - 9;
    if (room < 25) continue;
    const isHidden = f.name[i] === hiddenName;
    const mark = isHidden ? "" : o.colors.mark(i), name = isHidden ? formatCount(f.hidden[i]) + " more" : f.short[f.name[i]] || "?";
    let left = room;
    for (const c of mark) left -= widthOfGlyph(g, c);
    g.fillText(mark + fittingName(name, left, (c) => widthOfGlyph(g, c)), boxes[k + 1] + 4, y(boxes[k + 2]) + row / 2);
  }
}
