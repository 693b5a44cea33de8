package report

import (
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
	"github.com/clrprof/clrprof/internal/symbols"
)

// maxSource bounds the file of which lines are shown: generated files are some megabytes.
const maxSource = 16 << 20

// sourceExtensions are those of files that are shown. A session names files as it was asked to, so not any file of this
// machine.
var sourceExtensions = []string{".cs", ".fs", ".fsi", ".fsx", ".vb", ".razor", ".cshtml", ".vbhtml", ".xaml", ".il",
	".fsl", ".fsy", ".tt"}

// sourceText is a file of source, as it is on this machine, or as the symbols hold it.
type sourceText struct {
	lines    []string
	changed  time.Time
	known    bool  // the file is what the compiler read
	differs  bool  // the file is not that
	embedded bool  // the text is that in the symbols: the file differs, or cannot be read
	err      error // why it cannot be read
}

// line returns the text of a line, "" if it is not known.
func (s *sourceText) line(n int64) string {
	if n < 1 || n > int64(len(s.lines)) {
		return ""
	}
	return s.lines[n-1]
}

// sourceFiles are the files that were looked for, by path.
type sourceFiles struct {
	files   map[string]*sourceText
	symbols *symbols.Sources
}

func newSourceFiles(c *context) *sourceFiles {
	return &sourceFiles{map[string]*sourceText{}, symbols.NewSources(c.processes.list, symbols.OpenFile)}
}

// open returns a file of a module, which is empty if it cannot be read.
func (s *sourceFiles) open(name string, of *session.Module) *sourceText {
	if f := s.files[name]; f != nil {
		return f
	}
	f := &sourceText{}
	s.files[name] = f
	content, err := f.read(name)
	if errors.Is(err, errNoSource) {
		f.err = err
		return f
	}
	known := s.symbols.Find(of, name)
	f.known, f.differs, f.err = err == nil && known.Is(content), err == nil && known.Known() && !known.Is(content), err
	if instead := known.Embedded(); instead != nil && !f.known {
		f.embedded, content = true, instead
	}
	if err == nil || f.embedded {
		f.split(content)
	}
	return f
}

var (
	errNoSource    = errors.New("it is not called as source code is")
	errSourceLarge = fmt.Errorf("it has more than %d MB", maxSource>>20)
	errNoFile      = errors.New("it is not a file")
)

// read returns the content of the file.
func (s *sourceText) read(name string) ([]byte, error) {
	if !slices.Contains(sourceExtensions, strings.ToLower(path.Ext(name))) {
		return nil, errNoSource
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNoFile
	case info.Size() > maxSource:
		return nil, errSourceLarge
	}
	s.changed = info.ModTime()
	return os.ReadFile(name)
}

// split takes the lines of a content.
func (s *sourceText) split(content []byte) {
	for line := range bytes.Lines(bytes.TrimPrefix(content, []byte("\ufeff"))) {
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		s.lines = append(s.lines, strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\t", "    "))
	}
}

// why says why a file cannot be read.
func (s *sourceText) why() error {
	var broken *fs.PathError
	if errors.As(s.err, &broken) {
		return broken.Err
	}
	return s.err
}

// notes say which files could not be shown, or are not those that ran.
func (s *sourceFiles) notes(c *context) []Note {
	var out []Note
	began := time.Time{}
	if info, err := c.source.Session().Info(); err == nil { // without it nothing is said of the time
		began, _ = time.Parse(time.RFC3339, info[session.KeyCreated])
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		switch f := s.files[name]; {
		case f.embedded && f.err != nil:
			out = append(out, note(NoteEmbedded, name, f.why()))
		case f.embedded:
			out = append(out, note(NoteEmbeddedInstead, name))
		case f.err != nil:
			out = append(out, note(NoteWithoutText, name, f.why()))
		case f.differs:
			out = append(out, note(NoteOtherText, name))
		case !f.known && !began.IsZero() && f.changed.After(began):
			out = append(out, note(NoteChangedText, name))
		}
	}
	return out
}

// SourceText returns the lines of a source file of the session, and what is to be said of them; none: they cannot be
// read.
func (r *Reader) SourceText(file session.FileID) (lines []string, notes []Note, err error) {
	c := r.own()
	if err := c.readPlaces(); err != nil {
		return nil, nil, err
	}
	of := session.FunctionID(0)
	for i := range c.lines.list {
		if l := &c.lines.list[i]; l.File == file {
			of = l.Function
			break
		}
	}
	sources := newSourceFiles(c)
	text := sources.open(c.files.get(file).Path, c.modules.get(c.functions.get(of).Module))
	return text.lines, sources.notes(c), nil
}
