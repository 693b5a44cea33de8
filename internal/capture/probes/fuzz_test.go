package probes

import "testing"

// FuzzRewrite rewrites arbitrary bytes: what is not refused must be right. The rewriter runs with sanitizers where
// there are any.
func FuzzRewrite(f *testing.F) {
	_, bodies, _ := all()
	for i, b := range bodies {
		if len(b) < 1000 {
			f.Add(b, byte(i%3))
		}
	}
	r := startRewriter(f)
	f.Fuzz(func(t *testing.T, body []byte, sites byte) {
		r.t = t
		a := r.rewrite(body, int(sites), true, nil)
		if want := Refuse(body); a.result != int(want) {
			t.Fatalf("result %d, but by the rules %d: %v", a.result, want, want)
		}
		if a.result != done {
			return
		}
		if _, _, err := compare(body, a, int(sites), nil); err != nil {
			t.Fatal(err)
		}
	})
}
