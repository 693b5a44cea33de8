package programs

import (
	"bytes"
	"strings"
	"testing"
)

func TestSourceIsTheSame(t *testing.T) {
	a, b := Source(Options{Seed: 3, Units: 5}), Source(Options{Seed: 3, Units: 5})
	if !bytes.Equal(a, b) {
		t.Error("one seed gives two programs")
	}
	if bytes.Equal(a, Source(Options{Seed: 4, Units: 5})) {
		t.Error("two seeds give one program")
	}
}

// TestSourceHasAll looks for what every program must try.
func TestSourceHasAll(t *testing.T) {
	source := string(Source(Options{Seed: 1, Units: 10}))
	for _, part := range []string{"throw;", "throw new Sub()", " when (", "finally", "using (", "yield return",
		"await Task.Yield()", "await Async",
		"foreach", "new Thread(", "Array.ConvertAll", "int.Parse", "continue;", "<>m__Finally1", "Virtual0",
		"Generic0<Pair>", "new Pair[6000]", "~Finalized"} {
		if !strings.Contains(source, part) {
			t.Errorf("no %s", part)
		}
	}
	if !strings.Contains(source, strings.Repeat("    ", maxNesting+2)+"try\n") {
		t.Error("nothing is nested as deep as it may be")
	}
}

// TestTame makes sure that the functions of filters call nothing that could throw.
func TestTame(t *testing.T) {
	for i, part := range strings.Split(string(Source(Options{Seed: 1, Units: 10, Tame: true})), "static bool Filter") {
		body, _, _ := strings.Cut(part, "\n    }")
		if i > 0 && (strings.Contains(body, "throw") || strings.Contains(body, "d - 1")) {
			t.Errorf("a filter's function can throw:\n%s", body)
		}
	}
}
