// The call tree: levels come from the server when they are opened, and of many rows with one caller those that are in sight.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get } from "./api";
import type { Sheet, View } from "./api";
import { Chooser, mover } from "./columns";
import { comebacks } from "./link";
import { isFile } from "./offline";
import { Command, copy, Failed, Folded, Sentences, ShapeOfFile, useLoad, Waiting } from "./parts";
import { addTerm, change, param } from "./state";
import { Cell, chosen, Head, inset, linkAddress, nameOf, rowID, rowLabel, Rows, template, widthOf } from "./table";
import { at, id, nodeAt, page, positionOf, take, top, turn } from "./treerows";
import type { Node } from "./treerows";
import { tsv } from "./tsv";
import { formatCount, overThreads } from "./units";

/** What of the tree the server is asked for: the names are those of the command line, but for the row that it begins with. */
function asked(): Record<string, string> {
  const q: Record<string, string> = { sort: param("sort"), columns: param("more"), root: param("function-root") };
  for (const name of ["by", "fold-recursion", "bottom-up", "min-share", "async"]) q[name] = param(name);
  return q;
}

type Position = { process: string | number; path: string | number };

/** The row that an address names: a process, and a path of it; from below the paths on the way to it. */
function positionIn(address: string): Position {
  const dot = address.indexOf(".");
  return dot < 0 ? { process: address, path: "" } : { process: address.slice(0, dot), path: address.slice(dot + 1) };
}

/** Where a row is, in a tree that begins with the row of an address. */
function place(n: Node, root: string, bottomUp: boolean): Position {
  if (!n.row) return positionIn(root);
  const { process, path } = n.row;
  if (!bottomUp || !path) return { process, path };
  const way = [path];
  let up = n.above;
  for (; up?.row?.path; up = up.above) way.unshift(up.row.path);
  const from = up?.row ? "" : positionIn(root).path;
  return { process, path: (from ? from + "." : "") + way.join(".") };
}

/** Changes the shape. Rows of one shape are not rows of another. */
const reshape = (changes: Record<string, string>) => change({ ...changes, root: "" });

/** The shape of the tree: each changes which rows there are, none a sum. */
function Shape({ notes, groups }: { notes: string[]; groups: string[] }) {
  const tick = (name: string, text: string, value = "1") => <label><input id={name} type="checkbox" checked={!!param(name)} onChange={() => reshape({ [name]: param(name) ? "" : value })} /> {text}</label>;
  const field = (name: string, text: string, more: object) => <label>{text} <input id={name} key={param(name)} defaultValue={param(name)} onChange={(e) => reshape({ [name]: e.currentTarget.value.trim() })} {...more} /></label>;
  return <div class="tools shape"><Folded>
    {groups.length ? <label>rows of <select id="by" value={param("by")} onChange={(e) => reshape({ by: e.currentTarget.value })}>{["", ...groups].map((by) => <option value={by} key={by}>{by || "function"}</option>)}</select></label> : null}
    {tick("fold-recursion", "fold recursion")}
    <label title="Functions by what they did themselves, each with its callers below it."><input id="bottom-up" type="checkbox" checked={!!param("bottom-up")}
      onChange={() => reshape({ "bottom-up": param("bottom-up") ? "" : "1", sort: "", cols: "", more: "" })} /> bottom-up</label>
    {notes.some((n) => n.startsWith("Async methods")) || param("async") ? tick("async", "stacks as they were", "physical") : null}
    {field("min-share", "leave out less than %", { type: "number", min: 0, max: 100, step: "any", size: 5 })}
    {field("function-root", "begin with function", { placeholder: "name" })}
  </Folded></div>;
}

export function TreeView({ view }: { view?: View }) {
  const query = asked(), columns = query.columns, root = param("root");
  const { process: of_process, path: of_path } = positionIn(root);
  const { value, error, loading } = useLoad(`tree ${JSON.stringify(query)} ${root}`, (more) => get<Sheet>("tree", { ...query, of_process, of_path }, more).then((sheet) => ({ sheet, root, columns, query, selection: more.selection })));
  return <section class="view"><header class="title"><h1>Call tree</h1><p>{query["bottom-up"] ? "functions by what they did themselves, each with its callers below it" : "processes, and below them who called whom; rows are sorted among those with the same caller"}</p></header>
    {isFile ? <ShapeOfFile has="the call tree from above, by function; each place says what is left out there (the flame graph has it from below, too)" /> : <Shape notes={value?.sheet.notes ?? []} groups={view?.groups ?? []} />}
    {error ? <Failed error={error} /> : value ? <Tree key={value.sheet.command + value.sheet.order + value.columns + value.root} sheet={value.sheet} query={value.query} root={value.root} selection={value.selection} stale={loading} optional={view?.optional ?? []} /> : <Waiting />}
  </section>;
}

/** Reads rows of the tree, each page once. */
function useTree(sheet: Sheet, query: Record<string, string>, root: string, selection: string) {
  const [tree] = useState(() => { const t = top(); take(t, sheet); return t; });
  const [, redraw] = useState(0);
  const [error, setError] = useState("");
  const asked = useRef(new Map<Node, Set<number>>());
  /** Reads a page of the rows below a node: the one with an index, or the one with a path. */
  const read = async (n: Node, index: number, path?: number) => {
    const { process: of_process, path: of_path } = place(n, root, !!query["bottom-up"]);
    take(n, await get<Sheet>("tree", { ...query, of_process, of_path, ...(path ? { around: path } : { offset: index - index % page }) }, { selection }));
  };
  const fail = (e: unknown) => setError((e as Error).message);
  useEffect(() => { asked.current.clear(); setError(""); redraw((x) => x + 1); }, [comebacks.value]); // what was asked for in vain is asked for again
  /** Asks for the page with an index, if nobody has. */
  const need = (n: Node, index: number) => {
    let pages = asked.current.get(n);
    if (!pages) asked.current.set(n, pages = new Set());
    const number = Math.floor(index / page);
    if (pages.has(number)) return;
    pages.add(number);
    read(n, index).then(() => redraw((x) => x + 1), fail);
  };
  const toggle = async (n: Node) => {
    setError("");
    try {
      if (n.count === undefined) await read(n, 0);
      turn(n, !n.open && n.count !== 0);
    } catch (e) { fail(e); }
    redraw((x) => x + 1);
  };
  return { tree, read, need, toggle, fail, error, redraw: () => redraw((x) => x + 1) };
}

/** A tree, and what it was asked for with: rows that are opened are asked for likewise, whatever the address says then. */
function Tree({ sheet, query, root, selection, stale, optional }: { sheet: Sheet; query: Record<string, string>; root: string; selection: string; stale: boolean; optional: string[] }) {
  const { tree, read, need, toggle, fail, error, redraw } = useTree(sheet, query, root, selection);
  const [current, setCurrent] = useState(0);
  const [goTo, setGoTo] = useState<{ row: number } | undefined>();
  const [say, setSay] = useState("");
  const columns = chosen(sheet, param("cols") ? param("cols").split(",") : []);
  /** Whether somebody has moved or opened something: what opens by itself then comes too late. */
  const acted = useRef(false);
  const hot = async (inSight: boolean) => {
    const isLate = () => !inSight && acted.current;
    try {
      const path = await get<Sheet>("tree", { hot: "1", ...query }, { selection });
      const from = root ? path.rows.findIndex((row) => row.process + "." + row.path === root) + 1 : 0;
      let n = tree;
      for (const row of root && !from ? [] : path.rows.slice(from)) {
        const known = () => [...n.below.values()].find((x) => id(x) === row.process + "." + row.path);
        if (n.count === undefined || !known()) await read(n, 0, row.path);
        if (isLate()) break;
        turn(n, true);
        const next = known();
        if (!next) break;
        next.hot = true;
        n = next;
      }
      setSay(n === tree || isLate() ? "" : "The hot path is open: " + path.rows.length + " levels.");
      if (n !== tree && !isLate()) { setCurrent(positionOf(n)); if (inSight) setGoTo({ row: positionOf(n) }); }
    } catch (e) { fail(e); }
    redraw();
  };
  const bottomUp = !!query["bottom-up"];
  useEffect(() => { if (!bottomUp) void hot(false); else if (tree.count === 1 && !root) void toggle(tree.below.get(0)!); }, []); // one process says nothing
  const total = tree.shown, chosenNode = nodeAt(tree, current);
  /** From what was called last to what called it first. */
  const stack = (n?: Node) => { const out = []; for (; n?.row; n = n.above) if (n.row.path) out.push(String(n.row.values[columns[0].at])); return bottomUp ? out.reverse() : out; };
  const onKey = (e: KeyboardEvent, scroll: (row: number) => void) => {
    acted.current = true;
    const n = chosenNode;
    const go = (to: number) => { const next = Math.max(0, Math.min(total - 1, to)); setCurrent(next); scroll(next); e.preventDefault(); };
    switch (e.key) {
      case "ArrowDown": return go(current + 1);
      case "ArrowUp": return go(current - 1);
      case "PageDown": return go(current + 15);
      case "PageUp": return go(current - 15);
      case "Home": return go(0);
      case "End": return go(total - 1);
      case "ArrowRight": e.preventDefault(); return n && !n.open ? void toggle(n) : go(current + 1);
      case "ArrowLeft": {
        const { above } = at(tree, current);
        e.preventDefault();
        return n?.open ? void toggle(n) : go(above.row ? positionOf(above) : current);
      }
      case "Enter": return n ? void toggle(n) : undefined;
    }
  };
  const rootHere = () => {
    if (!chosenNode || chosenNode.count === 0) return;
    const { process, path } = place(chosenNode, root, bottomUp);
    change({ root: process + "." + path });
  };
  useLayoutEffect(() => { // at once: keys are about what is chosen now
    const events: [string, () => unknown][] = [["hotpath", () => !bottomUp && hot(true)], ["copystack", () => name && copy(stack(chosenNode).join("\n"), "Stack")], ["roothere", rootHere]];
    for (const [event, on] of events) addEventListener(event, on);
    return () => { for (const [event, on] of events) removeEventListener(event, on); };
  });
  const copyOpen = () => {
    const rows: unknown[][] = [["level", ...columns.map(({ column }) => column.key)]];
    for (let i = 0; i < total; i++) {
      const n = nodeAt(tree, i);
      if (n?.row && !n.row.hidden) rows.push([n.level, ...columns.map(({ at }) => n.row!.values[at])]);
    }
    const left = total - rows.length + 1;
    void copy(tsv(rows), "What is open of the tree (TSV)" + (left ? `, except ${formatCount(left)} rows that were never shown,` : ""));
  };
  const name = chosenNode?.row?.path ? String(chosenNode.row.values[columns[0].at]) : "";
  return <>
    <Sentences list={[...sheet.notes, ...overThreads(sheet.threads)]} kind="notes" />
    <div class="tools">
      {bottomUp ? null : <button type="button" onClick={() => void hot(true)}>Hot path</button>}
      {name ? <a class="button" href={linkAddress({ view: "callers", argument: name })}>Callers and callees</a> : null}
      <Folded>
      <button type="button" disabled={!name || isFile} onClick={() => addTerm("focus", name)}>Only stacks with it</button>
      <button type="button" disabled={!name || isFile} onClick={() => addTerm("hide", name)}>Hide it</button>
      <button type="button" disabled={!name} onClick={() => copy(stack(chosenNode).join("\n"), "Stack")}>Copy stack</button>
      <button type="button" class="root" disabled={!chosenNode || chosenNode.count === 0} onClick={rootHere}>Root here</button>
      {root ? <button type="button" class="whole" onClick={() => change({ root: "" })}>Whole tree</button> : null}
      <Chooser sheet={sheet} optional={optional} />
      <button type="button" onClick={copyOpen}>Copy as TSV</button>
      </Folded>
      <span class="count" role="status">{say}</span>
    </div>
    {error ? <Failed error={error} /> : null}
    <div class={stale ? "stale" : ""}><Rows total={total} label="call tree" role="treegrid" grid={template(columns)} minWidth={widthOf(columns)} onKey={onKey} goTo={goTo} current={current}
      head={<Head columns={columns} order={sheet.order} sort={(key) => change({ sort: key })} move={mover(sheet, optional, columns)} />}>
      {(from, to) => {
        const out = [];
        for (let i = from; i < to; i++) {
          const { above, index } = at(tree, i), n = above.below.get(index);
          if (!n) need(above, index);
          out.push(n ? <TreeRow key={i} n={n} position={i} columns={columns} current={i === current} choose={() => { acted.current = true; setCurrent(i); }} toggle={() => void toggle(n)} />
            : <div class="row" role="row" key={i} id={rowID(i)} aria-level={above.level + 2} aria-rowindex={i + 2}><span class="cell" role="gridcell" style={indent(above.level + 1)}>…</span></div>);
        }
        return out;
      }}
    </Rows></div>
    <Sentences list={sheet.losses} kind="losses" />
    <Command text={sheet.command} part={!!root} />
  </>;
}

const indent = (level: number) => ({ paddingLeft: inset(level, 14) + 8 + "px" });

function TreeRow({ n, position, columns, current, choose, toggle }: {
  n: Node; position: number; columns: ReturnType<typeof chosen>; current: boolean; choose: () => void; toggle: () => void;
}) {
  const row = n.row!, last = n.count === 0;
  const about = { id: rowID(position), role: "row", "aria-level": n.level + 1, "aria-rowindex": position + 2, "aria-setsize": n.above!.count, "aria-posinset": n.index + 1 } as const;
  if (row.hidden) return <div class="row rest" {...about}><span class="cell" role="gridcell" style={indent(n.level)}>{row.texts[0]}</span></div>;
  return <div class={"row" + (current ? " current" : "") + (n.hot ? " hot" : "")} {...about} aria-expanded={last ? undefined : n.open} aria-selected={current} aria-label={rowLabel(row, columns)} onClick={choose}>
    {columns.map(({ column, at }, i) => <span key={column.key} role="gridcell" class={i === 0 ? "cell name" : "box"} style={i === 0 ? indent(n.level) : undefined}>
      {i === 0 ? <button type="button" class="twist" tabIndex={-1} aria-label={n.open ? "close" : "open"} onClick={toggle} disabled={last}>{last ? "·" : n.open ? "▾" : "▸"}</button> : null}
      {i === 0 ? nameOf(row, at, columns) : <Cell row={row} column={column} at={at} />}
    </span>)}
  </div>;
}
