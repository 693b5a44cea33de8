// What differs between this session and an older one.
import { get } from "./api";
import { Command, copy, Failed, tsv, useLoad, Waiting } from "./parts";
import { change, param, viewAddress } from "./state";
import { Rows } from "./table";

type Compared = { view: string; column: string; note: string; total: number; columns: string[]; rows: (string | number | null)[][]; texts: string[][]; command: string };

const columns: Record<string, string[]> = {
  functions: ["", "exclusive_bytes", "inclusive_bytes", "exclusive_allocations", "inclusive_allocations", "elapsed_exclusive", "elapsed_inclusive", "cpu_exclusive", "cpu_inclusive", "calls"],
  types: ["", "bytes", "instances"],
  lines: ["", "exclusive_bytes", "exclusive_allocations", "elapsed_exclusive", "cpu_exclusive", "calls"],
};

export function CompareView() {
  const of = param("of") || "functions", column = param("column");
  const { value, error, loading } = useLoad(`compare ${of} ${column}`, (more) => get<Compared>("compare", { of, column }, more));
  const most = value ? Math.max(1, ...value.rows.slice(0, 1).map((r) => Math.abs(Number(r[0])))) : 1;
  return <section class="view compare">
    <header class="title"><h1>Comparison</h1><p>with the older session: what differs most comes first</p></header>
    <div class="tools">
      <label>rows of <select value={of} onChange={(e) => change({ of: e.currentTarget.value, column: "" })}>{Object.keys(columns).map((v) => <option key={v}>{v}</option>)}</select></label>
      <label>by <select value={value?.column ?? column} onChange={(e) => change({ column: e.currentTarget.value })}>{columns[of]?.filter(Boolean).map((v) => <option key={v}>{v}</option>)}</select></label>
      {value ? <button type="button" onClick={() => copy(tsv([value.columns, ...value.rows]), "Differences (TSV)")}>Copy as TSV</button> : null}
      {value ? <span class="count" role="status">{value.total.toLocaleString("en")} rows</span> : null}
    </div>
    {error ? <Failed error={error} /> : !value ? <Waiting /> : <>
      <p>{value.note}</p>
      {value.total > value.rows.length ? <p class="hint cut">The first {value.rows.length.toLocaleString("en")} of {value.total.toLocaleString("en")} rows are shown; the command below has them all.</p> : null}
      <div class={loading ? "stale" : ""}>
        <Rows total={value.rows.length} label="comparison" role="table" minWidth={640} grid="minmax(220px, 4fr) 150px 120px 84px 120px 120px minmax(110px, 2fr)"
          head={<div class="row head" role="row">{["Name", "", "Difference", "%", "Older", "This one", "Module"].map((t, i) => <span key={i} role="columnheader" class={i > 1 && i < 6 ? "number" : ""}>{t || <span class="hidden">bar</span>}</span>)}</div>}>
          {(from, to) => value.rows.slice(from, to).map((r, k) => {
            const t = value.texts[from + k], delta = Number(r[0]), share = Math.abs(delta) / most * 50;
            return <div class="row" role="row" key={from + k} aria-rowindex={from + k + 2}>
              <span class="cell name" role="cell">{of === "lines" ? <span title={t[4]}>{t[4]}:{t[7]}</span> : <a title={t[4]} href={viewAddress(of === "types" ? "types" : "callers", { argument: t[4] })}>{t[4]}</a>}</span>
              <span class="cell bar" role="cell"><i class={delta > 0 ? "more" : "less"} style={{ width: share + "%", left: delta > 0 ? "50%" : 50 - share + "%" }} /></span>
              {[0, 1, 2, 3].map((c) => <span class="cell number" role="cell" key={c}>{c > 1 && r[c] === null ? (c === 2 ? "new" : "gone") : t[c]}</span>)}
              <span class="cell" role="cell">{t[5]}</span>
            </div>;
          })}
        </Rows>
      </div>
      <Command text={value.command} />
    </>}
  </section>;
}
