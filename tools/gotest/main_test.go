package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSummary: what failed is printed whole, what passed is not, and what was slow or skipped is listed.
func TestSummary(t *testing.T) {
	t.Setenv("CLRPROF_TEST_SUITE", "") // in the quick suite it prints one line more
	s := newSummary()
	var b bytes.Buffer
	for line := range strings.Lines(`{"Action":"build-output","Output":"x.go:1: no\n"}
{"Action":"output","Package":"p","Test":"A","Output":"=== RUN   A\n"}
{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:7: needs an SDK: none\n"}
{"Action":"output","Package":"p","Test":"A","Output":"--- SKIP: A (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:8: wrong\n"}
{"Action":"output","Package":"p","Test":"B","Output":"--- FAIL: B (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Test":"C","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"C","Elapsed":4.9}
{"Action":"pass","Package":"p","Test":"D/x/1","Elapsed":3}
{"Action":"fail","Package":"p","Test":"D/x/2","Elapsed":2.5}
{"Action":"pass","Package":"p","Test":"D/x","Elapsed":9}
{"Action":"pass","Package":"p","Test":"D","Elapsed":9}
{"Action":"pass","Package":"p","Test":"E","Elapsed":7}
no event
{"Action":"output","Package":"p","Test":"","Output":"PASS\n"}
{"Action":"output","Package":"p","Test":"","Output":"FAIL\tp\t0.1s\n"}
{"Action":"output","Package":"p","Test":"F","Output":"=== RUN   F\n"}
{"Action":"output","Package":"p","Test":"F","Output":"goroutine 7 [select]:\n"}
{"Action":"output","Package":"p","Test":"H","Output":"=== PAUSE H\n"}
{"Action":"output","Package":"pq","Test":"G","Output":"it runs\n"}
{"Action":"fail","Package":"p","Elapsed":0.1}
`) {
		s.line(&b, []byte(line))
	}
	s.line(&b, []byte(`{"Action":"output","Package":"p","Test":"L/x","Output":"    l_test.go:1: left to make test-all: dear\n"}`))
	s.line(&b, []byte(`{"Action":"skip","Package":"p","Test":"L/x"}`))
	s.whole, s.busy = 20*time.Second, 25*time.Second
	s.print(&b)
	s.printFailed(&b)
	s.printBusy(&b)
	s.printCounts(&b)
	want := "x.go:1: no\n    b_test.go:8: wrong\n--- FAIL: B (0.00s)\nno event\nFAIL\tp\t0.1s\n" +
		"--- not ended: F\ngoroutine 7 [select]:\n" +
		"slowest, in seconds, parts that ran at the same time one after the other:\n     7.0 p E\n     5.5 p " +
		"D\nskipped: needs an SDK: none\n    A\n" +
		"failed: p B\n    b_test.go:8: wrong\nfailed: p F did not end\ngoroutine 7 [select]:\n" +
		fmt.Sprintf("all took 20 s, and 25 s of processor time: 1.2 of %d processors were busy\n", runtime.NumCPU()) +
		"5 tests and parts of tests passed, 2 failed, 2 were skipped; 1 packages\n" +
		"1 tests are left to make test-all, which also runs all cases of those of which one was drawn\n"
	if b.String() != want {
		t.Errorf("it prints %q, want %q", b.String(), want)
	}
}

// TestSkips: a skipped test that the list does not name is said, and what the quick suite left out is run by the rest.
func TestSkips(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x", "skips")
	s := newSummary()
	s.skipped["why"] = []string{"A", "B/x", "C"}
	s.left = map[string]bool{"p Y": true, "q X": true}
	if err := s.writeLeft(path); err != nil {
		t.Fatal(err)
	}
	if args, err := theRest(path); err != nil || strings.Join(args, " ") != "-run ^(X|Y)$ p q" {
		t.Errorf("the rest is run by %q, %v", args, err)
	}
	if err := os.WriteFile(path, []byte("# these\nA: because\nB/.*: because\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	allowed, err := readSkips(path)
	var b bytes.Buffer
	if found := s.printForbidden(&b, allowed); !found || err != nil ||
		b.String() != "FAIL: C was skipped, and must not be here: why\n" {
		t.Errorf("it prints %q, %v, %v", b.String(), found, err)
	}
	s.skipped["why"] = s.skipped["why"][:2]
	if s.printForbidden(&b, allowed) {
		t.Error("an allowed skip is none")
	}
	for _, text := range []string{"A\n", "(: why\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readSkips(path); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

// TestFailedAgain: what failed tests said is printed again, bounded, without what says that something passed.
func TestFailedAgain(t *testing.T) {
	s := newSummary()
	said := []string{"=== RUN   A\n", "    a_test.go:1: exit status 1\n", "  first: ok\n"}
	for i := range 2*linesAgain + 4 {
		said = append(said, fmt.Sprintf("line %d\n", i))
	}
	for range failuresAgain + 2 {
		s.failed = append(s.failed, failure{"p A", said})
	}
	var b bytes.Buffer
	s.printFailed(&b)
	lines := strings.Split(b.String(), "\n")
	if want := failuresAgain*(2*linesAgain+2) + 2; len(lines) != want || lines[1] != "    a_test.go:1: exit status 1" ||
		lines[2] != "line 0" || lines[linesAgain+1] != "    … 5 lines …" || lines[want-2] != "failed: 2 more" {
		t.Errorf("%d lines, want %d: %s", len(lines), want, b.String())
	}
}
