// Numbers as the terminal prints them; see package quantity.
export function formatBytes(n: number): string {
  if (Math.abs(n) < 1024) return n + " B";
  for (const [i, unit] of ["KiB", "MiB", "GiB", "TiB", "PiB"].entries()) {
    const text = (Math.round(n / 1024 ** (i + 1) * 100) / 100).toFixed(2);
    if (Math.abs(Number(text)) < 1024 || unit === "PiB") return text + " " + unit;
  }
  return "";
}

export function formatDuration(n: number): string {
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

export const rowCount = (n: number) => formatCount(n) + (n === 1 ? " row" : " rows");

export function format(kind: string, n: number): string {
  return kind === "bytes" ? formatBytes(n) : kind === "duration" ? formatDuration(n) : formatCount(n);
}

export function formatPercent(part: number, whole: number): string {
  if (!whole) return "0.00 %";
  const text = (Math.round(part / whole * 1e4) / 100).toFixed(2);
  return (text === "0.00" && part ? "<0.01" : text) + " %";
}
