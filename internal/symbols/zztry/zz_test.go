package zztry

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/clrprof/clrprof/internal/collect"
	"github.com/clrprof/clrprof/internal/launch"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/symbols"
)

func TestTry(t *testing.T) {
	if os.Getenv("TRY_CMD") == "" {
		t.Skip()
	}
	out := os.Getenv("TRY_OUT")
	res, err := collect.Run(collect.Options{Launch: launch.Options{Command: strings.Fields(os.Getenv("TRY_CMD")), Environment: os.Environ()}, Output: out, Name: "x", Force: true})
	t.Log(res, err)
	w, err := session.Edit(out)
	if err != nil {
		t.Fatal(err)
	}
	in, err := symbols.Read(w.Session)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	o := symbols.Resolve(in, symbols.OpenFile, nil)
	fmt.Println("resolve", time.Since(start), o.Summary, len(o.Modules), len(o.Types), len(o.Functions), len(o.Instructions), len(o.Lines))
	start = time.Now()
	if err := o.Write(w); err != nil {
		t.Fatal(err)
	}
	fmt.Println("write", time.Since(start))
	w.Close()
}
