package eventpipe

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

var record = flag.Bool("record", false, "write the streams of the runtimes to testdata")

// meters starts the target Meters.
func meters(t *testing.T, r dotnettest.Runtime) (cmd *exec.Cmd, do func(steps ...string)) {
	t.Helper()
	cmd = r.Command(dotnettest.Target(t, "Meters", dotnettest.Options{}))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended mostly
	lines := bufio.NewScanner(stdout)
	read := func() {
		if !lines.Scan() {
			t.Errorf("%s: the target says nothing more: %v", r.Name, lines.Err())
		}
	}
	read()
	read()
	return cmd, func(steps ...string) {
		for _, step := range steps {
			if _, err := fmt.Fprintln(stdin, step); err != nil {
				t.Error(err)
			}
			if step != "end" {
				read()
			}
		}
	}
}

// values are the last values of counters, by name and tags.
type values map[string]float64

func (v values) add(points []Point) {
	for _, p := range points {
		key := p.Name
		if p.Tags != "" {
			key += "{" + p.Tags + "}"
		}
		v[key] = p.Value
	}
}

// What the target says in TestRuntimes.
var (
	steps    = []string{"orders 7", "refund 0.5", "queue 2.25", "took 1 2 3.5"}
	ofSource = values{"Shop.Events/orders": 21, "Shop.Events/refunded": 0.5, "Shop.Events/queue": 2.25,
		"Shop.Events/took.count": 3, "Shop.Events/took.min": 1, "Shop.Events/took.max": 3.5}
)

// has says whether the values are there, with these numbers.
func (v values) has(want values) bool {
	for name, value := range want {
		if v[name] != value {
			return false
		}
	}
	return true
}

// TestRuntimes: what a program of each runtime counts comes out exactly, and its stream ends as it should.
func TestRuntimes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts .NET")
	}
	for _, r := range dotnettest.Need(t).Runtimes() {
		t.Run(r.Name, func(t *testing.T) {
			cmd, do := meters(t, r)
			s, err := Start(cmd.Process.Pid, CounterProviders([]string{"Shop.Events"}, 100_000_000))
			if err != nil {
				t.Fatal(err)
			}
			var kept bytes.Buffer
			got, m := values{}, NewCounters()
			stream, done, ended := NewStream(io.TeeReader(s, &kept)), false, false
			for {
				e, err := stream.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got.add(m.Add(e))
				if _, seen := got["Shop.Events/queue"]; seen && !done {
					done = true // it is sampled: what it does now counts
					do(steps...)
				}
				if done && !ended && got.has(ofSource) {
					ended = true
					do("end")
				}
			}
			if stream.Lost() != 0 || len(m.Troubles()) != 0 || !got.has(ofSource) {
				t.Errorf("%v; want %v; lost %d, %q", got, ofSource, stream.Lost(), m.Troubles())
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if *record {
				data := withoutPaths(kept.Bytes(), cmd.Args)
				if err := os.WriteFile(filepath.Join("testdata", r.Name+".nettrace"), data, 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// withoutPaths hides the paths of this machine, which a stream has as UTF-16, without a change of length.
func withoutPaths(stream []byte, arguments []string) []byte {
	encode := func(text string) []byte {
		var out []byte
		for _, u := range utf16.Encode([]rune(text)) {
			out = binary.LittleEndian.AppendUint16(out, u)
		}
		return out
	}
	for _, a := range arguments {
		stream = bytes.ReplaceAll(stream, encode(a), encode("/"+strings.Repeat("x", len(a)-1)))
	}
	return stream
}
