// How numbers are written: a switch that all views follow, which changes no number.
import { param, setUnit } from "./state";
import type { UnitFlag } from "./state";
import { hasPercents, ticksPerSecond, timeUnit, timeUnits } from "./units";

/** What a unit of times is called where it is chosen. */
const named: Record<string, string> = { "": "as suits each", ms: "milliseconds", us: "microseconds", ns: "nanoseconds", ticks: "ticks of the clock" };

export function Numbers() {
  const choose = (flag: UnitFlag) => (e: { currentTarget: HTMLSelectElement }) => setUnit(flag, e.currentTarget.value);
  return <details class="numbers"><summary>Units</summary><div>
    <label>Bytes <select id="bytes" value={param("bytes")} onChange={choose("bytes")}><option value="">readable, 1.18 MiB</option><option value="exact">exact, 1,237,320 B</option></select></label>
    <label>Times <select id="unit" value={timeUnit()} onChange={choose("unit")}>
      {["", ...Object.keys(timeUnits)].filter((u) => u !== "ticks" || ticksPerSecond.value).map((u) => <option key={u} value={u}>{named[u]}</option>)}</select></label>
    <label><input id="percent" type="checkbox" checked={hasPercents()} onChange={() => setUnit("percent", hasPercents() ? "off" : "")} /> Percentages</label>
    <small>Tables, graphs and charts follow this choice. Sentences do not change; TSV copies are exact.</small>
  </div></details>;
}
