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

	"github.com/clrprof/clrprof/internal/dotnettest"
)

var record = flag.Bool("record", false, "write the streams of the runtimes to testdata")

// isShop is what the tests want to see.
func isShop(source string) bool { return strings.HasPrefix(source, "Shop.") }

// meters starts the target Meters.
func meters(t *testing.T, r dotnettest.Runtime) (cmd *exec.Cmd, do func(steps ...string)) {
	t.Helper()
	o := dotnettest.Options{}
	if r.Major() >= 8 {
		o = dotnettest.Options{Framework: dotnettest.Net8, Defines: []string{"METERS"}}
	}
	cmd = r.Command(dotnettest.Target(t, "Meters", o))
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
	steps    = []string{"orders 7", "refund 0.5", "queue 2.25", "open 3", "open -1", "took 1 2 3.5"}
	ofSource = values{"Shop.Events/orders": 21, "Shop.Events/refunded": 0.5, "Shop.Events/queue": 2.25,
		"Shop.Events/took.count": 3, "Shop.Events/took.min": 1, "Shop.Events/took.max": 3.5}
	ofMeter = values{"Shop.Orders/shop.orders{kind=web,land=Österreich}": 7, "Shop.Orders/shop.orders{kind=phone}": 14,
		"Shop.Orders/shop.refunds": 0.5, "Shop.Orders/shop.open": 2, "Shop.Orders/shop.queue": 2.25,
		"Shop.Orders/shop.refunded": 0.5, "Shop.Orders/shop.took.count": 3, "Shop.Orders/shop.took.sum": 6.5,
		"Shop.Orders/shop.took.p50": 2, "Shop.Orders/shop.took.p99": 3.5}
	ofPattern = values{"Shop.Late/late": 4}
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
			s, err := Start(cmd.Process.Pid, MetersProviders("test", []string{"Shop.Orders"}, []string{"Shop.Events"},
				100_000_000))
			if err != nil {
				t.Fatal(err)
			}
			var kept bytes.Buffer
			want := values{}
			want.merge(ofSource)
			if r.Major() >= 8 {
				want.merge(ofMeter)
			}
			got, m := values{}, NewMeters(isShop)
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
				if _, seen := got["Shop.Events/queue"]; seen && !done && (m.Supported() || r.Major() < 8) {
					done = true // it is sampled: what it does now counts
					do(steps...)
				}
				if done && !ended && got.has(want) {
					ended = true
					do("end")
				}
			}
			if stream.Lost() != 0 || len(m.Troubles()) != 0 || !got.has(want) || m.Supported() != (r.Major() >= 8) {
				t.Errorf("%v; want %v; lost %d, %q", got, want, stream.Lost(), m.Troubles())
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

func (v values) merge(o values) {
	for name, value := range o {
		v[name] = value
	}
}

// TestPatterns: meters that a pattern matches are sampled, also one that is made later, by the runtime itself from
// .NET 9 on.
func TestPatterns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts .NET")
	}
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			cmd, do := meters(t, r)
			s, err := Start(cmd.Process.Pid, MetersProviders("test", []string{"Shop.*"}, nil, 100_000_000))
			if err != nil {
				t.Fatal(err)
			}
			got, m, more := values{}, NewMeters(isShop), 0
			stream, made, ended := NewStream(s), false, false
			for {
				e, err := stream.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got.add(m.Add(e))
				if names := m.Unsampled(); len(names) > 0 {
					more++
					x, err := Start(cmd.Process.Pid, MoreMeters(fmt.Sprint("test-", more), names, 100_000_000))
					if err != nil {
						t.Fatal(err)
					}
					go func() { _, _ = io.Copy(io.Discard, x) }()
				}
				if _, seen := got["Shop.Orders/shop.queue"]; seen && !made {
					made = true
					do("late 4")
				}
				if !ended && got.has(ofPattern) {
					ended = true
					do("end")
				}
			}
			if !got.has(ofPattern) || len(m.Troubles()) != 0 || (more > 0) != (r.Major() < 9) {
				t.Errorf("%v, %d more sessions, %q", got, more, m.Troubles())
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLimit: of too many combinations of tags the rest is left out, and that is said.
func TestLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("starts .NET")
	}
	r := dotnettest.NeedRuntimes(t, 8)[0]
	cmd, do := meters(t, r)
	s, err := Start(cmd.Process.Pid, MetersProviders("test", []string{"Shop.Orders"}, nil, 100_000_000))
	if err != nil {
		t.Fatal(err)
	}
	got, m, stream, many := values{}, NewMeters(isShop), NewStream(s), false
	for {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got.add(m.Add(e))
		if m.Supported() && !many {
			many = true
			do(fmt.Sprintf("many %d", 2*maxSeries))
		}
		if _, seen := got["Shop.Orders/shop.orders{customer=0}"]; seen && s != nil {
			do("end")
			s = nil
		}
	}
	n := 0
	for name := range got {
		if strings.HasPrefix(name, "Shop.Orders/shop.orders{") {
			n++
		}
	}
	said := m.Troubles()
	if n == 0 || n > maxSeries || len(said) != 1 || !strings.Contains(said[0], "more than 1000 combinations") {
		t.Errorf("%d combinations, %q", n, said)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
