// Numbers as the terminal prints them, in the units that are chosen; see packages quantity and text.
import { signal } from "@preact/signals";
import { param } from "./state";

/** How many ticks the clock that times were measured with has in a second; 0: no times were. */
export const ticksPerSecond = signal(0);

/** Units of times, as the flag --unit takes them, and as they are written. "": what suits each number. */
export const timeUnits: Record<string, string> = { ms: "ms", us: "µs", ns: "ns", ticks: "ticks" };

/** The unit of all times, "": what suits each. */
export function timeUnit(): string {
  const unit = param("unit");
  return Object.hasOwn(timeUnits, unit) && (unit !== "ticks" || ticksPerSecond.value) ? unit : "";
}

/** Whether bytes are written exactly, and whether shares are. */
export const isExact = () => param("bytes") === "exact";
export const hasPercents = () => param("percent") !== "off";

/** A time in the unit that is chosen, without the unit. Thousandths are exact, but for those of milliseconds, which are rounded. */
function inUnit(n: number, unit: string): string {
  if (n < 0) return "-" + inUnit(-n, unit);
  const thousandths = (n: number) => formatCount(Math.floor(n / 1000)) + "." + String(n % 1000).padStart(3, "0");
  switch (unit) {
    case "ms": return thousandths(Math.floor(n / 1000) + Math.floor((n % 1000 + 500) / 1000));
    case "us": return thousandths(n);
    case "ticks": { // as precise as there are ticks, of which sums have more than a number can hold
      const rate = ticksPerSecond.value;
      return (BigInt(Math.floor(n / 1e9)) * BigInt(rate) + BigInt(Math.floor(n % 1e9 * rate / 1e9 + 0.5))).toLocaleString("en");
    }
  }
  return formatCount(n);
}

/** The text of a number in a column that says its unit, if another than the usual one is chosen. */
export function chosenText(kind: string, n: number): string | undefined {
  if (kind === "bytes") return isExact() ? formatCount(n) + " B" : undefined;
  return kind === "duration" && timeUnit() ? inUnit(n, timeUnit()) : undefined;
}

/** The title of a column, with the unit that its times are in. */
export const titled = (title: string, kind: string) => kind === "duration" && timeUnit() ? `${title} (${timeUnits[timeUnit()]})` : title;

export function formatBytes(n: number): string {
  if (isExact()) return formatCount(n) + " B";
  if (Math.abs(n) < 1024) return n + " B";
  for (const [i, unit] of ["KiB", "MiB", "GiB", "TiB", "PiB"].entries()) {
    const text = (Math.round(n / 1024 ** (i + 1) * 100) / 100).toFixed(2);
    if (Math.abs(Number(text)) < 1024 || unit === "PiB") return text + " " + unit;
  }
  return "";
}

export function formatDuration(n: number): string {
  const unit = timeUnit();
  return unit ? inUnit(n, unit) + " " + timeUnits[unit] : formatTime(n);
}

/** A time since the start, which no unit changes. */
export function formatTime(n: number): string {
  if (n < 1000) return n + " ns";
  for (const [unit, size, next] of [["µs", 1e3, 1e3], ["ms", 1e6, 1e3], ["s", 1e9, 60]] as [string, number, number][]) {
    const text = (Math.round(n / size * 100) / 100).toFixed(2);
    if (Number(text) < next) return text + " " + unit;
  }
  const seconds = Math.round(n / 1e9), two = (x: number) => String(x).padStart(2, "0");
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + two(seconds % 60) + " s";
  const minutes = Math.round(n / 60e9);
  return Math.floor(minutes / 60) + " h " + two(minutes % 60) + " min";
}

export const formatCount = (n: number) => n.toLocaleString("en");

/** What one must know of elapsed times that are longer than the run. */
export const overThreads = (threads?: number) => (threads ?? 0) > 1 ? [`Elapsed times are added up over ${formatCount(threads!)} threads.`] : [];

export const rowCount = (n: number) => formatCount(n) + (n === 1 ? " row" : " rows");

export function format(kind: string, n: number): string {
  return kind === "bytes" ? formatBytes(n) : kind === "duration" ? formatDuration(n) : formatCount(n);
}

export function formatPercent(part: number, whole: number): string {
  if (!whole) return "0.00 %";
  const text = (Math.round(part / whole * 1e4) / 100).toFixed(2);
  return (text === "0.00" && part ? "<0.01" : text) + " %";
}

/** A share in brackets behind its part, if shares are written. */
export const inPercent = (part: number, whole: number) => hasPercents() ? ` (${formatPercent(part, whole)})` : "";
