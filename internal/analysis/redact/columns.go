package redact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// treatment returns what becomes of a text in a row as it was.
type treatment func(r *redactor, row *session.Texts, text string) string

// Treatments of texts.
var (
	// word: words of clrprof, of the runtime or the kernel, the same for all programs, and ids of builds.
	word treatment = func(_ *redactor, _ *session.Texts, text string) string { return text }
	// code: names that the code has.
	code treatment = func(r *redactor, _ *session.Texts, text string) string {
		if r.scrub(text) != text {
			r.code[text] = true
		}
		return text
	}
	free treatment = func(r *redactor, _ *session.Texts, text string) string { return r.freeText(text) }
	path treatment = func(r *redactor, _ *session.Texts, text string) string { return r.path(text) }
	file treatment = func(r *redactor, _ *session.Texts, text string) string { return r.file(text) }
	list treatment = func(r *redactor, _ *session.Texts, text string) string { return r.command(text) }
	tags treatment = func(r *redactor, _ *session.Texts, text string) string { return r.tags.get(text) }
)

// treatments are those of the columns that hold texts, but for the facts of info.
var treatments = map[string]treatment{
	"info.key": word, "info.value": free,
	"chunk.name":   word,
	"process.name": file, "process.path": path, "process.arguments": list,
	"process.runtime_version": word, "process.end_state": word, "process.sampler": word,
	"thread.name": thread, "thread_set.name": thread,
	"module.name": file, "module.path": path, "module.mvid": word, "module.symbols": word, "module.symbols_path": path,
	"module.origin": word,
	"type.kind":     word, "type.raw_name": code, "type.name": code, "type.trait": word,
	"function.kind": word, "function.raw_type": code, "function.raw_name": code, "function.name": code,
	"function.test": code, "function.route": code, "function.il_hash": word,
	"pause.level":         word,
	"test_case.arguments": testArguments,
	"interaction.kind":    word, "interaction.text": interaction,
	"mark.name": markName, "mark.text": markText, "mark.source": word,
	"function_not_probed.reason": free,
	"snapshot_root.kind":         word, "snapshot_path.kind": word,
	"snapshot_holder.kind": word, "snapshot_static.name": code,
	"process_time.clock": word, "process_time.instrument": word, "process_time.mechanism": word,
	"process_time.probes": word, "process_ending.sign": word,
	"cpu_counter.name": word, "cpu_counter.unit": word, "system_call.name": word,
	"counter.name": code, "counter.unit": free, "counter.meaning": free, "counter.missing": free, "counter.tags": tags,
	"loss.reason":             word,
	"source_file.path":        path,
	"summary_section.section": word, "summary_site.section": word, "cause_total.part": word,
	"rule_judged.rule": word, "finding.rule": word, "finding.text": free,
	"site_age.measure": word, "root.kind": word, // packed: see checkPacked
}

// file replaces names of users and hosts in the name of a file, and the folder if there is one.
func (r *redactor) file(text string) string {
	if strings.ContainsAny(text, `/\`) {
		return r.path(text)
	}
	return r.scrub(text)
}

// Names of threads that are no data: the runtime's own, and what clrprof says of several.
var (
	runtimeThread = regexp.MustCompile(`^\.NET [A-Za-z ]+$`)
	severalOfName = regexp.MustCompile(`(?s)^([0-9]+ ended threads named )(.*)$`)
	severalOthers = regexp.MustCompile(`^[0-9]+ ended threads (of several names|without a name)$`)
)

func thread(r *redactor, row *session.Texts, text string) string {
	switch m := severalOfName.FindStringSubmatch(text); {
	case severalOthers.MatchString(text):
		return text
	case m != nil:
		return m[1] + thread(r, row, m[2])
	case runtimeThread.MatchString(text) && r.scrub(text) == text:
		return text
	}
	return r.threads.get(text)
}

// verbs are the first words of database commands, and methods of requests, that are kept.
var verbs = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "WITH", "EXEC", "EXECUTE", "CALL",
	"CREATE", "DROP", "ALTER", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "PRAGMA", "SET",
	"GET", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT"}

// verb returns the first word of a text, with a blank after it, if it is a known one.
func verb(text string) string {
	first := strings.ToUpper(text)
	if i := strings.IndexFunc(first, func(c rune) bool { return c < 'A' || c > 'Z' }); i >= 0 {
		first = first[:i]
	}
	if !slices.Contains(verbs, first) {
		return ""
	}
	return first + " "
}

// testArguments replaces the arguments of a test case, except where their values are not known: ? and … reveal nothing.
func testArguments(r *redactor, _ *session.Texts, text string) string {
	if strings.Trim(text, "?…, ") == "" {
		return text
	}
	return r.texts.get(text)
}

// interaction keeps what a command or request begins with. Addresses that differ only in numbers stay such.
func interaction(r *redactor, row *session.Texts, text string) string {
	if text == "" {
		return ""
	}
	if row.Of("kind") != session.InteractionHTTP {
		return verb(text) + r.statements.get(text)
	}
	kind := analysis.WithoutIDs(text)
	out := verb(text) + "http://" + r.addresses.get(kind) + "/"
	if kind != text {
		if r.ids[text] == 0 {
			r.ids[text] = len(r.ids) + 1
		}
		out += strconv.Itoa(r.ids[text])
	}
	return out
}

// markName keeps names that clrprof gives, and those of functions.
func markName(r *redactor, row *session.Texts, text string) string {
	switch row.Of("source") {
	case session.MarkProgram, session.MarkRun, session.MarkSignal:
		return text
	case session.MarkFunction:
		return code(r, row, text)
	case session.MarkRequest:
		return verb(text) + r.marks.get(text)
	}
	return r.marks.get(text)
}

// markText keeps what clrprof says, and the program's name.
func markText(r *redactor, row *session.Texts, text string) string {
	switch row.Of("source") {
	case session.MarkProgram:
		return r.file(text)
	case session.MarkRun, session.MarkSignal:
		return r.freeText(text)
	}
	return r.texts.get(text)
}
