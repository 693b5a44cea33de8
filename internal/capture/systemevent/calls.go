package systemevent

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// callTables have, by machine as .NET calls it, a line for each system call: its number and its name. A test compares
// them with those of golang.org/x/sys, and writes them.
var callTables = map[string]string{"x64": callsX64, "arm64": callsARM64}

//go:embed calls_x64.txt
var callsX64 string

//go:embed calls_arm64.txt
var callsARM64 string

var callNames = sync.OnceValue(func() map[string]map[uint32]string {
	out := map[string]map[uint32]string{}
	for machine, table := range callTables {
		names := map[uint32]string{}
		for line := range strings.Lines(table) {
			number, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if n, err := strconv.ParseUint(number, 10, 32); err == nil {
				names[uint32(n)] = name
			}
		}
		out[machine] = names
	}
	return out
})

// CallName is the name of a system call on a machine, "" if it is not known: the kernel is newer.
func CallName(machine string, number uint32) string { return callNames()[machine][number] }
