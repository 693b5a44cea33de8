// Which columns a table shows, in which order: chosen in a list, or moved by their heads. The address has it.
import type { Sheet } from "./api";
import { say } from "./parts";
import { change, param } from "./state";
import { longTitle } from "./table";
import type { Shown } from "./table";

/** Shows these columns. Those that the server does not send unless asked are asked for. */
function show(sheet: Sheet, optional: string[], keys: string[]) {
  const more = keys.filter((k) => optional.includes(k));
  const base = sheet.columns.map((c) => c.key).filter((k) => !optional.includes(k));
  change({ cols: keys.join(","), more: more.length ? [...base, ...more].join(",") : "" });
}

/** Moves a column to the place of another one. The first column, which names the rows, stays where it is. */
export function mover(sheet: Sheet, optional: string[], columns: Shown[]) {
  return (key: string, to: string) => {
    const shown = columns.map((c) => c.column.key), coming = param("cols") ? param("cols").split(",").filter((k) => !shown.includes(k)) : [];
    const keys = [...shown, ...coming], from = keys.indexOf(key), at = keys.indexOf(to);
    if (from < 1 || at < 1 || from === at) return;
    keys.splice(at, 0, ...keys.splice(from, 1));
    show(sheet, optional, keys);
    say(`${longTitle(sheet, columns[from].at)} is column ${at + 1} of ${keys.length}`);
  };
}

/** Which columns are shown, in which order. */
export function Chooser({ sheet, optional }: { sheet: Sheet; optional: string[] }) {
  const keys = param("cols") ? param("cols").split(",") : sheet.shown;
  const set = (list: string[]) => show(sheet, optional, list);
  const others = [...sheet.columns.map((c) => c.key), ...optional].filter((k, i, list) => !keys.includes(k) && list.indexOf(k) === i);
  const move = (i: number, by: number) => {
    const next = [...keys];
    next.splice(i + by, 0, ...next.splice(i, 1));
    set(next);
  };
  const about = (k: string) => sheet.columns.find((c) => c.key === k)?.about ?? "";
  const title = (k: string) => { const at = sheet.columns.findIndex((c) => c.key === k); return at < 0 ? k : longTitle(sheet, at); };
  return <details class="chooser"><summary>Columns</summary><div>
    {keys.map((k, i) => <div key={k}><label title={about(k)}><input type="checkbox" checked onChange={() => set(keys.filter((x) => x !== k))} /> {title(k)} <code>{k}</code><small>{about(k)}</small></label>
      <span><button type="button" aria-label={"move " + k + " left"} disabled={i === 0} onClick={() => move(i, -1)}>↑</button><button type="button" aria-label={"move " + k + " right"} disabled={i === keys.length - 1} onClick={() => move(i, 1)}>↓</button></span></div>)}
    <hr />
    {others.map((k) => <label key={k} title={about(k)}><input type="checkbox" checked={false} onChange={() => set([...keys, k])} /> {title(k)} <code>{k}</code><small>{about(k)}</small></label>)}
    <button type="button" onClick={() => change({ cols: "", more: "" })}>As it was</button>
  </div></details>;
}
