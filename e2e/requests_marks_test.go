package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestMarkRequests: each request of a web server is marked once, by the name of what answers it, in the thread that
// begins to.
func TestMarkRequests(t *testing.T) {
	t.Parallel()
	const each = webClients * webRequests / 3
	want := map[string]int64{"GET /order/{id}": each, "GET /later/{id}": each, "GET /text": each, "POST /stop": 1}
	for i, runtime := range dotnettest.NeedRuntimes(t, 8) {
		mode := [][]string{{"--memory"}, timeOnly, byProbes}[i%3]
		t.Run(strings.Join(mode, " ")+"/"+runtime.Name, func(t *testing.T) {
			t.Parallel()
			r := recordWeb(t, runtime, slices.Concat(mode, []string{"--mark-requests"}))
			if mode[0] == "--time" {
				checkTimeSession(t, r.session)
			} else {
				checkSession(t, r.session)
			}
			have := map[string]int64{}
			for _, m := range query[struct {
				Name string `json:"name"`
				N    int64  `json:"n"`
			}](t, r.session, "SELECT name, count(*) AS n FROM mark WHERE source = 'request' AND thread_id IS NOT NULL GROUP BY 1") {
				name, _, _ := strings.Cut(strings.TrimPrefix(m.Name, "HTTP: "), " => ")
				have[name] += m.N
			}
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("marks (-want +have)\n%s", d)
			}
			if len(losses(t, r.session)) != 0 {
				t.Errorf("lost: %v", losses(t, r.session))
			}
		})
	}
}
