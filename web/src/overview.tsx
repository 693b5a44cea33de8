// The first page: what the run was, what stands out, where it happens, and when.
import { get } from "./api";
import type { Sheet, Summary } from "./api";
import { isFile } from "./offline";
import { Command, Failed, Sentences, useLoad, useParts, Waiting } from "./parts";
import { changed, param, viewAddress } from "./state";
import { linkAddress, Small } from "./table";
import { TimelineView } from "./timeline";

/** Facts that are shown large. */
const large = ["allocated", "duration", "time", "calls", "collections", "alive", "gcs", "elapsed", "pauses", "died"];

export function Overview() {
  const all = param("all");
  const { value, error, loading } = useParts<Summary>("summary" + all, async (more) => {
    const quick = await get<Summary>("summary", { all, quick: isFile ? "" : "1" }, more);
    if (!quick.quick) return quick;
    more.first(quick);
    return get<Summary>("summary", { all }, more);
  });
  if (error) return <Failed error={error} />;
  if (!value) return <Waiting />;
  const hot = value.sections.filter((s) => s.key.includes("hot_path")); // of times, of allocations, or of both
  const rest = value.sections.filter((s) => !hot.includes(s) && (s.key !== "processes" || s.rows.length > 1));
  return <div class={"overview" + (loading ? " stale" : "")}>
    <h1 class="hidden">Overview</h1>
    <Sentences list={value.notes} kind="notes" />
    <Facts facts={value.facts} />
    <div class="first">
      <section class="findings" aria-label="Findings"><h2>Findings</h2>
        {value.quick ? <Waiting /> : value.findings.length ? <ol>{value.findings.map((f) => <li key={f.text}>{f.text}{f.link ? <> <a href={linkAddress(f.link)} aria-label={"Look at " + f.link.argument}>look</a></> : null}</li>)}</ol> : <p class="hint">Nothing stands out.</p>}
        {value.quick || !value.broken ? null : <p class="hint"><a href={viewAddress("rules")}>All rules that the program breaks</a>, with what to do instead</p>}
      </section>
      {hot.length ? <div class="paths">{hot.map((s) => <section class="hot" key={s.key} aria-label={s.title}><h2>{s.title} <small><a href={viewAddress("calltree")}>call tree</a></small></h2><Small sheet={s} keys={few(s)} label={s.title} /></section>)}</div> : value.quick ? null : <HotPath />}
    </div>
    {value.quick ? null : <TimelineView />}
    <Sentences list={value.losses} kind="losses" />
    <div class="lists">
      {rest.map((s) => <section key={s.key}><h2>{s.title}</h2><Small sheet={s} keys={few(s)} label={s.title} /></section>)}
    </div>
    <p><a href={changed({ all: all ? "" : "1" })}>{all ? "Only your code" : "All code, not only yours"}</a></p>
    <Sentences list={value.remarks} kind="notes" />
    <Command text={value.command} />
  </div>;
}

const ends = 8; // levels of a long hot path that are shown from above, and as many from below

/** Where most happens, if the summary does not say it: the call tree's own hot path. */
function HotPath() {
  const { value, loading } = useLoad("hot path", (more) => get<Sheet>("tree", { hot: "1" }, more).catch(() => undefined));
  if (!value?.rows.length) return null;
  const { rows } = value, left = rows.length - 2 * ends;
  const shown = left < 2 ? rows : [...rows.slice(0, ends), { ...rows[0], link: undefined, values: [], texts: [`… ${left} more levels`], hidden: left }, ...rows.slice(-ends)];
  return <section class={"hot" + (loading ? " stale" : "")} aria-label="Hot path"><h2>Hot path <small><a href={viewAddress("calltree")}>call tree</a></small></h2><Small sheet={{ ...value, rows: shown }} keys={few(value)} label="Hot path" /></section>;
}

/** The name and the numbers that matter most: a list beside others has no room for more. */
function few(s: Sheet & { key?: string }): string[] {
  const kind = (k: string) => s.columns.find((c) => c.key === k)?.kind;
  const name = s.shown.find((k) => k === "name") ?? s.shown[0];
  const ids = s.key === "processes" ? [] : ["number"]; // of processes: a list beside others has no room for them
  const numbers = s.shown.filter((k) => k !== name && !["name", "text", ...ids].includes(kind(k) ?? "")).slice(0, s.shown.includes("from") ? 2 : 3);
  const from = s.shown.includes("from") ? ["from"] : [];
  return [name, ...from, ...numbers];
}

/** What the large facts are. */
const definitions: Record<string, string> = {
  duration: "From the start of the first process to the end of the last one.", time: "Time of all threads in recorded functions, without the time of the probes.",
  calls: "All calls of recorded functions.", allocated: "All objects that were allocated, and their bytes with headers.", gcs: "Garbage collections, by the oldest generation that they collected, and how long threads were stopped for them.",
  died: "Of all bytes: in which generation they were found dead, or that they were alive at the end.", alive: "What could be reached at the end.", losses: "What is missing, counted: nothing is lost silently.",
  pauses: "How long threads were stopped.", elapsed: "Time on the clock.", collections: "Garbage collections.",
};

/** How much is missing; if nothing is, what is not exact instead. */
function Losses({ text }: { text: string }) {
  const [, inexact] = /^none; (.*)$/.exec(text) ?? [], isNone = text === "0" || inexact !== undefined;
  return <div class={"fact" + (isNone ? "" : " lost")} title={definitions.losses}><small>losses</small><strong>{isNone ? "none" : text}</strong>{inexact ? <span>{inexact}</span> : null}</div>;
}

function Facts({ facts }: { facts: [string, string][] }) {
  const main = facts.filter(([key]) => large.includes(key));
  const losses = facts.find(([key]) => key === "losses");
  const others = facts.filter(([key]) => !large.includes(key) && key !== "losses");
  return <section class="facts" aria-label="Totals">
    {main.map(([key, text]) => {
      const [, first, rest] = /^(.*?)(?:, |: | (?=\())(.*)$/.exec(text) ?? ["", text, ""];
      return <div class="fact" key={key} title={definitions[key]}><small>{key}</small><strong>{first}</strong>{rest ? <span>{rest.replace(/^\(([^()]*)\)/, "$1")}</span> : null}</div>;
    })}
    {losses ? <Losses text={losses[1]} /> : null}
    <details><summary>More about this run</summary><dl>{others.map(([key, text]) => <div key={key}><dt>{key}</dt><dd>{text}</dd></div>)}</dl></details>
  </section>;
}
