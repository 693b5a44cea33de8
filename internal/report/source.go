package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/session"
)

// maxSource bounds the file of which lines are shown: generated files are some megabytes.
const maxSource = 16 << 20

// sourceExtensions are those of files that are shown. A session names files as it was told to, so not any file of this machine.
var sourceExtensions = []string{".cs", ".fs", ".fsi", ".fsx", ".vb", ".razor", ".cshtml", ".vbhtml", ".xaml", ".il", ".fsl", ".fsy", ".tt"}

// sourceText is a file of source, as it is on this machine.
type sourceText struct {
	lines   []string
	changed time.Time
	err     error
}

// line returns the text of a line, "" if it is not known.
func (s *sourceText) line(n int64) string {
	if n < 1 || n > int64(len(s.lines)) {
		return ""
	}
	return s.lines[n-1]
}

// sourceFiles are the files that were looked for, by path.
type sourceFiles struct{ files map[string]*sourceText }

// open returns a file, which is empty if it cannot be read.
func (s *sourceFiles) open(name string) *sourceText {
	if f := s.files[name]; f != nil {
		return f
	}
	if s.files == nil {
		s.files = map[string]*sourceText{}
	}
	f := &sourceText{}
	s.files[name] = f
	f.err = f.read(name)
	return f
}

var (
	errNoSource    = errors.New("it is not called as source code is")
	errSourceLarge = fmt.Errorf("it has more than %d MB", maxSource>>20)
	errNoFile      = errors.New("it is no file")
)

func (s *sourceText) read(name string) error {
	if !slices.Contains(sourceExtensions, strings.ToLower(path.Ext(name))) {
		return errNoSource
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errNoFile
	case info.Size() > maxSource:
		return errSourceLarge
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	s.changed = info.ModTime()
	scan := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	scan.Buffer(nil, maxSource+1)
	for scan.Scan() {
		s.lines = append(s.lines, strings.ReplaceAll(strings.ToValidUTF8(scan.Text(), "\uFFFD"), "\t", "    "))
	}
	return scan.Err()
}

// notes say which files could not be shown, or are not those that ran.
func (s *sourceFiles) notes(c *context) []string {
	var out []string
	began := time.Time{}
	if info, err := c.source.Session().Info(); err == nil { // without it nothing is said of the time
		began, _ = time.Parse(time.RFC3339, info[session.KeyCreated])
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		f := s.files[name]
		var broken *fs.PathError
		switch {
		case errors.As(f.err, &broken):
			out = append(out, fmt.Sprintf("Without the text of %s: %v.", name, broken.Err))
		case f.err != nil:
			out = append(out, fmt.Sprintf("Without the text of %s: %v.", name, f.err))
		case !began.IsZero() && f.changed.After(began):
			out = append(out, fmt.Sprintf("%s was changed after the recording began: its lines may be others now.", name))
		}
	}
	return out
}
