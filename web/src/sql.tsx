// Questions in SQL: read-only, limited in time and rows, with the tables beside the box.
import { useRef, useState } from "preact/hooks";
import { get, post } from "./api";
import { Command, copy, Failed, useLoad } from "./parts";
import { change, param } from "./state";
import { clean } from "./table";
import { tsv } from "./tsv";
import { rowCount } from "./units";

type Result = { columns: string[]; rows: (string | number | null)[][]; cut: boolean; command: string };
type Schema = Record<string, { name: string; type: string }[]>;

const examples = { memory: "select name, exclusive_bytes from functions order by 2 desc limit 20", time: "select name, elapsed_exclusive from function_times order by 2 desc limit 20" };

export function SqlView({ memory }: { memory: boolean }) {
  const asked = param("query") || (memory ? examples.memory : examples.time);
  const box = useRef<HTMLTextAreaElement>(null);
  const [filter, setFilter] = useState("");
  const { value, error, loading } = useLoad("sql" + asked, (more) => post<Result>("sql", { query: asked }, more));
  const schema = useLoad("schema", (more) => get<Schema>("schema", {}, more));
  const run = () => change({ query: box.current!.value });
  const tables = Object.entries(schema.value ?? {}).filter(([name, columns]) => (name + " " + columns.map((c) => c.name).join(" ")).includes(filter.toLowerCase()));
  return <section class="view sql">
    <header class="title"><h1>SQL</h1><p>one SELECT over the whole session; filters above do not apply</p></header>
    <div class="sides">
      <div>
        <textarea ref={box} aria-label="query" key={asked} defaultValue={asked} rows={5} spellcheck={false}
          onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); } }} />
        <div class="tools"><button type="button" onClick={run}>Run (Ctrl+Enter)</button>
          {value ? <button type="button" onClick={() => copy(tsv([value.columns, ...value.rows]), "Result (TSV)")}>Copy as TSV</button> : null}
          {value ? <span class="count" role="status">{rowCount(value.rows.length)}{value.cut ? "; there are more" : ""}</span> : null}</div>
        {error ? <Failed error={error} /> : null}
        {value && !error ? <div class={"result" + (loading ? " stale" : "")} tabIndex={0}><table><thead><tr>{value.columns.map((c, i) => <th key={i} scope="col">{clean(c)}</th>)}</tr></thead>
          <tbody>{value.rows.slice(0, 1000).map((r, i) => <tr key={i}>{r.map((v, k) => <td key={k} class={typeof v === "number" ? "number" : ""}>{typeof v === "number" && Number.isInteger(v) ? v.toLocaleString("en") : clean(v)}</td>)}</tr>)}</tbody></table>
          {value.rows.length > 1000 ? <p class="hint">The first 1,000 of {value.rows.length.toLocaleString("en")} rows are shown; all are copied.</p> : null}</div> : null}
        <Command text={value?.command} />
      </div>
      <aside aria-label="Tables"><input type="search" aria-label="search tables" placeholder="tables and columns" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        {tables.map(([name, columns]) => <details key={name} open={!!filter}><summary>{name}</summary><ul>{columns.map((c) => <li key={c.name}>{c.name} <small>{c.type.toLowerCase()}</small></li>)}</ul></details>)}
      </aside>
    </div>
  </section>;
}
