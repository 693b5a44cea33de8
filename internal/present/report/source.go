package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
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

// Sources are the source files that were looked for, by path.
type Sources struct {
	files   map[string]*sourceText
	symbols *symbols.Sources
	wanted  map[string]session.Module // that Load is to read, by path; nil: files are read at once
}

func newSources(c *context) *Sources {
	return &Sources{files: map[string]*sourceText{}, symbols: symbols.NewSources(c.processes.list, symbols.OpenFile)}
}

// Sources returns source files for Options: those that are needed are not read but noted, for Load. Who builds a view
// while others wait lets them go on in the meantime, and builds it again: disks can be slow, and a session names files
// as it was asked to.
func (r *Reader) Sources() *Sources {
	out := newSources(r.context)
	out.wanted = map[string]session.Module{}
	return out
}

// Wanted reports whether files are to be read.
func (s *Sources) Wanted() bool { return len(s.wanted) > 0 }

// Load reads the files that are wanted. It needs nothing of the session.
func (s *Sources) Load() {
	for name, of := range s.wanted {
		s.files[name] = s.load(name, &of)
	}
	clear(s.wanted)
}

// open returns a file of a module, which is empty if it cannot be read, or is not yet.
func (s *Sources) open(name string, of *session.Module) *sourceText {
	f := s.files[name]
	switch {
	case f != nil:
	case s.wanted != nil:
		s.wanted[name] = *of
		return &sourceText{}
	default:
		f = s.load(name, of)
		s.files[name] = f
	}
	return f
}

// load reads a file of a module.
func (s *Sources) load(name string, of *session.Module) *sourceText {
	f := &sourceText{}
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
	errNoSource    = errors.New("its name does not end as that of source code (.cs, .fs, .vb and the like)")
	errSourceLarge = fmt.Errorf("it has more than %d MB", maxSource>>20)
	errNoFile      = errors.New("it is not a file")
)

// read returns the content of the file.
func (s *sourceText) read(name string) ([]byte, error) {
	if !slices.Contains(sourceExtensions, strings.ToLower(path.Ext(name))) {
		return nil, errNoSource
	}
	file, err := openfile.OpenRegular(name)
	if errors.Is(err, openfile.ErrNotRegular) {
		return nil, errNoFile
	} else if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	s.changed = info.ModTime()
	content, err := io.ReadAll(io.LimitReader(file, maxSource+1))
	if len(content) > maxSource {
		return nil, errSourceLarge
	}
	return content, err
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
func (s *Sources) notes(c *context) []Note {
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
// read, or are not yet, as Sources has it.
func (r *Reader) SourceText(file session.FileID, sources *Sources) (lines []string, notes []Note, err error) {
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
	text := sources.open(c.files.get(file).Path, c.modules.get(c.functions.get(of).Module))
	return text.lines, sources.notes(c), nil
}
