// The page: the list of views, the filters, and the view that the address names.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getWhole } from "./api";
import type { Session } from "./api";
import { CompareView } from "./compare";
import { FlameView } from "./flame";
import { Help, help, useKeys } from "./keys";
import { LiveView } from "./live";
import { shown } from "./link";
import { Numbers } from "./numbers";
import { isFile } from "./offline";
import { Overview } from "./overview";
import { Failed, Gone, Guard, said, useLoad, Waiting } from "./parts";
import { SheetView } from "./sheet";
import { SourceView } from "./source";
import { SqlView } from "./sql";
import { addTerm, codeLevels, type CodeLevel, earlier, follow, hasAsync, isMyCode, param, params, removeTerm, selectionFlags, setCodeLevel, setTheme, spans, theme, titleOf, toggleMyCode, undo, used, view, viewAddress } from "./state";
import { TreeView } from "./tree";
import { ticksPerSecond } from "./units";
import { watchEdges } from "./edges";
import { Whole } from "./whole";

type Entry = { name: string; when?: (s: Session) => boolean };

const lived = (s: Session) => s.has_memory && s.has_lifetimes;
const groups: { label: string; views: Entry[] }[] = [
  { label: "Look", views: [{ name: "overview" }, { name: "flame" }, { name: "calltree" }, { name: "compare", when: (s) => !!s.older }, { name: "rules" }] },
  { label: "Code", views: [{ name: "functions" }, { name: "callers" }, { name: "function" }, { name: "tests", when: (s) => s.has_tests }, { name: "endpoints", when: (s) => s.has_endpoints }, { name: "modules" }, { name: "lines" }, { name: "ips" }] },
  { label: "Memory", views: [{ name: "types", when: (s) => s.has_memory }, ...["lifetime", "ages", "gcs", "survivors", "diff-gcs"].map((name) => ({ name, when: lived })), { name: "snapshot", when: (s) => s.has_snapshot }] },
  { label: "Run", views: [{ name: "processes" }, { name: "threads" }, { name: "marks" }, { name: "interactions" }, { name: "events" }, { name: "losses" }, { name: "header" }, { name: "sql", when: () => !isFile }] },
];

function Nav({ session }: { session: Session }) {
  const listed = new Set(groups.flatMap((g) => g.views.map((v) => v.name)));
  const others = session.views.filter((v) => !listed.has(v.name)).map((v): Entry => ({ name: v.name }));
  const shown = [...groups, ...(others.length ? [{ label: "More", views: others }] : [])];
  useEffect(() => document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [view.value]);
  return <nav aria-label="Views">
    {shown.map((g) => {
      const entries = g.views.filter((v) => !v.when || v.when(session));
      return entries.length ? <div class="group" key={g.label}><small>{g.label}</small>
        {entries.map((v) => <a key={v.name} href={viewAddress(v.name)} aria-current={view.value === v.name ? "page" : undefined}>{titleOf(v.name)}</a>)}
      </div> : null;
    })}
  </nav>;
}

/** What the value of a filter looks like. */
const examples: Record<string, string> = { time: "1.5s..2m", gc: "3..7", mark: "A..B, A.. or ..B", filter: "type = string and focus <> Main", process: "name, pid or #1", thread: "name, tid or #1" };

/** The filters, each of which can be taken away. */
function Chips({ session }: { session?: Session }) {
  const [kind, setKind] = useState("function");
  const valued = selectionFlags.filter((flag) => !flag.startsWith("my-code"));
  const chips = valued.flatMap((flag) => params().getAll(flag).map((value) => ({ flag, value })));
  const marks = session?.marks ?? [];
  const known = [...new Set([...(kind === "mark" ? marks.flatMap((m, i) => [...(marks[i + 1] ? [`${m}..${marks[i + 1]}`] : []), m + "..", ".." + m]) : []), ...used(kind)])];
  return <div class="chips" role="group" aria-label="What is shown">
    {chips.map(({ flag, value }) => <span class="chip" key={flag + value}><small>{flag}</small> {value}
      <button type="button" aria-label={`remove ${flag} ${value}`} onClick={() => removeTerm(flag, value)}>×</button></span>)}
    <form onSubmit={(e) => {
      e.preventDefault();
      const data = new FormData(e.currentTarget), value = String(data.get("value")).trim();
      if (value) { addTerm(String(data.get("flag")), value); e.currentTarget.querySelector("input")!.value = ""; }
    }}>
      <select name="flag" aria-label="kind of filter" value={kind} onInput={(e) => setKind(e.currentTarget.value)}>{[...valued.filter((f) => !isLast(f)), ...valued.filter(isLast)].map((f) => <option key={f} value={f}>{f === "filter" ? "filter (clauses)" : f}</option>)}</select>
      <input name="value" aria-label="filter" list="used" autocomplete="off" placeholder={examples[kind] ?? "only …, !… for not"} /><button type="submit">Filter</button>
      <datalist id="used">{known.map((v) => <option key={v} value={v} />)}</datalist>
    </form>
    {session?.has_user_code ? <button type="button" class="mine" aria-pressed={isMyCode()} onClick={toggleMyCode}
      title="Stacks show only your code and what it calls: what the framework did beyond that counts for the function that your code called.">Just my code</button> : null}
    {session?.has_user_code && isMyCode() ? (Object.keys(codeLevels) as CodeLevel[]).map((flag) => <label key={flag} class="level" title="Levels of framework code that are shown around your code">
      {flag.slice("my-code-".length)} <input type="number" min="0" value={param(flag) || codeLevels[flag]} onChange={(e) => setCodeLevel(flag, e.currentTarget.value)} /></label>) : null}
    {earlier.value.length ? <button type="button" class="undo" onClick={undo}>Undo</button> : null}
  </div>;
}

/** Spans are dragged more often than typed. */
const isLast = (flag: string) => spans.includes(flag);

function Body({ session }: { session: Session }) {
  switch (view.value) {
    case "overview": return <Overview />;
    case "flame": return <FlameView session={session} />;
    case "sql": return <SqlView memory={session.has_memory} />;
    case "compare": return <CompareView session={session} />;
    case "source": return <SourceView />;
    case "calltree": return <TreeView view={session.views.find((v) => v.name === "calltree")} />;
  }
  const found = session.views.find((v) => v.name === view.value);
  return found ? <SheetView key={found.name} view={found} /> : <Failed error={`There is no view ${view.value}.`} />;
}

/** Closes what is unfolded over the page where somebody clicks elsewhere. */
function fold(clicked: Node) {
  for (const d of document.querySelectorAll<HTMLDetailsElement>(":is(.chooser, .numbers)[open]")) if (!d.contains(clicked)) d.open = false;
}

function App() {
  useKeys();
  const { value: session, error } = useLoad("session", (more) => getWhole<Session>("session", more).then((s) => { shown.value = { path: s.path, id: s.id }; ticksPerSecond.value = s.ticks_per_second; hasAsync.value = s.has_async && !isFile; return s; }));
  const name = session?.path.split("/").pop() ?? "clrprof";
  document.title = `${name} – ${session?.live ? "live" : titleOf(view.value)} – clrprof`;
  return <div class="page" onClick={(e) => { fold(e.target as Node); follow(e); }}>
    <a class="skip" href="#content">To the content</a>
    <header class="top">
      <a class="brand" href={viewAddress("overview")}>clrprof</a>
      <span class="session" title={session?.path}>{name}</span>
      {isFile || session?.live ? null : <Chips session={session} />}
      <span class="right">
        <Numbers />
        <select aria-label="colours" value={theme.value} onChange={(e) => setTheme(e.currentTarget.value)}>{["auto", "light", "dark"].map((t) => <option key={t}>{t}</option>)}</select>
        <button type="button" aria-label="keys" onClick={() => { help.value = true; }}>?</button>
      </span>
    </header>
    {session && !session.live ? <Nav session={session} /> : <nav aria-label="Views" />}
    <main id="content" tabIndex={-1}><Gone />{session?.live ? <Guard><LiveView /></Guard> : error ? <Failed error={error} /> : session ? <Guard key={view.value}><Body session={session} /></Guard> : <Waiting />}</main>
    <Help />
    <Whole />
    <div class="said" role="status" aria-live="polite">{said.value}</div>
  </div>;
}

// What the policy of the page refused, for tests: there must be nothing.
const refused: string[] = [];
document.addEventListener("securitypolicyviolation", (e) => {
  refused.push(e.violatedDirective + " " + e.blockedURI);
  document.documentElement.dataset.refused = refused.join("; ");
});

watchEdges();
render(<App />, document.getElementById("app")!);
