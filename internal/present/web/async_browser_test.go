package web_test

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestAsyncCallers: a function that is chosen in the call tree, where async methods are below their callers, is shown so
// by callers, and so are those that are chosen there; one click shows the functions as they were.
func TestAsyncCallers(t *testing.T) {
	p := open(t, sessiontest.Tested())
	const linked = `.rows .row:not(.head) a[href*="view=callers"][title*="Slow"]`
	p.visit("view=calltree&function-root=Slow", linked)
	p.click(linked)
	callees := func() string {
		return eval[string](p, `[...document.querySelectorAll(".rows .row:not(.head)")].map(r => r.innerText).join("\n")`)
	}
	p.until(`document.querySelector("#async")?.checked && document.querySelector(".command code")?.innerText.endsWith("--async logical")`)
	if got := callees(); !strings.Contains(got, "OrderTests.Load()") || strings.Contains(got, "[async]") {
		t.Errorf("the callees of Slow are\n%s", got)
	}
	p.click(`.rows .row:not(.head) a[title*="OrderTests.Load()"]`)
	p.until(`new URLSearchParams(location.search).get("argument")?.includes("Load") && document.querySelector("#async")?.checked`)
	p.until(`document.querySelector(".rows")?.innerText.includes("Saves")`)
	p.click("#async")
	p.until(`document.querySelector(".notes")?.innerText.includes("Async methods are as they were")`)
	p.until(`!location.search.includes("async=")`)
	p.visit("view=overview", `.hot a[href*="view=callers"][href*="async=logical"]`)
	p.visit("view=callers&argument=Slow&async=sometimes", ".failed")
	p.visit("view=lines", ".rows .row:not(.head)")
	if eval[bool](p, `!!document.querySelector("#async")`) {
		t.Error("lines can be shown below their callers")
	}
}
