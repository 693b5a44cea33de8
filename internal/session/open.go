package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	_ "embed"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

//go:embed schema.sql
var schema string

// Format is the version of the file format that this package reads and writes. What is added to it does not change the
// number: tables and columns that an older file of this format lacks are empty and 0 (addLater).
const Format = 2

const (
	applicationID = 0x434C5250 // 'CLRP'
	magic         = "SQLite format 3\x00"
	// maxValueBytes bounds one text or blob, so that a damaged length cannot ask
	// for gigabytes; the longest real value is the IL map of a huge method.
	maxValueBytes = 64 << 20
	// busyTimeout is how long a reader waits for a writer inside its commit, and a writer for readers before it says
	// so. The largest batch takes a few seconds.
	busyTimeout = 20 * time.Second
	// longestBusy is how long a writer tries to commit while others read. Reading takes seconds; who keeps a
	// transaction open for longer, in another tool, must not keep a recording from ending for ever.
	longestBusy = 10 * time.Minute
)

// Kinds of errors; test for them with errors.Is. The messages of the errors
// that wrap them name the file.
var (
	ErrNotFound   = errors.New("no such file")
	ErrNotSession = errors.New("not a clrprof session")
	ErrNewer      = errors.New("made by a newer clrprof")
	ErrOlder      = errors.New("made by an older clrprof")
	ErrCorrupt    = errors.New("damaged session")
	ErrExists     = errors.New("file exists")
	ErrInUse      = errors.New("another clrprof is still writing this session")
	ErrRange      = fmt.Errorf("%w: a number that no collector writes", ErrCorrupt)
)

// State says how far a session got. States only go forward.
type State string

// The states of a session, in their order.
const (
	Recording State = "recording" // a collector is at work, or was killed
	Recorded  State = "recorded"  // the recorded tables are complete
	Resolved  State = "resolved"  // names and lines are there
	Complete  State = "complete"  // the derived tables are there
)

// stateOrder is the order in which states follow each other.
var stateOrder = []State{Recording, Recorded, Resolved, Complete}

// Session reads a session file.
type Session struct {
	conn       *sqlite.Conn
	file       *file // that is read; nil: of a Writer, or in memory
	path       string
	claimed    bool // somebody was still writing it when it was opened
	packer     packer
	absent     map[string]bool  // additions that it was made before, by name
	onRows     func(rows int)   // see OnRows
	nodes      []Node           // for Stack; nil until somebody asks
	places     places           // that were read
	lastIDs    map[string]int64 // of packed tables that were written to, by name
	virtual    bool             // packed tables and their views can be queried
	until      context.Context  // see Until; nil: no end
	unreadable error            // why a packed table could not be read for a query: SQLite passes on the text only
}

// Open opens the session file at path for reading. The error wraps one of the
// Err values above, or is the operating system's.
//
// Nothing is written, made or removed: file.go says how. As long as a complete session is open, nobody can change it.
func Open(path string) (*Session, error) { return OpenUntil(context.Background(), path) }

// OpenUntil is Open for those who do not want to wait for a writer once the context is done; the session's reads do not
// depend on it.
func OpenUntil(ctx context.Context, path string) (*Session, error) {
	s, err := openOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	if state, err := s.State(); err != nil || state == Complete {
		return s, err
	}
	s.Until(ctx)
	return s.settled()
}

// openOnly opens a session in any state. Its writer waits until it is closed.
func openOnly(ctx context.Context, path string) (*Session, error) {
	f, err := checkHeader(ctx, path)
	if err != nil {
		return nil, err
	}
	claimed := isClaimed(f.f) // before its state is read: see stageOf
	conn, err := f.connect()
	if err != nil {
		return nil, explain(path, err)
	}
	s := &Session{conn: conn, file: f, path: path, claimed: claimed, places: places{keep: true}}
	if err := s.prepareReader(); err != nil {
		conn.Close()
		return nil, s.explain(err)
	}
	return s, nil
}

// settled returns a copy in memory of a session that may still be written: all reads see the same moment, and its
// writer need not wait for them.
func (s *Session) settled() (*Session, error) {
	defer s.Close()
	w, err := s.InMemory()
	if err != nil {
		return nil, err
	}
	if err := sqlitex.ExecuteTransient(w.conn, "PRAGMA query_only=1", nil); err != nil {
		w.Close()
		return nil, s.explain(err)
	}
	w.places.keep = true
	return w.Session, nil
}

// prepareReader makes the connection safe for a file from anywhere and checks
// that the tables exist.
func (s *Session) prepareReader() error {
	s.conn.Limit(sqlite.LimitLength, maxValueBytes)
	// Only files that were handed over can be opened (openFiles), so what SQLite sorts is in memory.
	for _, pragma := range []string{"query_only=1", "trusted_schema=0", "cell_size_check=1", "temp_store=MEMORY"} {
		if err := sqlitex.ExecuteTransient(s.conn, "PRAGMA "+pragma, nil); err != nil {
			return err
		}
	}
	return s.checkTables()
}

// AtOnce runs fn, whose reads all see the same moment of a session that is written to. They are cheaper, too: by itself
// each query of a Writer locks the file anew. Calls nest; in a Writer's batch AtOnce adds nothing.
func (s *Session) AtOnce(fn func() error) error {
	if !s.conn.AutocommitEnabled() {
		return fn()
	}
	if err := sqlitex.ExecuteTransient(s.conn, "BEGIN", nil); err != nil {
		return s.explain(err)
	}
	err := fn()
	if s.conn.AutocommitEnabled() { // some errors roll back by themselves
		return err
	}
	return errors.Join(err, s.explain(sqlitex.ExecuteTransient(s.conn, "ROLLBACK", nil)))
}

func truncated(size, whole int64) error {
	return fmt.Errorf("%w: it is truncated (%d of %d bytes): copy it again from where it was made", ErrCorrupt, size,
		whole)
}

func (s *Session) checkTables() error {
	if err := s.findAbsent(); err != nil {
		return err
	}
	state, err := s.State()
	if err == nil && !slices.Contains(stateOrder, state) {
		err = fmt.Errorf("%w: its state is %.20q", ErrCorrupt, string(state))
	}
	return err
}

// tableNames are the tables of the schema, but for those that are packed.
var tableNames = []string{
	"info", "chunk", processTable.name, threadTable.name, threadSetTable.name, moduleTable.name, typeTable.name,
	typeArgumentTable.name,
	functionTable.name, functionArgumentTable.name, bodyTable.name, instructionTable.name, sliceTable.name,
	pauseTable.name, markTable.name, notProbedTable.name, threadScopeTable.name,
	testCaseTable.name, interactionTable.name, interactionFrameTable.name,
	processLifetimeTable.name, leftOutTable.name, endingTable.name, gcFreedTable.name,
	siteFreedTable.name,
	gcTable.name, gcGenerationTable.name, gcDetailTable.name, gcCallerTable.name,
	gcHeapTable.name,
	snapshotTable.name, snapshotTypeTable.name, snapshotSiteTable.name, snapshotRootTable.name, snapshotPathTable.name,
	snapshotStaticTable.name, snapshotHolderTable.name,
	processTimeTable.name, cpuCounterTable.name, systemCallTable.name,
	counterTable.name, lossTable.name, sourceFileTable.name, lineTable.name, paramsArrayTable.name,
	callValueTable.name, functionValueTable.name, moduleValueTable.name, lineValueTable.name,
	instructionValueTable.name,
	typeValueTable.name, threadValueTable.name, processValueTable.name, processDeathTable.name,
	summarySectionTable.name, summarySiteTable.name,
	causeTotalTable.name, causeTable.name, typeDeathTable.name, typePathTable.name, ruleJudgedTable.name,
	findingTable.name,
	callTimeTable.name, functionTimeTable.name, functionAwaitTable.name, moduleTimeTable.name, lineTimeTable.name,
	instructionTimeTable.name,
	threadTimeTable.name, processTimeValueTable.name,
}

// header is what the first 100 bytes of a database say (sqlite.org/fileformat.html, 1.3).
type header struct {
	pageSize, pages, format, application int64
}

// checkHeader opens a session and reads the first bytes itself, because SQLite can only say "not a
// database" where a person needs to know which file this is.
func checkHeader(ctx context.Context, path string) (*file, error) {
	f, err := openFile(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session %s: %w", path, ErrNotFound)
	} else if err != nil {
		return nil, prefix(path, err)
	}
	h, err := readHeader(f, f.size)
	if err == nil {
		err = h.check(f)
	}
	if err != nil {
		f.Close()
		return nil, prefix(path, err)
	}
	return f, nil
}

// check refuses the header of a file that is not a session of this format.
func (h header) check(f *file) error {
	switch {
	case h.application != applicationID:
		return fmt.Errorf("%w: it is an SQLite database of another program", ErrNotSession)
	case h.format > Format:
		return fmt.Errorf("%w (format %d, this one reads up to %d): update clrprof", ErrNewer, h.format, Format)
	case h.format == 1:
		return fmt.Errorf("%w, in a format that this one does not read: record it again", ErrOlder)
	case h.format < 1 || h.pageSize == 0 || f.size < h.pageSize:
		return fmt.Errorf("%w: its first page is broken", ErrCorrupt)
	case f.journal != nil && f.journal.pageSize != h.pageSize:
		return fmt.Errorf("%w: %s belongs to another file: copy the session without it", errJournal, f.journal.f.Name())
	case h.pages*h.pageSize > f.size: // SQLite takes a last page that was cut for one that ends with zeros
		return truncated(f.size, h.pages*h.pageSize)
	}
	return nil
}

func readHeader(f io.ReaderAt, size int64) (h header, err error) {
	b := make([]byte, 100)
	n, err := f.ReadAt(b, 0)
	switch {
	case n == 0 && size == 0:
		return h, fmt.Errorf("%w: it is empty", ErrNotSession)
	case n >= len(magic) && string(b[:len(magic)]) != magic, n < len(b) && errors.Is(err, io.EOF):
		return h, fmt.Errorf("%w: it does not begin like one", ErrNotSession)
	case n < len(b):
		return h, err
	}
	h.pageSize = int64(binary.BigEndian.Uint16(b[16:]))
	if h.pageSize == 1 {
		h.pageSize = 65536
	}
	h.pages = int64(binary.BigEndian.Uint32(b[28:]))
	h.format = int64(int32(binary.BigEndian.Uint32(b[60:])))
	h.application = int64(binary.BigEndian.Uint32(b[68:]))
	return h, nil
}

// explain turns an error of SQLite into one line that says what it means for path.
func explain(path string, err error) error {
	if err == nil || errors.Is(err, ErrCorrupt) {
		return prefix(path, err)
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultTooBig, sqlite.ResultFormat:
		return fmt.Errorf("session %s: %w (%s): copy it again from where it was made", path, ErrCorrupt, messageOf(err))
	case sqlite.ResultError: // our own queries are right, so the tables are not what they should be
		return fmt.Errorf("session %s: %w (%s): record it again with this clrprof", path, ErrCorrupt, messageOf(err))
	case sqlite.ResultInterrupt:
		return prefix(path, context.Canceled)
	case sqlite.ResultBusy:
		return fmt.Errorf("session %s: %w: %w", path, errBusy, err)
	}
	return prefix(path, err)
}

// messageOf returns what SQLite says without the query that it says it of.
func messageOf(err error) string {
	message := err.Error() // sqlite: prepare "SELECT …": what is wrong
	if i := strings.LastIndex(message, `": `); i >= 0 {
		message = message[i+len(`": `):]
	}
	return message
}

func prefix(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session %s: %w", path, err)
}

func (s *Session) explain(err error) error {
	if s.file != nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultIOErr {
		if cut := s.file.cut(); cut != nil {
			return prefix(s.path, cut)
		}
	}
	return explain(s.path, err)
}

// Until makes reading fail with context.Canceled once the context is done.
func (s *Session) Until(ctx context.Context) {
	s.until = ctx
	s.conn.SetInterrupt(ctx.Done())
}

// Path returns the path that the session was opened with.
func (s *Session) Path() string { return s.path }

// Close ends the use of the file.
func (s *Session) Close() error {
	s.packer.close()
	return s.explain(s.conn.Close())
}
