package cli

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestCounters: all values of a session, those at its marks, and what is missing, of all counters or of some.
func TestCounters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counted.clrprof")
	b := sessiontest.Shop()
	process := b.Processes[0].ID
	b.Processes[0].Begin, b.Processes[0].End = 0, 1_000_000_000
	b.Processes = b.Processes[:1]
	b.Counters = []session.Counter{{ID: 1, Name: "process.threads", Unit: "count"}, {ID: 2, Name: "machine.memory",
		Unit: "bytes"},
		{ID: 3, Name: "group.memory", Unit: "bytes", Missing: "no group"},
		{ID: 1000, Name: "Shop/orders", Unit: "{order}", IsSum: true, Tags: "kind=web"}, {ID: 1001, Name: "Shop/orders",
			Unit: "{order}", IsSum: true}}
	b.CounterValues = []session.CounterValue{
		{Time: 10, Process: process, Counter: 1, Value: 7}, {Time: 10, Counter: 2, Value: 64},
		{Time: 15, Process: process, Counter: 1000, Value: 2, Fraction: 0.5},
		{Time: 15, Process: process, Counter: 1001,
			Value: 1},
		{Time: 20, Process: process, Counter: 1, Value: 8}, {Time: 25, Process: process, Counter: 1000, Value: 4},
	}
	b.Marks = []session.Mark{{ID: 1, Time: 5, Name: "early", Source: session.MarkCtl}, {ID: 2, Time: 20, Name: "load",
		Process: process, Source: session.MarkAPI},
		{ID: 3, Time: 30, Number: 9, Source: session.MarkCtl}}
	if err := writeComplete(b, path); err != nil {
		t.Fatal(err)
	}
	pid := strconv.FormatInt(b.Processes[0].PID, 10)
	for args, want := range map[string]string{
		"": "time_ns,process_id,name,value,unit,kind,tags\n10,,machine.memory,64,bytes,level,\n10,PID,process.threads,7,count,level,\n" +
			"15,PID,Shop/orders,2.5,{order},sum,kind=web\n15,PID,Shop/orders,1,{order},sum,\n20,PID,process.threads,8,count,level,\n" +
			"25,PID,Shop/orders,4,{order},sum,kind=web\n",
		"--name process.*": "time_ns,process_id,name,value,unit,kind,tags\n10,PID,process.threads,7,count,level,\n20,PID,process.threads,8,count,level,\n",
		"--missing":        "name,why\ngroup.memory,no group\n",
		"--marks": "mark_id,mark_name,mark_ns,process_id,process.threads,machine.memory,Shop/orders{kind=web},Shop/orders\n" +
			"1,early,5,PID,,,,\n2,load,20,PID,8,64,2.5,1\n3,#9,30,PID,8,64,4,1\n",
		"--marks --name *{kind=web}": "mark_id,mark_name,mark_ns,process_id,Shop/orders{kind=web}\n1,early,5,PID,\n2,load,20,PID,2.5\n3,#9,30,PID,4\n",
	} {
		var out, said bytes.Buffer
		command := append([]string{"counters", path, "--csv"}, strings.Fields(args)...)
		if code := Main(command, strings.NewReader(""), &out, &said); code != 0 {
			t.Errorf("%q: exit code %d: %s", args, code, said.String())
		}
		if want = strings.ReplaceAll(want, "PID", pid); out.String() != want {
			t.Errorf("%q:\n%s\nwant\n%s", args, out.String(), want)
		}
	}
	for _, args := range []string{path + " --marks --missing", path + " --name nothing", "--marks",
		path + " --name /(/"} {
		var out, said bytes.Buffer
		if code := Main(append([]string{"counters"}, strings.Fields(args)...), strings.NewReader(""), &out,
			&said); code != exitUsage || strings.Count(said.String(), "\n") != 1 {
			t.Errorf("%q: exit code %d: %s", args, code, said.String())
		}
	}
}

// TestCounterOverview: as text, sums have their growth and its rates, levels what they were, all in units.
func TestCounterOverview(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counted.clrprof")
	b := sessiontest.Shop()
	b.Processes = b.Processes[:1]
	process := b.Processes[0].ID
	b.Counters = []session.Counter{
		{ID: 1, Name: "process.cpu_user", Unit: "ns", IsSum: true, Meaning: "CPU time"},
		{ID: 2, Name: "process.resident", Unit: "bytes", Meaning: "memory"},
		{ID: 3, Name: "Shop/orders", Unit: "{order}", IsSum: true, Tags: "kind=web"},
	}
	for i, v := range [][3]int64{{90_000_000, 1 << 20, 7}, {1_590_000_000, 4 << 20, 7}, {2_090_000_000, 2 << 20, 10}} {
		at := q.Nanoseconds(i+1) * 1_000_000_000
		for id, value := range v {
			b.CounterValues = append(b.CounterValues, session.CounterValue{Time: at, Process: process,
				Counter: int64(id) + 1, Value: value})
		}
	}
	if err := writeComplete(b, path); err != nil {
		t.Fatal(err)
	}
	pid := strconv.FormatInt(b.Processes[0].PID, 10)
	var out, said bytes.Buffer
	if code := Main([]string{"counters", path}, strings.NewReader(""), &out, &said); code != 0 {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	have := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	for i, line := range have {
		have[i] = strings.Join(strings.Fields(line), " ")
	}
	want := []string{"Counter PID Increase Average Least Most Last What it is",
		"process.cpu_user " + pid + " 2.00 s 1.00 s a second 500.00 ms a second 1.50 s a second 2.09 s CPU time",
		"process.resident " + pid + " 2.33 MiB 1.00 MiB 4.00 MiB 2.00 MiB memory",
		"Shop/orders{kind=web} " + pid + " 3 1.50/s 0/s 3/s 10"}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("-want +have:\n%s", diff)
	}
}
