package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestPager: what is written comes out of the pager; one that ends early is no mistake, one that is not there is.
func TestPager(t *testing.T) {
	for command, want := range map[string]string{"sed s/^/page:/": "page:one\npage:two\n", "head -n 1": "one\n"} {
		var terminal bytes.Buffer
		p := &pager{terminal: &terminal, stderr: io.Discard, command: command, getenv: func(string) string {
			return ""
		}}
		for _, line := range []string{"one\n", "two\n"} {
			if _, err := io.WriteString(p, line); err != nil {
				t.Fatal(command, err)
			}
		}
		if err := p.finish(); err != nil || terminal.String() != want {
			t.Errorf("%s: %q, %v, want %q", command, terminal.String(), err, want)
		}
	}
	early := &pager{terminal: io.Discard, stderr: io.Discard, command: "true", getenv: func(string) string {
		return ""
	}}
	for range 100 { // more than a pipe holds
		if n, err := io.WriteString(early, strings.Repeat("x", 1<<12)); n != 1<<12 || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := early.finish(); err != nil {
		t.Error(err)
	}
	absent := &pager{terminal: io.Discard, stderr: io.Discard, command: "no-such-pager", getenv: func(string) string {
		return ""
	}}
	if _, err := io.WriteString(absent, "x"); err != nil {
		t.Error(err)
	}
	if err := absent.finish(); err == nil || codeOf(err) != exitUnwritable {
		t.Error(err)
	}
	if err := (&pager{command: "true"}).finish(); err != nil { // nothing was printed
		t.Error(err)
	}
}

// TestPagerCommand: the user's pager goes before less; cat is none.
func TestPagerCommand(t *testing.T) {
	there := func(string) (string, error) { return "/usr/bin/less", nil }
	absent := func(string) (string, error) { return "", errors.New("not there") }
	for _, tt := range []struct {
		pager string
		find  func(string) (string, error)
		want  string
	}{{"", there, "less -FRX"}, {"", absent, ""}, {"most -s", absent, "most -s"}, {"cat", there, ""},
		{" ", there, ""}} {
		if have := pagerCommand(func(string) string { return tt.pager }, tt.find); have != tt.want {
			t.Errorf("PAGER=%q: %q, want %q", tt.pager, have, tt.want)
		}
	}
}
