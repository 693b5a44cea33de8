package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestSummary: what failed is printed whole, what passed is not, and what was skipped is listed by reason.
func TestSummary(t *testing.T) {
	s := summary{output: map[string][]string{}, skipped: map[string][]string{}}
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
{"Action":"pass","Package":"p","Test":"C"}
no event
{"Action":"output","Package":"p","Test":"","Output":"PASS\n"}
{"Action":"output","Package":"p","Test":"","Output":"FAIL\tp\t0.1s\n"}
`) {
		s.line(&b, []byte(line))
	}
	s.print(&b)
	want := "x.go:1: no\n    b_test.go:8: wrong\n--- FAIL: B (0.00s)\nno event\nFAIL\tp\t0.1s\nskipped: needs an SDK: none\n    A\n"
	if b.String() != want {
		t.Errorf("it prints %q, want %q", b.String(), want)
	}
}
