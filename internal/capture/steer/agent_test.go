package steer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The layout of the control file, as internal/wire describes it.
const (
	controlMagic  = 0x004C525443524C43
	controlHeader = 4096
	controlRing   = 4096
	controlChange = 32
)

// levels and ops by their numbers in the file.
var opsByNumber = []Op{1: Start, 2: Stop, 3: Suspend, 4: Resume}

// step is a line for replay_control: somebody changes something, or an event looks.
type step struct {
	time           int
	who, level, op int
}

// naive says what an event at each time sees, by looking at every nanosecond.
type naive struct {
	levels  [4]Level // by number
	paused  int
	now     int
	settled bool // the thread's level is off, and it was the thread itself that switched it off

	onlyInside bool   // functions limit what is recorded of the process:
	within     [3]int // threads that are in those that record inside (1), or outside (2)
}

// processOff says whether nothing of the process is recorded.
func (n *naive) processOff() bool {
	return !n.levels[1].On() || !n.levels[2].On() || n.onlyInside && n.within[1] == 0 || n.within[2] > 0
}

// functions changes what functions do to the process, and says how the driver learns of it.
func (n *naive) functions(t *rapid.T) (level, op int) {
	level = rapid.IntRange(0, 2).Draw(t, "functions")
	switch op = rapid.IntRange(1, 2).Draw(t, "more or less"); {
	case level == 0:
		n.onlyInside = op == 1
	case op == 1 || n.within[level] == 0:
		op = 1
		n.within[level]++
	default:
		n.within[level]--
	}
	return level, op
}

func (n *naive) until(time int) {
	for ; n.now < time; n.now++ {
		if n.processOff() || !n.levels[3].On() {
			n.paused++
		}
	}
}

func (n *naive) sees() string {
	processOff, threadOff := n.processOff(), !n.levels[3].On()
	number := map[bool]int{true: 1}
	return fmt.Sprintf("%d %d %d 0\n", number[processOff || threadOff], number[threadOff && n.settled], n.paused)
}

// change is a change of a level by the program, in its thread, or by the collector.
func (n *naive) change(level int, op Op, itself bool) {
	was := n.levels[level].On()
	n.levels[level] = n.levels[level].After(op)
	if level == 3 && was {
		n.settled = itself
	}
}

// replayer builds the agent's real code with a driver.
func replayer(t *testing.T) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc")
	}
	path := filepath.Join(t.TempDir(), "replay_control")
	args := append(strings.Fields("-std=c11 -I../../../agent/src -O1 -g -Wall -Wextra -Wconversion -Werror -fsanitize=undefined "+
		"-fno-sanitize-recover=all"),
		"-o", path, "../../../agent/test/replay_control.c", "../../../agent/src/control/recording_state.c")
	if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	return path
}

// replay returns what the agent says, from a state in which all processes are suspended so often.
func replay(t rapid.TB, path, dir string, suspended uint32, input string) string {
	file := make([]byte, controlHeader+controlRing*controlChange)
	binary.LittleEndian.PutUint64(file, controlMagic)
	binary.LittleEndian.PutUint32(file[20:], suspended)
	if err := os.WriteFile(filepath.Join(dir, "control"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, dir)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, errs.String(), input)
	}
	return out.String()
}

// TestAgentEqualsNaive: whatever the program and the collector do to the levels, in any order and whether or not the
// agent looks in between, each event sees the state and the pauses that a naive model does.
func TestAgentEqualsNaive(t *testing.T) {
	path, dir := replayer(t), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		suspended := rapid.Uint32Range(0, 2).Draw(t, "suspended")
		n := &naive{}
		n.levels[1].Suspended = int32(suspended)
		var input, want strings.Builder
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n.until(n.now + rapid.IntRange(0, 20).Draw(t, "wait"))
			s := step{time: n.now, who: rapid.IntRange(0, 5).Draw(t, "who"),
				op: rapid.IntRange(1, 4).Draw(t, "operation")}
			switch s.who {
			case 0:
				want.WriteString(n.sees())
			case 1, 2:
				s.level = rapid.IntRange(1, 3).Draw(t, "level")
				n.change(s.level, opsByNumber[s.op], s.who == 1)
			case 3:
				s.level = rapid.IntRange(2, 3).Draw(t, "level")
			case 4:
				s.level = 3
			case 5:
				s.level, s.op = n.functions(t)
			}
			fmt.Fprintln(&input, s.time, s.who, s.level, s.op)
		}
		if got := replay(t, path, dir, suspended, input.String()); got != want.String() {
			t.Fatalf("the agent says\n%swant\n%sof\n%s", got, want.String(), input.String())
		}
	})
}

// TestAgentLate: of more changes than the file holds the agent takes the state after them, and says that it lost some.
func TestAgentLate(t *testing.T) {
	path := replayer(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, last := range []Op{Suspend, Resume} {
		var input strings.Builder
		time, level := 0, Level{}
		for range 3 * controlRing {
			time += random.IntN(3)
			op := 3 + random.IntN(2)
			level = level.After(opsByNumber[op])
			fmt.Fprintln(&input, time, 2, 1, op)
		}
		for level.On() == (last == Suspend) {
			level = level.After(last)
			fmt.Fprintln(&input, time, 2, 1, map[Op]int{Suspend: 3, Resume: 4}[last])
		}
		fmt.Fprintln(&input, time, 0, 0, 0)
		off, losses := 0, 0
		var threadOff, paused int
		if _, err := fmt.Sscan(replay(t, path, t.TempDir(), 0, input.String()), &off, &threadOff, &paused,
			&losses); err != nil {
			t.Fatal(err)
		}
		if (off == 0) != level.On() || losses != 1 {
			t.Errorf("off is %d after %v, with %d losses", off, level, losses)
		}
	}
}
