package encode

import (
	"bytes"
	"testing"
)

// TestHostileCells: a name of the program cannot steer a terminal or begin a line; SafeCSV has nothing that a
// spreadsheet runs, and numbers as they are.
func TestHostileCells(t *testing.T) {
	cells := []string{"\x1b[2J", "\u202eevil", "a\nb", "=cmd|' /C calc'!A0", "@SUM(1)", "-12", "+1.5", "-x", "plain"}
	for format, want := range map[Format]string{
		CSV:     "name,2\n\ufffd[2J,\ufffdevil,a\ufffdb,=cmd|' /C calc'!A0,@SUM(1),-12,+1.5,-x,plain\n",
		SafeCSV: "name,2\n\ufffd[2J,\ufffdevil,a\ufffdb,'=cmd|' /C calc'!A0,'@SUM(1),-12,+1.5,'-x,plain\n",
		TSV:     "name\t2\n\ufffd[2J\t\ufffdevil\ta\\nb\t=cmd|' /C calc'!A0\t@SUM(1)\t-12\t+1.5\t-x\tplain\n",
	} {
		var out bytes.Buffer
		err := writeSeparated(&out, format, []string{"name", "2"}, func(fn func([]string) error) error {
			return fn(append([]string(nil), cells...))
		})
		if err != nil || out.String() != want {
			t.Errorf("%s: %v\n%q, want\n%q", format, err, out.String(), want)
		}
	}
}
