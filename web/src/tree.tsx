// The call tree: levels come from the server when they are opened.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { get } from "./api";
import type { Row, Sheet, View } from "./api";
import { isFile } from "./offline";
import { Command, copy, Failed, Sentences, tsv, useLoad, Waiting } from "./parts";
import { Chooser } from "./sheet";
import { addTerm, change, param, viewAddress } from "./state";
import { Cell, chosen, Head, inset, nameOf, Rows, template, widthOf } from "./table";

/** A row that is in sight, or would be, were it scrolled to. */
type Node = { row: Row; level: number; parent?: Node; below?: Node[]; open: boolean; more?: number; hot?: boolean; last?: boolean };

const chunk = 200;

export function TreeView({ view }: { view?: View }) {
  const sort = param("sort"), columns = param("more"), root = param("root");
  const [of_process, of_path] = root.split(".");
  const { value, error } = useLoad(`tree ${sort} ${columns} ${root}`, (more) => get<Sheet>("tree", { sort, columns, of_process, of_path }, more).then((sheet) => ({ sheet, root, columns })));
  return <section class="view"><header class="title"><h1>Call tree</h1><p>processes, and below them who called whom; rows are sorted among those with the same caller</p></header>
    {error ? <Failed error={error} /> : value ? <Tree key={value.sheet.command + value.sheet.order + value.columns + value.root} sheet={value.sheet} sort={sort} columns={value.columns} root={value.root} optional={view?.optional ?? []} /> : <Waiting />}
  </section>;
}

function nodes(sheet: Sheet, level: number, parent?: Node): Node[] {
  return sheet.rows.map((row) => ({ row, level, parent, open: false }));
}

function flat(list: Node[], out: Node[] = []): Node[] {
  const stack = [...list].reverse();
  while (stack.length) {
    const n = stack.pop()!;
    out.push(n);
    if (n.open && n.below) for (let i = n.below.length - 1; i >= 0; i--) stack.push(n.below[i]);
  }
  return out;
}

const id = (n: Node) => n.row.process + "." + n.row.path;

function Tree({ sheet, sort, columns: more, root, optional }: { sheet: Sheet; sort: string; columns: string; root: string; optional: string[] }) {
  const [roots] = useState(() => nodes(sheet, 0));
  const [, redraw] = useState(0);
  const [current, setCurrent] = useState(0);
  const [error, setError] = useState("");
  const [say, setSay] = useState("");
  const columns = chosen(sheet, param("cols") ? param("cols").split(",") : []);
  const load = async (n: Node, offset = 0) => {
    const s = await get<Sheet>("tree", { sort, columns: more, of_process: n.row.process, of_path: n.row.path, offset });
    const list = nodes(s, n.level + 1, n);
    n.below = [...(n.below ?? []).filter((x) => !x.more), ...list];
    const left = s.total - offset - list.length;
    if (left > 0) n.below.push({ row: { ...n.row, texts: [left.toLocaleString("en") + " more"], hidden: left }, level: n.level + 1, parent: n, open: false, more: offset + list.length });
    n.last = n.below.length === 0;
    n.open = true;
  };
  const toggle = async (n: Node) => {
    try {
      if (n.more !== undefined && n.parent) await load(n.parent, n.more);
      else if (n.open) n.open = false;
      else if (n.below) n.open = true;
      else await load(n);
    } catch (e) { setError((e as Error).message); }
    redraw((x) => x + 1);
  };
  const hot = async () => {
    try {
      const path = await get<Sheet>("tree", { hot: "1", sort, columns: more });
      let list = roots;
      let found: Node | undefined;
      const from = root ? path.rows.findIndex((row) => row.process + "." + row.path === root) + 1 : 0;
      for (const row of root && !from ? [] : path.rows.slice(from)) {
        let n = list.find((x) => id(x) === row.process + "." + row.path);
        while (!n && found?.below?.at(-1)?.more) { await load(found, found.below.at(-1)!.more); n = found.below.find((x) => id(x) === row.process + "." + row.path); }
        if (!n) break;
        n.hot = true;
        found = n;
        if (row !== path.rows.at(-1)) { if (!n.below) await load(n); n.open = true; list = n.below ?? []; }
      }
      setSay(found ? "The hot path is open: " + path.rows.length + " levels." : "");
      if (found) setCurrent(flat(roots).indexOf(found));
    } catch (e) { setError((e as Error).message); }
    redraw((x) => x + 1);
  };
  useEffect(() => { void hot(); }, []);
  const list = flat(roots);
  const stack = (n?: Node) => { const out = []; for (; n; n = n.parent) if (n.row.path) out.push(String(n.row.values[columns[0].at])); return out; };
  const onKey = (e: KeyboardEvent, scroll: (row: number) => void) => {
    const n = list[current];
    const go = (to: number) => { const next = Math.max(0, Math.min(list.length - 1, to)); setCurrent(next); scroll(next); e.preventDefault(); };
    switch (e.key) {
      case "ArrowDown": return go(current + 1);
      case "ArrowUp": return go(current - 1);
      case "PageDown": return go(current + 15);
      case "PageUp": return go(current - 15);
      case "Home": return go(0);
      case "End": return go(list.length - 1);
      case "ArrowRight": e.preventDefault(); return n && !n.open ? void toggle(n) : go(current + 1);
      case "ArrowLeft": e.preventDefault(); return n?.open ? void toggle(n) : go(n?.parent ? list.indexOf(n.parent) : current);
      case "Enter": return n ? void toggle(n) : undefined;
    }
  };
  const chosenNode = list[current];
  const rootHere = () => { if (chosenNode?.more === undefined && !chosenNode?.last) change({ root: id(chosenNode) }); };
  useLayoutEffect(() => { // at once: keys are about what is chosen now
    const events: [string, () => unknown][] = [["hotpath", hot], ["copystack", () => name && copy(stack(chosenNode).join("\n"), "Stack")], ["roothere", rootHere]];
    for (const [event, on] of events) addEventListener(event, on);
    return () => { for (const [event, on] of events) removeEventListener(event, on); };
  });
  const table = () => [["level", ...columns.map(({ column }) => column.key)], ...list.filter((n) => n.more === undefined).map((n) => [n.level, ...columns.map(({ at }) => n.row.values[at])])];
  const name = chosenNode?.row.path ? String(chosenNode.row.values[columns[0].at]) : "";
  return <>
    <Sentences list={sheet.notes} kind="notes" />
    <div class="tools">
      <button type="button" onClick={() => void hot()}>Hot path</button>
      <button type="button" disabled={!name || isFile} onClick={() => addTerm("focus", name)}>Only stacks with it</button>
      <button type="button" disabled={!name || isFile} onClick={() => addTerm("hide", name)}>Hide it</button>
      {name ? <a class="button" href={viewAddress("callers", { argument: name })}>Callers and callees</a> : null}
      <button type="button" disabled={!name} onClick={() => copy(stack(chosenNode).join("\n"), "Stack")}>Copy stack</button>
      <button type="button" disabled={!chosenNode || chosenNode.last || chosenNode.more !== undefined} onClick={rootHere}>Root here</button>
      {root ? <button type="button" class="whole" onClick={() => change({ root: "" })}>Whole tree</button> : null}
      <Chooser sheet={sheet} optional={optional} />
      <button type="button" onClick={() => copy(tsv(table()), "What is open of the tree (TSV)")}>Copy as TSV</button>
      <span class="count" role="status">{say}</span>
    </div>
    {error ? <Failed error={error} /> : null}
    <Rows total={list.length} label="call tree" role="treegrid" grid={template(columns)} minWidth={widthOf(columns)} onKey={onKey}
      head={<Head columns={columns} order={sheet.order} sort={(key) => change({ sort: key })} />}>
      {(from, to) => list.slice(from, to).map((n, k) => <TreeRow key={id(n) + (n.more ?? "")} n={n} index={from + k} columns={columns} current={from + k === current}
        choose={() => setCurrent(from + k)} toggle={() => void toggle(n)} />)}
    </Rows>
    <Sentences list={sheet.losses} kind="losses" />
    <Command text={sheet.command} />
  </>;
}

function TreeRow({ n, index, columns, current, choose, toggle }: {
  n: Node; index: number; columns: ReturnType<typeof chosen>; current: boolean; choose: () => void; toggle: () => void;
}) {
  const indent = { paddingLeft: inset(n.level, 14) + 8 + "px" };
  if (n.more !== undefined) {
    return <div class="row rest" role="row" aria-level={n.level + 1} aria-rowindex={index + 2}><span class="cell" role="gridcell" style={indent}>
      … {n.row.texts[0]} <button type="button" onClick={toggle}>show {chunk}</button></span></div>;
  }
  return <div class={"row" + (current ? " current" : "") + (n.hot ? " hot" : "")} role="row" aria-level={n.level + 1} aria-rowindex={index + 2}
    aria-expanded={n.last ? undefined : n.open} aria-selected={current} onClick={choose}>
    {columns.map(({ column, at }, i) => <span key={column.key} role="gridcell" class={i === 0 ? "cell name" : "box"} style={i === 0 ? indent : undefined}>
      {i === 0 ? <button type="button" class="twist" tabIndex={-1} aria-label={n.open ? "close" : "open"} onClick={toggle} disabled={n.last}>{n.last ? "·" : n.open ? "▾" : "▸"}</button> : null}
      {i === 0 ? nameOf(n.row, at) : <Cell row={n.row} column={column} at={at} />}
    </span>)}
  </div>;
}
