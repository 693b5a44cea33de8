package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// descriptions say what the columns mean that are not made of parts.
var descriptions = map[string]string{
	"interaction_kind":     "What was called: database (a command of ADO.NET) or http (a request).",
	"interaction_text":     "The command, or the request's method and address without user, query and fragment.",
	"interaction_texts":    "How many different texts the calls had: of addresses that differ in numbers and GUIDs, each.",
	"interaction_calls":    "How many such calls began.",
	"interaction_ended":    "How many of them ended; times are of these.",
	"interaction_failed":   "How many ended by an exception, or with a task that failed or was cancelled.",
	"interaction_unwaited": "How many returned a task whose end was not seen: their time is up to the return.",
	"interaction_total":    "How long all calls took: up to the return, or until their task was complete.",
	"interaction_min":      "How long the shortest took.",
	"interaction_average":  "How long a call took on average.",
	"interaction_max":      "How long the longest took.",
	"event_begin":          "When the interval in which the operating system acted began.",
	"event_reason": "Why the thread lost its processor, as far as the kernel reports it, or else what " +
		"happened.",
	"event_system_calls": "Which system calls there were, and how many of each, as far as the kernel reported them.",
	"event_count":        "Intervals in which the operating system acted.",
	"event_lost":         "How long the thread was without a processor: blocked and ready.",
	"event_voluntary":    "Context switches because the thread waited.",
	"event_preempted":    "Context switches because another thread was given the processor.",
	"event_minor_faults": "Page faults without the disk.",
	"event_major_faults": "Page faults with the disk.",
	"event_reads":        "Blocks of 512 bytes that were read from a disk.",
	"event_writes":       "Blocks of 512 bytes that will be written to a disk.",
	"event_calls":        "System calls.",
	"event_migrations":   "Moves of the thread to another processor.",
	"event_blocked":      "How long the thread waited for something.",
	"event_ready":        "How long it could have run, but had no processor.",
	"event_length":       "How long the interval was, from one beginning or end of a call to the next.",
	"part_percent":       "The row's share of all promotion waste.",
	"bytes_per_minute":   "These bytes, per minute that the process ran.",
	"test_attribute":     "The attribute that makes the method a test.",
	"route":              "Which requests of ASP.NET Core the function answers; … is a beginning that the code does not say.",
	"function_place":     "The file, and the first line of the function.",
	"thread_name":        "Name of the thread.",
	"mark_id":            "Number of the mark in the session.",
	"mark_name":          "Name of the mark.",
	"mark_number":        "The number that it was given.",
	"mark_ns":            "When it was made, since the start of the recording.",
	"mark_source":        "Who made it: the recording, a program, clrprof ctl or a signal.",
	"mark_text":          "The comment that it was given.",
	"rule":               "The rule that was broken.", "severity": "How serious that is.",
	"title":                "What the rule is about.",
	"evidence":             "The numbers that show it.",
	"reason":               "Why something is missing or inexact, in a word: docs/session.md lists them.",
	"missing":              "Whether it is missing from all numbers (1), or counted and inexact (0).",
	"events":               "How often it happened; unit says what is counted.",
	"unit":                 "What events are: events, calls, intervals, functions or threads.",
	"meaning":              "Why, in a sentence.",
	"touches":              "Which numbers and views it affects.",
	"affected_allocations": "Objects concerned; empty if there are none, or if the number is not known.",
	"affected_bytes":       "Bytes of the objects concerned.",
	"advice":               "What to do about it.", "object_type": "The type of the objects concerned.",
	"called":    "The function that was called there.",
	"waited_ns": "How long threads waited there.", "finding_calls": "How often it was called there.",
	"name": "What the row is about.", "kind": "What the row is about, in a word.",
	"level":              "How deep the row is in the tree; 0 is the root.",
	"type":               "Whether the function calls the current one, is it, or is called by it.",
	"section":            "The list of the summary that the row is in.",
	"root_function_name": "The function whose callers and callees are shown.", "key": "The name of a fact.",
	"value":        "The value of the fact.",
	"value_number": "The same as a number: bytes, objects, nanoseconds. Not of words.",
	"module":       "The assembly that the function or type is in.", "module_path": "The file of the assembly.",
	"process_id": "The operating system's number of the process.", "process_name": "The name of the process.",
	"thread_id":   "The operating system's number of the thread.",
	"source_file": "The file of the source code, as the symbols name it.",
	"line":        "The line in the source file.", "function": "The function that the row is in.",
	"function_line": "The first line of the function.",
	"place":         "File and line.", "line_begin": "The first line of the statement.",
	"column_begin": "The first column of the statement.",
	"line_end":     "The last line of the statement.", "column_end": "The last column of the statement.",
	"line_name":           "File, lines and columns of the statement.",
	"instruction_address": "The address of the instruction.",
	"unique_id":           "The session's own number, which is never used twice.",
	"parent_process_id":   "The operating system's number of the process that started this one.",
	"begin_ns":            "When it began, since the session's start.",
	"end_ns":              "When it ended, since the session's start.", "end_state": "How the process ended.",
	"runtime_version": "The version of .NET that ran.",
	"path":            "The file of the program.", "arguments": "The command line.",
	"agent_bytes": "Memory that recording took in the process.",
	"threads":     "How many threads there were.", "instrument": "Which functions were timed.",
	"acts_seen": "Acts of the operating system with which an interval is not application time.",
	"mechanism": "How the recording saw that threads waited.",
	"clock":     "The clock that times were measured with.", "ticks_per_second": "How fast that clock ticks.",
	"agent_time_ns":            "Time that recording took beside the probes; it is in no other time.",
	"function_bytes_percent":   "The row's share of everything that the function and what it called allocated.",
	"function_elapsed_percent": "The row's share of the time of the function with what it called.",
	"source_text":              "The line of the source file, as it is on this machine now.",
	"dead_instances":           "Objects that were found dead.",
	"stack":                    "The functions on the stack when the objects were allocated, the innermost first.",
	"from":                     "Your innermost function on the stack, and its line.",
	"calls":                    "How often it was called, counted where calls begin; of a line, how often it called.",
	"running":                  "Calls that had not ended when the recording ended.",
	"suspensions":              "How often the async method began to wait.",
	"awaited": "Time from where the async method began to wait to where it resumed, of all its calls; no part of " +
		"any other time.",
	"number":      "The number of the collection in its process.",
	"generation":  "The oldest generation that was collected.",
	"induced":     "Whether the program asked for the collection.",
	"at_ns":       "When the collection began, since the session's start.",
	"pause_ns":    "How long the program's threads were stopped, including the recording's own work.",
	"agent_ns":    "The recording's own part of the pause.",
	"finalizable": "Dead objects that wait for their finalizers.",
	"pinned":      "Objects that could not be moved, because of fixed statements or pinned handles.",
	"chart":       "Survived and dead bytes, drawn.",
	"pause_chart": "The pause, drawn.",
	"static_field": "The static field that retains the type's objects, if it retains at least half of their " +
		"bytes.",
	"static_bytes":        "How many bytes of the type that field retains.",
	"root_kind":           "What kind of root keeps the objects alive.",
	"root_flags":          "What is special about the root.",
	"references":          "How many roots of this kind refer to the objects.",
	"gc":                  "The number of the collection.",
	"live_objects":        "Objects on the heap at the moment of the snapshot.",
	"live_bytes":          "Their bytes, without what they refer to.",
	"retained_bytes":      "What would be freed without these objects: their bytes, and what only they hold.",
	"finalizable_objects": "Objects that only the finalizer's queue holds.",
	"frozen_objects":      "Objects that never die, such as string literals.",
	"unreachable_objects": "Objects that no root holds.",
}

// ends say how objects ended, by the keys of columns.
var ends = map[string]string{"gen0": "that died in generation 0", "gen1": "that died in generation 1",
	"gen2": "that died in generation 2",
	"loh":  "that died on the large object heap", "poh": "that died on the pinned object heap",
	"alive":  "that were not found dead up to the end",
	"freed":  "that count as alive, and were found dead while their program ended",
	"before": "in the collected generations before the collection", "dead": "that the collection found dead",
	"survived":    "that survived the collection",
	"promoted":    "that the collection moved to an older generation",
	"heap_before": "on the whole heap before the collection",
	"frozen":      "that never die, such as string literals",
	"heap_after":  "on the whole heap after the collection", "surviving": "that survived the collection",
	"rooted": "that a root refers to", "reachable": "to which only other survivors refer",
	"uncollected": "in generations that were not collected"}

// heaps say where objects are, by the keys of columns.
var heaps = map[string]string{"gen0": "in generation 0", "gen1": "in generation 1", "gen2": "in generation 2",
	"loh": "on the large object heap",
	"poh": "on the pinned object heap"}

// times say what a part of the time is.
var times = map[string]string{"elapsed": "Time on the clock",
	"application": "Time in which no thread switch took place", "cpu": "Time with a processor",
	"waited": "Elapsed less application time: intervals with a switch of threads, whole, so with CPU time in them", "wait_intervals": "Intervals with a wait",
	"voluntary": "How often threads gave up the processor to wait",
	"preempted": "How often threads lost the processor to others", "faults": "Page faults that needed the disk",
	"reads":   "Blocks read from disks",
	"off_cpu": "Time without a processor", "blocked": "Time in which threads waited",
	"ready":          "Time in which threads could have run, but others did",
	"probe_overhead": "Time that the probes took, which is subtracted from the others",
	"uncertainty":    "By how much the times may be wrong, up or down, because of what the probes took"}

// Describe says in a sentence what the column with a key means; "" of a key that there is not.
func Describe(key string) string {
	if s := descriptions[key]; s != "" {
		return s
	}
	if key == "heap_size_bytes" {
		return "Memory of the heap when the collection ended, with what was free between objects; of imported files, where " +
			"the two are not known apart."
	}
	if generation, ok := strings.CutSuffix(key, "heap_free_bytes"); ok {
		where := "of the heap"
		if at := slices.Index(endKeys[:], strings.TrimSuffix(generation, "_")); at >= 0 {
			where = "of " + endTitles[at]
		}
		return "Memory " + where + " that was free between objects when the collection ended."
	}
	if base, ok := strings.CutSuffix(key, "_percent"); ok {
		if s := Describe(base); s != "" {
			return strings.TrimSuffix(s, ".") + "; in percent of the whole."
		}
	}
	for prefix, what := range map[string]string{"avg_": "Mean of single calls: ", "min_": "Minimum of single calls: ",
		"max_": "Maximum of single calls: "} {
		if base, ok := strings.CutPrefix(key, prefix); ok {
			return what + strings.ToLower(Describe(base)[:1]) + Describe(base)[1:]
		}
	}
	for _, rule := range []struct{ affix, objects, time string }{
		{"inclusive", ", by it and what it called", ", of it and what it called"},
		{"exclusive", ", by its own code", ", of its own code"},
	} {
		if base, ok := strings.CutSuffix(key, "_"+rule.affix); ok && times[base] != "" {
			return times[base] + rule.time + "."
		}
		if base, ok := strings.CutPrefix(key, rule.affix+"_"); ok {
			return describeObjects(base, rule.objects)
		}
	}
	return describeObjects(key, "")
}

func describeObjects(key, where string) string {
	switch key {
	case "allocations", "instances":
		return "Objects allocated" + where + "."
	case "bytes":
		return "Bytes allocated" + where + ", objects with their headers."
	}
	for _, unit := range [][2]string{{"_instances", "Objects "}, {"_objects", "Objects "},
		{"_bytes", "Bytes of objects "}} {
		base, ok := strings.CutSuffix(key, unit[0])
		if heap, end, parted := strings.Cut(base, "_"); ok && parted && ends[end] != "" && heaps[heap] != "" {
			return unit[1] + heaps[heap] + " " + ends[end] + "."
		}
		if heap, alive := strings.CutPrefix(base, "alive_"); ok && alive && heaps[heap] != "" {
			return unit[1] + heaps[heap] + " at the end."
		}
		if ok && ends[base] != "" {
			made := ""
			if where != "" {
				made = ", allocated" + strings.TrimPrefix(where, ",")
			}
			return unit[1] + ends[base] + made + "."
		}
	}
	for i := range session.AgeBuckets {
		switch key {
		case ageKey(session.AgeGCs, i):
			return fmt.Sprintf("Dead objects that survived %s.", session.AgeName(session.AgeGCs, int64(i)))
		case ageKey(session.AgeTime, i):
			return fmt.Sprintf("Dead objects that lived for %s after their first collection.",
				session.AgeName(session.AgeTime, int64(i)))
		case ageKey("alive", i):
			return fmt.Sprintf("Objects alive at the end that survived %s.", session.AgeName(session.AgeGCs, int64(i)))
		}
	}
	return ""
}
