// A source file, with what each line did beside it.
import { useEffect, useRef } from "preact/hooks";
import { get } from "./api";
import type { Sheet } from "./api";
import { Command, Failed, Sentences, useLoad, Waiting } from "./parts";
import { param } from "./state";
import { Cell, chosen } from "./table";

type Source = { path: string; lines: string[]; sheet: Sheet; command: string };

export function SourceView() {
  const [, path, line] = /^(.*?)(?::(\d+))?$/.exec(param("argument")) ?? ["", "", ""];
  const { value, error, loading } = useLoad("source " + path, (more) => get<Source>("source", { path }, more));
  const target = useRef<HTMLTableRowElement>(null);
  const wanted = value?.path === path ? line : undefined; // of the file before no line is
  useEffect(() => { // within its box: the page itself stays where it is
    const line = target.current, box = line?.closest(".result");
    if (line && box) box.scrollTop = line.offsetTop - box.clientHeight / 2;
  }, [value, wanted]);
  if (error) return <Failed error={error} />;
  if (!value) return <Waiting />;
  const columns = chosen(value.sheet, []).filter(({ column }) => !["place", "function", "module", "name"].includes(column.key)).slice(0, 4);
  const at = value.sheet.columns.findIndex((c) => c.key === "line_begin");
  const rows = new Map(value.sheet.rows.map((r) => [Number(r.values[at]), r]));
  const lines = value.lines.length ? value.lines.map((text, i) => ({ n: i + 1, text })) : [...rows.keys()].sort((a, b) => a - b).map((n) => ({ n, text: "" }));
  return <section class="view source">
    <header class="title"><h1>{value.path.split("/").pop()}</h1><p>{value.path}</p></header>
    <Sentences list={value.sheet.notes} kind="notes" />
    <div class={"result" + (loading ? " stale" : "")} tabIndex={0}><table>
      <thead><tr><th scope="col">Line</th>{columns.map(({ column }) => <th scope="col" key={column.key} title={column.about}>{column.title}</th>)}<th scope="col">Source</th></tr></thead>
      <tbody>{lines.map(({ n, text }) => {
        const row = rows.get(n);
        return <tr key={n} ref={String(n) === wanted ? target : undefined} class={(String(n) === wanted ? "current " : "") + (row ? "did" : "")}>
          <td class="number">{n}</td>{columns.map(({ column, at }) => <td class="number" key={column.key}>{row ? <Cell row={row} column={column} at={at} /> : null}</td>)}<td><code>{text}</code></td></tr>;
      })}</tbody></table></div>
    <Command text={value.command} part />
  </section>;
}
