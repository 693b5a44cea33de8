// Tables of any length: rows have one height, only those in sight exist, and pages of them come from the server.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Column, Link, Row, Sheet } from "./api";
import { shownName } from "./names";
import { isFile } from "./offline";
import { asyncHere, viewAddress } from "./state";
import { chosenText, hasPercents, titled } from "./units";
import { showWhole } from "./whole";

export const rowHeight = matchMedia("(pointer: coarse)").matches ? 34 : 26;
/** Browsers have no elements that are higher than about 17 million pixels. */
export const mostHeight = 16_000_000;
const beyond = 8; // rows above and below those in sight

/** A name without characters that would turn text around or end a line. */
export const clean = (s: unknown) => String(s ?? "").replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu, "\ufffd");

export const isNumeric = (c: Column) => c.kind !== "text" && c.kind !== "name";

/** A column that is shown, where its values are in a row, and how wide it must be at least, in pixels, so that no number is cut. */
export type Shown = { column: Column; at: number; least: number };

const digit = 8.1, letter = 6.4, margin = 18; // pixels of a character in a cell and in the head, and beside them
const looked = 200; // rows that are looked at: the widest are mostly among the first
const wholeText = 16; // characters of a text that are not cut: a few words

/** The least width of a column, 0: what it says may be cut. */
function leastWidth(sheet: Sheet, column: Column, at: number): number {
  if (column.kind === "name" || column.kind === "percent") return 0;
  let longest = sheet.rows.slice(0, looked).reduce((most, row) => Math.max(most, textOf(row, column, at).length), 0);
  if (column.kind === "text") longest = Math.min(longest, wholeText);
  return Math.round(Math.max(longest * digit, column.title.length * letter) + margin);
}

/** What a column is called where the one that it is a share of does not stand before it. */
export function longTitle(sheet: Sheet, at: number): string {
  const { title } = sheet.columns[at];
  return title === "%" && at > 0 ? "% of " + sheet.columns[at - 1].title : title;
}

/** The columns to show: the name first, then the others. */
export function chosen(sheet: Sheet, keys: string[]): Shown[] {
  const out = (keys.length ? keys : sheet.shown).map((key) => {
    const at = sheet.columns.findIndex((c) => c.key === key);
    return { column: sheet.columns[at], at, least: 0 };
  }).filter((c) => c.at >= 0 && (c.column.kind !== "percent" || hasPercents()));
  const names = ["name", "interaction_text", "place", "key", "number", "instruction_address"];
  for (const name of names) {
    const i = out.findIndex((c) => c.column.key === name);
    if (i >= 0) { out.unshift(...out.splice(i, 1)); break; }
  }
  // A share that stands apart from what it is a share of says so.
  return out.map((c, i) => {
    const title = titled(c.column.title === "%" && out[i - 1]?.at !== c.at - 1 ? longTitle(sheet, c.at) : c.column.title, c.column.kind), column = { ...c.column, title };
    return { column, at: c.at, least: leastWidth(sheet, column, c.at) };
  });
}

/** The least width of the first column: names are what one reads, also deep in a tree, and the others can be scrolled to. */
const nameWidth = "max(min(100vw - 160px, 240px), min(30vw, 460px))"; // on a phone beside one number

/** How far a row of a tree stands in: deep levels less and less, so that the names stay in sight. */
export const inset = (level: number, step: number) => Math.round(level <= 6 ? level * step : step * (6 + 2 * Math.log2((level - 3) / 3)));

/** The width of a column, from its kind and what it must have. */
function width(c: Column, first: string, least: number): string {
  const room = (from: number, to: number) => `minmax(${Math.max(from, least)}px, ${Math.max(to, least)}px)`;
  if (c.key === "place") return "minmax(190px, 2fr)";
  if (c.key === "text") return "minmax(240px, 4fr)"; // of a mark
  if (c.key === "route") return "minmax(220px, 3fr)";
  if (c.key === "function") return "minmax(240px, 4fr)"; // of a place, which says little without it
  if (first) return c.kind === "name" ? `minmax(${first}, 4fr)` : isNumeric(c) ? room(72, 112) : "minmax(120px, 1fr)";
  switch (c.kind) {
    case "percent": return "92px";
    case "bytes": case "duration": case "time": return room(108, 126);
    case "count": case "number": return room(82, 112);
    case "text": return room(70, 140);
    case "address": return "150px";
  }
  return "minmax(130px, 2fr)";
}

export function template(columns: Shown[], first = nameWidth): string {
  return columns.map((c, i) => width(c.column, i === 0 ? first : "", c.least)).join(" ");
}

/** What a cell says, in the units that are chosen. */
export function textOf(row: Row, column: Column, at: number): string {
  const text = row.texts[at] ?? "", value = row.values[at];
  const chosen = text && typeof value === "number" ? chosenText(column.kind, value) : undefined;
  return chosen ? (row.estimates?.[at] ? "≈" : "") + chosen : text;
}

export function Cell({ row, column, at }: { row: Row; column: Column; at: number }) {
  const text = textOf(row, column, at);
  if (column.kind === "percent") {
    const share = Math.min(100, Math.max(0, Number(row.values[at] ?? 0)));
    return <span class="cell number share" title={row.estimates?.[at]}><i style={{ width: share + "%" }} />{text && <b>{text}</b>}</span>;
  }
  const full = column.kind === "name" ? clean(row.values[at]) : isNumeric(column) ? row.estimates?.[at] : text; // there may be no room for it
  return <span class={"cell " + (isNumeric(column) ? "number" : "text")} title={full}>{isNumeric(column) ? text : column.kind === "name" ? nameText(text) : withLine(text) ?? text}</span>;
}

/** A text of which the line at its end, as in Program.cs:72 or Program.cs:72:9, is seen however little room there is: it is cut at its front. */
function withLine(text: string): ComponentChildren {
  const [, file, line] = /^(.+?)((?::\d+){1,2})$/.exec(text) ?? [];
  return line ? <><span class="file" style={{ maxWidth: `calc(100% - ${line.length}ch)` }}><bdi dir="ltr">{file}</bdi></span>{line}</> : undefined;
}

export const nameText = (text: string) => (text.includes("<lambda #") ? undefined : withLine(text)) ?? shownName(text) ?? text;

export const linkAddress = ({ view, ...more }: Link) => viewAddress(view, { ...more, time: more.gc ? "" : undefined, async: view === "callers" ? asyncHere() : undefined });

/** A file has each view of the whole session only. */
const isThere = (link: Link) => !isFile || !(link.gc || link.process || link.thread || link.module || link.namespace);

export function nameOf(row: Row, at: number, columns: Shown[]): ComponentChildren {
  const { text, full } = called(row, at, columns);
  if (!row.link || !isThere(row.link)) return <span title={full}>{nameText(text)}</span>;
  return <a href={linkAddress(row.link)} title={full}>{nameText(text)}</a>;
}

/** What a row is called, and in full: by its first column, or where that is empty, as the place of a function without lines is, by its function. */
function called(row: Row, at: number, columns: Shown[]): { text: string; full: string } {
  const other = columns.find((c) => c.column.key === "function" && row.texts[c.at]);
  const from = row.texts[at] || !other ? at : other.at;
  return { text: row.texts[from] ?? "", full: clean(row.values[from]) };
}

/** What is sorted with the greatest first; numbers, addresses, moments and names begin with the least. */
const descending = ["count", "bytes", "duration", "percent"];

/** The key of the column that is dragged. */
let dragged = "";

export function Head({ columns, order, reverse, sort, move }: {
  columns: { column: Column }[]; order: string; reverse?: boolean; sort?: (key: string) => void;
  /** Moves a column to the place of another one. */
  move?: (key: string, to: string) => void;
}) {
  const [over, setOver] = useState("");
  const nudge = (e: KeyboardEvent, i: number) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key], to = columns[i + (by ?? 0)];
    if (!by || !e.shiftKey || !move) return;
    e.preventDefault();
    e.stopPropagation();
    const head = (e.currentTarget as Element).closest(".head");
    if (to) move(columns[i].column.key, to.column.key);
    requestAnimationFrame(() => head?.querySelector<HTMLElement>(`[data-key="${columns[i].column.key}"] button`)?.focus()); // it may be another element
  };
  const spare = new Map<string, string>();
  columns.forEach(({ column }, i) => { if (column.title === "%" && i > 0) spare.set(column.key, "% of " + columns[i - 1].column.title); });
  return <div class="row head" role="row" aria-rowindex={1}>
    {columns.map(({ column }, i) => {
      const ascends = descending.includes(column.kind) === !!reverse;
      const sorted = column.key === order ? (ascends ? "ascending" : "descending") : undefined;
      const moves = move && i > 0 ? {
        draggable: true,
        onDragStart: (e: DragEvent) => { dragged = column.key; e.dataTransfer?.setData("text/plain", column.key); },
        onDragEnd: () => { dragged = ""; setOver(""); },
        onDragOver: (e: DragEvent) => { if (dragged) { e.preventDefault(); setOver(column.key); } },
        onDrop: (e: DragEvent) => { e.preventDefault(); setOver(""); if (dragged) move(dragged, column.key); dragged = ""; },
      } : {};
      return <span role="columnheader" key={column.key} data-key={column.key} aria-sort={sorted} {...moves}
        class={(isNumeric(column) && i > 0 ? "number " : "") + (sorted ? "sorted " : "") + (over === column.key && dragged !== column.key ? "over" : "")}>
        {sort ? <button type="button" onKeyDown={(e) => nudge(e, i)} title={column.about + " (" + column.key + ")" + (moves.draggable ? ". Drag it, or press Shift and an arrow, to move it." : "")} aria-label={spare.get(column.key) ?? column.title} onClick={() => sort(column.key)}>
          {column.title}{sorted ? (ascends ? " ▴" : " ▾") : ""}
        </button> : <span title={column.about}>{column.title}</span>}
      </span>;
    })}
  </div>;
}

export const rowID = (index: number) => "row-" + index;

/** What a screen reader says of a row: its name, and each number with what it is called. */
export function rowLabel(row: Row, columns: Shown[]): string {
  const said = columns.slice(1).map(({ column, at }) => ({ title: column.title, text: textOf(row, column, at) })).filter((c) => c.text);
  return [called(row, columns[0].at, columns).text, ...said.map((c) => c.title + " " + c.text)].join(", ");
}

/** A window on many rows. Draws those in sight; tells when others are needed. */
export function Rows({ total, children, label, head, grid, role, minWidth, onKey, goTo, current }: {
  total: number; label: string; head: ComponentChildren; grid: string; role: "table" | "grid" | "treegrid"; minWidth: string;
  children: (from: number, to: number) => ComponentChildren; onKey?: (e: KeyboardEvent, scroll: (row: number) => void) => void;
  /** A row that is scrolled to whenever this is another object. */
  goTo?: { row: number };
  /** The row that the keyboard is at. The focus stays on the whole, as rows come and go: it says which row is meant. */
  current?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, set] = useState({ top: 0, height: 600 });
  const real = total * rowHeight;
  const height = Math.min(real, mostHeight);
  const measure = () => {
    const b = box.current;
    if (b) set({ top: b.scrollTop, height: b.clientHeight });
  };
  useLayoutEffect(measure, [total]);
  useEffect(() => {
    const o = new ResizeObserver(measure);
    if (box.current) o.observe(box.current);
    return () => o.disconnect();
  }, []);
  const room = Math.max(1, height - seen.height);
  const top = height < real ? seen.top * (real - seen.height) / room : seen.top; // in pixels of all rows
  const from = Math.max(0, Math.floor(top / rowHeight) - beyond);
  const to = Math.min(total, Math.ceil((top + seen.height) / rowHeight) + beyond);
  const scroll = (row: number) => {
    const b = box.current;
    if (!b) return;
    const y = row * rowHeight, shown = b.clientHeight - rowHeight * 2;
    if (y >= top && y <= top + shown) return;
    const wanted = y < top ? y : y - shown;
    b.scrollTop = height < real ? wanted * room / (real - seen.height) : wanted;
  };
  useLayoutEffect(() => { if (goTo) scroll(goTo.row); }, [goTo]);
  const active = current !== undefined && current >= from && current < to ? rowID(current) : undefined;
  useEffect(showWhole, [active, total]);
  return <div class="rows" ref={box} onScroll={measure} role={role} aria-label={label} aria-rowcount={total + 1} tabIndex={0} aria-activedescendant={active}
    onKeyDown={(e) => onKey?.(e, scroll)} style={{ "--grid": grid, "--least": Math.min(260, rowHeight * (total + 1) + 2) + "px" }}>
    <div class="wide" style={{ minWidth }}>
      {head}
      <div class="all" role="rowgroup" style={{ height: height + "px" }}>
        <div class="part" role="presentation" style={{ transform: `translateY(${Math.round(seen.top - (top - from * rowHeight))}px)` }}>{children(from, to)}</div>
      </div>
    </div>
  </div>;
}

/** The least width of a table: that of its columns, and of what else stands in its rows. */
export function widthOf(columns: Shown[], more = 0): string {
  const of = (c: Column) => c.key === "place" ? 150 : c.key === "function" || c.key === "text" ? 240 : c.kind !== "name" ? 104 : 130;
  const named = columns[0]?.column.kind === "name" && !["place", "function", "text"].includes(columns[0].column.key);
  const others = columns.slice(named ? 1 : 0).reduce((sum, c) => sum + Math.max(of(c.column), c.least), more);
  return named ? `calc(${nameWidth} + ${others}px)` : others + "px";
}

/** How the bytes of a row ended, by generation, as a bar: beside the numbers, not instead of them. */
export function Ends({ row, sheet }: { row: Row; sheet: Sheet }) {
  const parts = ["gen0", "gen1", "gen2", "loh", "poh", "alive"].map((key) => {
    const at = sheet.columns.findIndex((c) => c.key === key + "_bytes");
    return { key, value: Math.max(0, Number(row.values[at] ?? 0)), text: at < 0 ? "" : textOf(row, sheet.columns[at], at) };
  });
  const all = parts.reduce((sum, p) => sum + p.value, 0);
  if (!all) return <span class="ends" />;
  return <span class="ends" title={parts.filter((p) => p.value).map((p) => p.key + " " + p.text).join(", ")}>
    {parts.map((p) => p.value ? <i key={p.key} class={p.key} style={{ width: p.value / all * 100 + "%" }} /> : null)}</span>;
}

/** The width of a column of a short table, of which two stand beside each other. */
const smallWidth = ({ column: c, least }: Shown, first: boolean) => c.kind === "percent" ? "66px" : isNumeric(c) ? `minmax(${Math.max(72, least - 8)}px, ${Math.max(96, least - 8)}px)` : first ? "minmax(clamp(110px, 40vw, 160px), 4fr)" : "minmax(80px, 3fr)";

/** A short table that stands in a text: all its rows are there. */
export function Small({ sheet, keys, label }: { sheet: Sheet; keys: string[]; label: string }) {
  const columns = chosen(sheet, keys.filter((k) => k !== "from"));
  const from = keys.includes("from") ? sheet.columns.findIndex((c) => c.key === "from") : -1;
  return <div class={"small" + (from >= 0 ? " two" : "")} role="table" aria-label={label} style={{ "--grid": columns.map((c, i) => smallWidth(c, i === 0)).join(" ") }}>
    <Head columns={columns} order="" />
    {sheet.rows.map((row, i) => row.hidden
      ? <div class="row rest" role="row" key={i}><span role="cell">{row.texts[0]}</span></div>
      : <div class="row" role="row" key={i}>
        {columns.map(({ column, at }, k) => k === 0
          ? <span class="cell name" role="cell" style={{ paddingLeft: sheet.is_tree ? inset(row.level, 10) + "px" : undefined }}>{nameOf(row, at, columns)}{from >= 0 ? <small title={clean(row.values[from])}>{withLine(row.texts[from] ?? "")}</small> : null}</span>
          : <span role="cell" class="box"><Cell row={row} column={column} at={at} /></span>)}
      </div>)}
  </div>;
}
