package systemevent

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// callTable has a line for each system call of x86-64, the only machine that agents run on: its number and its name.
// A test compares it with that of golang.org/x/sys, and writes it.
//
//go:embed calls_x64.txt
var callTable string

var callNames = sync.OnceValue(func() map[uint32]string {
	out := map[uint32]string{}
	for line := range strings.Lines(callTable) {
		number, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if n, err := strconv.ParseUint(number, 10, 32); err == nil {
			out[uint32(n)] = name
		}
	}
	return out
})

// CallName is the name of a system call, "" if it is not known: the kernel is newer.
func CallName(number uint32) string { return callNames()[number] }
