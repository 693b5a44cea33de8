package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/clrprof/clrprof/internal/wire"
)

// fixed lists the structs that both sides map, smallest parts first.
func fixed() []any {
	return []any{
		wire.RegionEntry{}, wire.LossEntry{}, wire.Overhead{}, wire.CPUCounter{}, wire.Header{}, wire.IP{},
		wire.Node{}, wire.Site{}, wire.SiteTiming{}, wire.SiteSample{},
		wire.SiteDeaths{}, wire.Ages{}, wire.ThreadSet{}, wire.Spells{},
		wire.Scope{}, wire.Interaction{}, wire.MeterValue{}, wire.Timing{}, wire.Waits{}, wire.Acted{},
		wire.Inclusive{}, wire.Counts{}, wire.SystemEvent{}, wire.SystemCall{}, wire.Clock{}, wire.Activation{},
		wire.RecordHeader{}, wire.ControlHeader{}, wire.ControlChange{}, wire.TraceEvent{}, wire.TraceChunkHead{},
		wire.TraceChunk{}, wire.Dormant{},
	}
}

// generate returns the generated files by their path from the root of the repository. Package wire is in dir.
func generate(dir string) (map[string]string, error) {
	all, err := numbers(dir)
	if err != nil {
		return nil, err
	}
	return map[string]string{"agent/src/core/wire_gen.h": cHeader(all), "docs/wire.md": document(all)}, nil
}

func cHeader(all []number) string {
	var b strings.Builder
	b.WriteString("/* Generated from internal/wire by `go generate ./internal/wire`. Do not edit. */\n" +
		"#ifndef CLRPROF_WIRE_GEN_H\n#define CLRPROF_WIRE_GEN_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n")
	for _, c := range all {
		line := fmt.Sprintf("#define WIRE_%s 0x%xu", c.name, c.value)
		if c.value > 0xFFFFFFFF {
			line = fmt.Sprintf("#define WIRE_%s UINT64_C(0x%x)", c.name, c.value)
		}
		if c.doc != "" {
			line += " /* " + c.doc + " */"
		}
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "\n#define WIRE_CORE_LIBRARY %q\n#define WIRE_HELPERS \\\n", wire.CoreLibrary)
	for i, h := range wire.Helpers() {
		end := ", \\"
		if i == len(wire.Helpers())-1 {
			end = ""
		}
		fmt.Fprintf(&b, "    %q%s\n", h, end)
	}
	for _, v := range fixed() {
		t := reflect.TypeOf(v)
		fmt.Fprintf(&b, "\nstruct %s {\n", cName(t.Name()))
		for i := range t.NumField() {
			b.WriteString("    " + cField(t.Field(i)) + "\n")
		}
		fmt.Fprintf(&b, "};\n_Static_assert(sizeof(struct %s) == %d, \"layout\");\n", cName(t.Name()), t.Size())
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "_Static_assert(offsetof(struct %s, %s) == %d, \"layout\");\n",
				cName(t.Name()), snake(f.Name), f.Offset)
		}
	}
	fmt.Fprintf(&b, "\n#define WIRE_CONTROL_FILE %q\n#define WIRE_DORMANT_PREFIX %q\n#define WIRE_OPTIONS_FILE %q\n",
		wire.ControlFile, wire.DormantPrefix, wire.OptionsFile)
	b.WriteString("\n#endif\n")
	return b.String()
}

func cName(goName string) string { return "wire_" + snake(goName) }

func cField(f reflect.StructField) string {
	t, array := f.Type, ""
	if t.Kind() == reflect.Array {
		array = fmt.Sprintf("[%d]", t.Len())
		t = t.Elem()
	}
	typ := t.Kind().String() + "_t"
	if t.Kind() == reflect.Struct {
		typ = "struct " + cName(t.Name())
	}
	s := fmt.Sprintf("%s %s%s;", typ, snake(f.Name), array)
	if doc := f.Tag.Get("doc"); doc != "" {
		s += " /* " + doc + " */"
	}
	return s
}

// snake turns MaxStackDepth into max_stack_depth and PID, StartNS into pid, start_ns.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		lowerBefore := i > 0 && unicode.IsLower(runes[i-1])
		wordEnds := i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) && (lowerBefore || wordEnds) && name != "IPs" {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func document(all []number) string {
	var b strings.Builder
	b.WriteString("# The arena\n\nGenerated from `internal/wire` by `go generate ./internal/wire`. Do not edit.\n\n" +
		"The arena is what the agent writes and the collector reads. The package comment of `internal/wire` explains its " +
		"structure.\n\n## Fixed structs\n")
	for _, v := range fixed() {
		t := reflect.TypeOf(v)
		fmt.Fprintf(&b, "\n### %s (%d bytes)\n\n| offset | field | type | meaning |\n| --- | --- | --- | --- |\n",
			t.Name(), t.Size())
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", f.Offset, snake(f.Name), typeName(f.Type), f.Tag.Get("doc"))
		}
	}
	b.WriteString("\n## Records of the log\n\nEach begins with a RecordHeader. Fields follow each other " +
		"without gaps; " +
		"a string is a u32 count and UTF-16 units, a list is a u32 count and its elements.\n")
	records := wire.Records()
	kinds := slices.SortedFunc(maps.Keys(records), func(a, b wire.Kind) int { return cmp.Compare(a, b) })
	for _, k := range kinds {
		t := reflect.TypeOf(records[k])
		fmt.Fprintf(&b, "\n### %s (kind %d)\n\n| field | type | meaning |\n| --- | --- | --- |\n", t.Name(), k)
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "| %s | %s | %s |\n", snake(f.Name), typeName(f.Type), f.Tag.Get("doc"))
		}
	}
	b.WriteString("\n## Constants\n\n| name | value | meaning |\n| --- | --- | --- |\n")
	for _, c := range all {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", c.name, c.value, c.doc)
	}
	b.WriteString("\n## Helpers of the runtime\n\nFunctions of " + wire.CoreLibrary +
		" that have no frames in stacks.\n\n")
	for _, h := range wire.Helpers() {
		b.WriteString("    " + h + "\n")
	}
	return b.String()
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("%d × %s", t.Len(), typeName(t.Elem()))
	case reflect.Struct:
		return t.Name()
	}
	return strings.Replace(t.Kind().String(), "uint", "u", 1)
}
