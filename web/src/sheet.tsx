// One view as a table: sorted, searched and paged by the server.
import { useMemo, useState } from "preact/hooks";
import { get } from "./api";
import type { Row, Sheet, View } from "./api";
import { Chooser, mover } from "./columns";
import { ends as endNames } from "./paint";
import { Command, copyView, Failed, Sentences, useLoad, Waiting } from "./parts";
import { change, changed, param, titleOf, viewAddress } from "./state";
import { overThreads, rowCount } from "./units";
import { Cell, chosen, clean, Ends, Head, inset, isNumeric, nameOf, rowID, rowLabel, Rows, template, widthOf } from "./table";

const page = 200;
const all = 20_000; // rows of a tree, which comes at once

/** The parameters of a view, without the part of the rows. */
function query(view: View): Record<string, string> {
  const q: Record<string, string> = { view: view.name };
  for (const name of ["sort", "by", "argument", "find", "reverse", "top", "depth", "range", ...(view.async ? ["async"] : [])]) if (param(name)) q[name] = param(name);
  const more = param("more");
  if (more) q.columns = more;
  return q;
}

export function SheetView({ view }: { view: View }) {
  const q = query(view);
  const needs = view.argument === "FUNCTION" && !q.argument || view.argument === "A B" && !q.argument;
  const key = JSON.stringify(q);
  const isWhole = view.is_tree || q.by === "module" || q.by === "namespace" || view.name === "rules";
  const { value: loaded, error, loading } = useLoad(key, (more) => needs ? Promise.resolve(undefined)
    : get<Sheet>("view", { ...q, limit: isWhole ? all : page }, more).then((sheet) => ({ sheet, key, query: q, selection: more.selection })));
  const value = loaded?.sheet;
  return <section class="view">
    <header class="title"><h1>{titleOf(view.name)}</h1><p>{view.short}</p></header>
    <Tools view={view} sheet={value} query={q} stale={loading} />
    {needs ? view.argument === "FUNCTION" ? <SomeFunctions of={view.name} /> : <SomeCollections of={view.name} /> : null}
    {error ? <Failed error={error} /> : null}
    {loaded && value && !error ? <>
      <Sentences list={[...value.notes, ...overThreads(value.threads)]} kind="notes" />
      {value.is_tree && value.total > value.rows.length ? <p class="hint cut">The first {value.rows.length.toLocaleString("en")} of {value.total.toLocaleString("en")} rows are shown; the command below, and a copy as TSV, have them all.</p> : null}
      {view.name === "rules" ? <RuleList sheet={value} /> : <Grid key={loaded.key} sheet={value} query={loaded.query} selection={loaded.selection} optional={view.optional} stale={loading} />}
      <Sentences list={value.losses} kind="losses" />
      <Command text={value.command} part={!!q.find || !!q.reverse} />
    </> : null}
    {!value && !error && loading ? <Waiting /> : null}
  </section>;
}

/** Those to begin with, where a view needs the name of a function. */
function SomeFunctions({ of }: { of: string }) {
  const { value } = useLoad("some functions", (more) => get<Sheet>("view", { view: "functions", limit: 15 }, more));
  const at = value?.columns.findIndex((c) => c.key === "name") ?? -1;
  return <><p class="hint">Name a function above, click one in any other view, or begin with one of the largest:</p>
    <ul class="begin">{value?.rows.filter((r) => r.link).map((r, i) => <li key={i}><a href={viewAddress(of, { argument: r.link!.argument })}>{r.texts[at]}</a></li>)}</ul></>;
}

/** Collections to compare, where a view needs two. */
function SomeCollections({ of }: { of: string }) {
  const { value } = useLoad("some collections", (more) => get<Sheet>("view", { view: "gcs", limit: all }, more));
  const at = value?.columns.findIndex((c) => c.key === "number") ?? -1, numbers = value?.rows.map((r) => Number(r.values[at])) ?? [];
  const pairs = [[0, -1, "from the first to the last"], [-2, -1, "the last two"]] as const;
  return <><p class="hint">Name two collections above, such as 3 7{numbers.length > 1 ? ", or begin with these:" : "."}</p>
    {numbers.length > 1 ? <ul class="begin">{pairs.map(([a, b, said]) => <li key={said}><a href={viewAddress(of, { argument: numbers.at(a) + " " + numbers.at(b) })}>{said}</a></li>)}</ul> : null}</>;
}

/** What rules found: each rule once, where it was broken, and what to do instead. */
function RuleList({ sheet }: { sheet: Sheet }) {
  const text = (r: Row, key: string) => { const at = sheet.columns.findIndex((c) => c.key === key); return clean(r.values[at]); };
  const shown = (r: Row, key: string) => r.texts[sheet.columns.findIndex((c) => c.key === key)] ?? "";
  const by = new Map<string, Row[]>();
  for (const r of sheet.rows) by.set(text(r, "rule"), [...(by.get(text(r, "rule")) ?? []), r]);
  if (!by.size) return <p class="hint">No rule is broken.</p>;
  return <div class="rules">{[...by].map(([rule, rows]) => <section key={rule}>
    <h2>{text(rows[0], "title")} <small>{rule}, {text(rows[0], "severity")}</small></h2>
    <ul>{rows.map((r, i) => <li key={i}>{text(r, "function") ? <a href={viewAddress("callers", { argument: text(r, "function") })}>{shown(r, "from")}</a> : shown(r, "from")}{shown(r, "from") ? ": " : ""}{shown(r, "evidence")}
      {text(r, "source_file") ? <> <a href={viewAddress("source", { argument: text(r, "source_file") + ":" + text(r, "line_begin") })}>source</a></> : null}</li>)}</ul>
    <p>{text(rows[0], "advice")}</p></section>)}</div>;
}

/** What a view's argument is called. */
const argumentOf = (view: View) => view.argument === "A B" ? "collections" : view.argument.replace(/[[\]]/g, "").toLowerCase();

/** What rows can be about, or be grouped by, or not. */
const groupsOf = (view: View) => view.grouped ? view.groups : ["", ...view.groups];

function Tools({ view, sheet, query, stale }: { view: View; sheet?: Sheet; query: Record<string, string>; stale: boolean }) {
  return <div class="tools">
    {view.argument ? <form onSubmit={(e) => { e.preventDefault(); change({ argument: new FormData(e.currentTarget).get("argument") as string }); }}>
      <label>{argumentOf(view)} <input name="argument" key={query.argument} defaultValue={query.argument ?? ""} /></label>
    </form> : null}
    {view.groups.length ? <label>{view.grouped ? "rows of" : "grouped by"} <select id="by" value={query.by ?? groupsOf(view)[0]} onChange={(e) => change({ by: e.currentTarget.value, sort: "" })}>
      {groupsOf(view).map((by) => <option key={by} value={by}>{by || "nothing"}</option>)}</select></label> : null}
    {view.async ? <label><input id="async" type="checkbox" checked={query.async === "logical"} onChange={() => change({ async: query.async === "logical" ? "" : "logical" })} /> async methods below their callers</label> : null}
    <label>search <input id="find" type="search" value={query.find ?? ""} placeholder="part of a name" onInput={(e) => change({ find: e.currentTarget.value }, true)} /></label>
    {sheet ? <span class={"count" + (stale ? " stale" : "")} role="status">{rowCount(sheet.total)}</span> : null}
    {sheet && view.name !== "rules" ? <Chooser sheet={sheet} optional={view.optional} /> : null}
    <button type="button" onClick={() => copyView(query)}>Copy as TSV</button>
  </div>;
}

/** A sheet, and what it was asked for with: what comes of it later is asked for likewise, whatever the address says then. */
function Grid({ sheet, query, selection, optional, stale }: { sheet: Sheet; query: Record<string, string>; selection: string; optional: string[]; stale: boolean }) {
  // Of this sheet from its first drawing on: an effect comes later, and the rows of the sheet before would be seen under
  // what this one says of itself.
  const rows = useMemo(() => new Map(sheet.rows.map((r, i) => [sheet.offset + i, r])), [sheet]);
  const asked = useMemo(() => new Set([0]), [sheet]);
  const [, redraw] = useState(0);
  const atFirst = useMemo(() => closedAtFirst(sheet), [sheet]);
  const hasLevels = useMemo(() => sheet.is_tree && sheet.rows.some((r) => r.level > 0), [sheet]);
  const [state, setState] = useState({ sheet, closed: atFirst, current: 0 });
  const { closed, current } = state.sheet === sheet ? state : { closed: atFirst, current: 0 }; // positions are of one sheet alone
  const setCurrent = (current: number) => setState({ sheet, closed, current });
  const columns = chosen(sheet, param("cols") ? param("cols").split(",") : []);
  const ends = ["gen0_bytes", "alive_bytes"].every((k) => sheet.columns.some((c) => c.key === k));
  const need = (from: number, to: number) => {
    for (let p = Math.floor(from / page); p <= Math.floor(Math.max(from, to - 1) / page); p++) {
      if (rows.has(p * page) || asked.has(p)) continue;
      asked.add(p);
      get<Sheet>("view", { ...query, offset: p * page, limit: page }, { selection }).then((s) => {
        s.rows.forEach((r, i) => rows.set(s.offset + i, r)); // of this sheet, also where the next one has come meanwhile
        redraw((n) => n + 1);
      }, () => asked.delete(p));
    }
  };
  const visible = sheet.is_tree ? open(sheet.rows, closed) : undefined;
  const total = visible ? visible.length : sheet.total;
  const order = () => stale && param("sort") || sheet.order; // also while its answer comes
  const sort = (key: string) => change(key === order() && !sheet.is_tree ? { sort: key, reverse: param("reverse") ? "" : "1" } : { sort: key, reverse: "" });
  const toggle = (i: number) => { const next = new Set(closed); if (!next.delete(i)) next.add(i); setState({ sheet, closed: next, current }); };
  const onKey = (e: KeyboardEvent, scroll: (row: number) => void) => {
    const by: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -total, End: total };
    if (by[e.key] !== undefined && e.target === e.currentTarget) {
      e.preventDefault();
      const next = Math.max(0, Math.min(total - 1, current + by[e.key]));
      setCurrent(next);
      scroll(next);
    } else if (e.key === "Enter" && e.target === e.currentTarget) {
      (e.currentTarget as Element).querySelector<HTMLElement>(".row.current a")?.click();
    } else if ((e.key === "ArrowLeft" || e.key === "ArrowRight") && visible) {
      const at = visible[current];
      if (closed.has(at) === (e.key === "ArrowRight")) toggle(at);
    }
  };
  if (total === 0) return <p class={"hint" + (stale ? " stale" : "")}>{nothing(sheet.view, query.find)}</p>;
  return <div class={stale ? "stale" : ""}>
    <Rows total={total} label={sheet.view} role={sheet.is_tree ? "treegrid" : "grid"} grid={template(columns, ends ? "clamp(200px, 55vw, 480px)" : undefined)} minWidth={widthOf(columns, ends ? 110 : 0)} onKey={onKey} current={current}
      head={<Head columns={columns} order={sheet.order} reverse={!!query.reverse} sort={sort} move={mover(sheet, optional, columns)} />}>
      {(from, to) => {
        if (!visible) need(from, to);
        const out = [];
        for (let i = from; i < to; i++) {
          const at = visible ? visible[i] : i;
          const row = rows.get(at);
          out.push(row ? <GridRow key={at} sheet={ends ? sheet : undefined} row={row} columns={columns} index={i} tree={sheet.is_tree} hasLevels={hasLevels} current={i === current}
            parent={isParent(sheet, at)} closed={closed.has(at)} toggle={() => toggle(at)} />
            : <div class="row" role="row" key={at} id={rowID(i)} aria-rowindex={i + 2}><span class="cell" role="gridcell">…</span></div>);
        }
        return out;
      }}
    </Rows>
    {ends && total > 0 ? <p class="legend">{Object.entries(endNames).map(([k, text]) => <span key={k}><i class={k} /> {text}</span>)}</p> : null}
  </div>;
}

/** What a view without rows says. */
function nothing(view: string, find?: string): string {
  if (find) return `No row has “${find}”.`;
  return view === "losses" ? "Nothing is missing." : view === "marks" ? "There are no marks." : view === "interactions" ? "No calls to databases or over HTTP: the filters above exclude them, or they were not recorded (run --interactions)." : view === "events" ? "No system events: the filters above exclude them, or they were not recorded (run --time --events)." : "Nothing to show: the filters above exclude everything, or nothing of this kind was recorded.";
}

const isParent = (sheet: Sheet, i: number) => sheet.is_tree && (sheet.rows[i + 1]?.level ?? 0) > sheet.rows[i].level;

/** As many rows of a tree as a screen or two have room for. */
const manyRows = 100;

/** The rows of a large tree that begin closed: those of all levels but the first, and of the first if it has several. */
function closedAtFirst(sheet: Sheet): Set<number> {
  const open = sheet.rows.filter((r) => r.level === 0).length === 1 ? 1 : 0;
  const all = sheet.rows.length > manyRows ? sheet.rows.map((_, i) => i) : [];
  return new Set(all.filter((i) => isParent(sheet, i) && sheet.rows[i].level >= open));
}

/** The rows that no closed row hides. */
function open(rows: Row[], closed: Set<number>): number[] {
  const out: number[] = [];
  let below = Infinity;
  rows.forEach((row, i) => {
    if (row.level > below) return;
    out.push(i);
    below = closed.has(i) ? row.level : Infinity;
  });
  return out;
}

function GridRow({ sheet, row, columns, index, tree, hasLevels, parent, closed, toggle, current }: {
  sheet?: Sheet; row: Row; columns: ReturnType<typeof chosen>; index: number; tree: boolean; hasLevels: boolean; parent: boolean; closed: boolean; toggle: () => void; current: boolean;
}) {
  const indent = tree ? { paddingLeft: inset(row.level, 16) + 8 + "px" } : undefined;
  if (row.hidden) {
    return <div class={"row rest" + (current ? " current" : "")} role="row" id={rowID(index)} aria-rowindex={index + 2} aria-level={tree ? row.level + 1 : undefined} aria-selected={current}><span class="cell" role="gridcell" style={indent}>{row.texts[0]} {" "}
      <a href={changed({ top: "100000" })}>show all</a></span></div>;
  }
  return <div class={"row" + (current ? " current" : "") + (row.texts.includes("current") ? " center" : "")} role="row" id={rowID(index)} aria-rowindex={index + 2} aria-selected={current} aria-label={rowLabel(row, columns)}
    aria-level={tree ? row.level + 1 : undefined} aria-expanded={parent ? !closed : undefined}>
    {columns.map(({ column, at }, i) => <span key={column.key} role="gridcell" class={i === 0 ? "cell name" + (isNumeric(column) ? " first" : "") : "box"} style={i === 0 ? indent : undefined}>
      {i === 0 && parent ? <button type="button" class="twist" tabIndex={-1} aria-label={closed ? "open" : "close"} onClick={toggle}>{closed ? "▸" : "▾"}</button> : i === 0 && hasLevels ? <span class="twist" aria-hidden="true" /> : null}
      {i === 0 ? nameOf(row, at, columns) : <Cell row={row} column={column} at={at} />}
      {i === 0 && sheet ? <Ends row={row} sheet={sheet} /> : null}
    </span>)}
  </div>;
}
