// What differs between this session and an older one.
import { get } from "./api";
import type { Session } from "./api";
import { Command, copy, Failed, useLoad, Waiting } from "./parts";
import { change, param, viewAddress } from "./state";
import { nameText, Rows } from "./table";
import { tsv } from "./tsv";
import { chosenText, hasPercents, rowCount, titled } from "./units";

type Compared = { view: string; column: string; note: string; total: number; unit: string; columns: string[]; rows: (string | number | null)[][]; texts: string[][]; names: string[]; command: string };

export function CompareView({ session }: { session: Session }) {
  const views = session.compared_views ?? [], of = param("of") || views[0]?.name, column = param("column"), offered = views.find((v) => v.name === of);
  const { value, error, loading } = useLoad(`compare ${of} ${column}`, (more) => get<Compared>("compare", { of, column }, more));
  const shown = hasPercents() ? [0, 1, 2, 3] : [0, 2, 3]; // of the numbers of a row: the second is a percentage
  const most = value ? Math.max(1, ...value.rows.slice(0, 1).map((r) => Math.abs(Number(r[0])))) : 1;
  return <section class="view compare">
    <header class="title"><h1>Comparison</h1><p>with the older session: the largest differences first</p></header>
    <div class="tools">
      <label>rows of <select value={of} onChange={(e) => change({ of: e.currentTarget.value, column: "" })}>{views.map((v) => <option key={v.name}>{v.name}</option>)}</select></label>
      <label>by <select value={column || (value?.view === of ? value?.column : "")} onChange={(e) => change({ column: e.currentTarget.value })}>{offered?.columns.map((v, i) => <option key={v} value={v}>{offered.titles[i]}</option>)}</select></label>
      {value ? <button type="button" onClick={() => copy(tsv([value.columns, ...value.rows]), "Differences (TSV)")}>Copy as TSV</button> : null}
      {value ? <span class="count" role="status">{rowCount(value.total)}</span> : null}
    </div>
    {error ? <Failed error={error} /> : !value ? <Waiting /> : <>
      <p>{value.note}</p>
      {value.total > value.rows.length ? <p class="hint cut">The first {value.rows.length.toLocaleString("en")} of {value.total.toLocaleString("en")} rows are shown; the command below has them all.</p> : null}
      <div class={loading ? "stale" : ""}>
        <Rows total={value.rows.length} label="comparison" role="table" minWidth="640px" grid={`minmax(clamp(170px, 30vw, 220px), 4fr) clamp(50px, 12vw, 150px) 120px ${hasPercents() ? "84px " : ""}120px 120px minmax(110px, 2fr)`}
          head={<div class="row head" role="row">{["Name", "", ...shown.map((c) => ["Difference", "%", "Older", "This one"][c]).map((t) => t === "%" ? t : titled(t, kinds[value.unit] ?? "")), "Module"].map((t, i) => <span key={i} role="columnheader" class={i > 1 && i < 2 + shown.length ? "number" : ""}>{t || <span class="hidden">bar</span>}</span>)}</div>}>
          {(from, to) => value.rows.slice(from, to).map((r, k) => {
            const t = value.texts[from + k], text = (c: number) => r[c] === null ? t[c] : differenceText(value.unit, c, Number(r[c])) ?? t[c], delta = Number(r[0]), share = Math.abs(delta) / most * 50;
            return <div class="row" role="row" key={from + k} aria-rowindex={from + k + 2}>
              <span class="cell name" role="cell"><Name of={value.view} columns={value.columns} texts={t} short={value.names[from + k]!} /></span>
              <span class="cell bar" role="cell"><i class={delta > 0 ? "more" : "less"} style={{ width: share + "%", left: delta > 0 ? "50%" : 50 - share + "%" }} /></span>
               {shown.map((c) => <span class="cell number" role="cell" key={c}>{c > 1 && r[c] === null ? t[c] || (c === 2 ? "new" : "gone") : t[c].startsWith("≈") ? t[c] : text(c)}</span>)}
              <span class="cell" role="cell">{t[5]}</span>
            </div>;
          })}
        </Rows>
      </div>
      <Command text={value.command} />
    </>}
  </section>;
}

const kinds: Record<string, string> = { bytes: "bytes", nanoseconds: "duration" };

/** The text of a number of a row in the unit that is chosen, if that is not the usual one. */
function differenceText(unit: string, column: number, n: number): string | undefined {
  const text = column === 1 ? undefined : chosenText(kinds[unit] ?? "", n);
  return text && column === 0 && n > 0 ? "+" + text : text;
}

/** The view that tells more about a row of a comparison. */
const more: Record<string, string> = { functions: "callers", calltree: "callers", types: "types", lifetime: "types", sites: "types" };

function Name({ of, columns, texts, short }: { of: string; columns: string[]; texts: string[]; short: string }) {
  const text = (column: string) => texts[columns.indexOf(column)] ?? "";
  const name = text("name"), was = text("baseline_name"), title = (text("stack") || name) + (was && was !== name ? ` (was ${was})` : "");
  if (of === "lines") return <span title={title}>{nameText(short + ":" + text("line"))}</span>;
  return more[of] ? <a title={title} href={viewAddress(more[of], { argument: name })}>{nameText(short)}</a> : <span title={title}>{nameText(short)}</span>;
}
