package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/clrprof/clrprof/internal/files/openfile"
)

// journal is the rollback journal of a writer that was killed in a commit: what pages of the file were before. Its
// format is in https://sqlite.org/fileformat.html#the_rollback_journal; what is done with one that is cut off or broken
// is what SQLite does (pager_playback in pager.c), which TestJournalLikeSQLite compares.
type journal struct {
	f        *os.File
	size     int64
	pageSize int64
	pages    int64           // that the file had
	before   map[int64]int64 // where the journal has a page as it was, by its number from 0
}

const (
	journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
	// leastSector is the size of a sector as long as no header says more.
	leastSector  = 512
	journalCheck = 200 // each so manieth byte of a page is in its checksum
	allRecords   = 0xffffffff
)

// errJournal is wrapped by errors that say why the journal beside a session is not believed.
var errJournal = fmt.Errorf("%w: the journal beside it cannot be trusted", ErrCorrupt)

// journalPart is a header of a journal: records follow it.
type journalPart struct {
	records, nonce, pages, sector, pageSize uint32
}

// findJournal returns the journal to read with a file that is locked, nil if there is none: also while a writer is at
// work that has not changed the file yet. Its records are not in memory.
func findJournal(f *os.File, info fs.FileInfo, path string) (*journal, error) {
	if isReserved(f) {
		return nil, nil
	}
	path, err := journalOf(path)
	if err != nil {
		return nil, openError(path, err)
	}
	of, err := openJournal(path, info)
	if err != nil || of == nil {
		return nil, err
	}
	j := &journal{f: of, before: map[int64]int64{}}
	hot, err := j.load(info.Size())
	if err != nil || !hot {
		return nil, errors.Join(err, of.Close())
	}
	return j, nil
}

// openJournal opens the journal at path of a session; nil: there is none. It must be a regular file, no link, and
// belong to whom the session belongs, or to who runs this: in a folder that others can write to, anybody can make one.
func openJournal(path string, of fs.FileInfo) (*os.File, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a regular file: remove it", errJournal, path)
	}
	f, err := openfile.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) { // the writer has just removed it
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !isTrusted(info, of) {
		err = fmt.Errorf("%w: %s belongs to another user: copy the session without it to a folder of your own",
			errJournal, path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isTrusted reports whether a journal belongs to a user who could change the session anyway.
func isTrusted(journal, of fs.FileInfo) bool {
	owner, ok := journal.Sys().(*syscall.Stat_t)
	session, alsoOK := of.Sys().(*syscall.Stat_t)
	return ok && alsoOK && (owner.Uid == session.Uid || owner.Uid == 0 || int(owner.Uid) == os.Geteuid())
}

// load finds the pages in the journal of a file of so many bytes. It reports false if there is nothing to roll back.
func (j *journal) load(fileSize int64) (hot bool, err error) {
	info, err := j.f.Stat()
	if err != nil {
		return false, err
	}
	if j.size = info.Size(); j.size == 0 {
		return false, nil
	}
	if err := j.checkEnd(); err != nil {
		return false, err
	}
	sector := int64(leastSector)
	first, ok, err := j.part(0, sector)
	if err == nil && ok && first.pageSize == 0 { // the journals of SQLite before 3.6 (2008) were so
		err = fmt.Errorf("%w: %s was made by another program: copy the session without it", errJournal, j.f.Name())
	}
	if err != nil || !ok || !first.plausible() {
		return false, err
	}
	sector, j.pageSize, j.pages = int64(first.sector), int64(first.pageSize), int64(first.pages)
	at := int64(0)
	for part := first; ok && err == nil; {
		whole := false
		if at, whole, err = j.records(part, at+sector); !whole {
			break
		}
		at = (at + sector - 1) / sector * sector
		part, ok, err = j.part(at, sector)
	}
	if err != nil {
		return false, err
	}
	return true, j.checkWhole(fileSize)
}

// checkEnd refuses a journal that names a "super-journal", of a commit to several files: SQLite would delete that file.
func (j *journal) checkEnd() error {
	end := make([]byte, len(journalMagic))
	if j.size < int64(len(end)) {
		return nil
	}
	if _, err := j.f.ReadAt(end, j.size-int64(len(end))); err != nil {
		return err
	}
	if string(end) == journalMagic {
		return fmt.Errorf("%w: %s names another file, as no journal of clrprof does: copy the session without it",
			errJournal, j.f.Name())
	}
	return nil
}

// part reads the header at an offset; false: there is none.
func (j *journal) part(at, sector int64) (p journalPart, ok bool, err error) {
	if at+sector > j.size {
		return p, false, nil
	}
	b := make([]byte, 28)
	if _, err := j.f.ReadAt(b, at); err != nil {
		return p, false, err
	}
	number := func(i int) uint32 { return binary.BigEndian.Uint32(b[i:]) }
	p = journalPart{records: number(8), nonce: number(12), pages: number(16), sector: number(20), pageSize: number(24)}
	return p, string(b[:8]) == journalMagic, nil
}

// plausible reports whether the sizes can be those of a journal.
func (p journalPart) plausible() bool {
	power := func(n, least, most uint32) bool { return n >= least && n <= most && n&(n-1) == 0 }
	return power(p.pageSize, 512, 1<<16) && power(p.sector, 32, 1<<16)
}

// records finds the pages from an offset on that follow a header. It returns where they end, and whether more can
// follow: after one that was cut off there is nothing to be believed.
func (j *journal) records(p journalPart, at int64) (end int64, whole bool, err error) {
	length := j.pageSize + 8 // number, page, checksum
	count := int64(p.records)
	if p.records == allRecords {
		count = (j.size - int64(p.sector)) / length
	}
	b := make([]byte, length)
	for range count {
		if at+length > j.size {
			return at, false, nil
		}
		if _, err := j.f.ReadAt(b, at); err != nil {
			return at, false, err
		}
		page := b[4 : 4+j.pageSize]
		number := int64(binary.BigEndian.Uint32(b))
		switch {
		case number == 0, number == pendingByte/j.pageSize+1:
			return j.size, true, nil
		case number > j.pages: // came with the commit
		case checksum(p.nonce, page) != binary.BigEndian.Uint32(b[4+j.pageSize:]):
			return j.size, true, nil
		default:
			j.before[number-1] = at + 4
		}
		at += length
	}
	return at, true, nil
}

// checksum is that of a page in a journal.
func checksum(nonce uint32, page []byte) uint32 {
	for i := len(page) - journalCheck; i > 0; i -= journalCheck {
		nonce += uint32(page[i])
	}
	return nonce
}

// checkWhole checks that each page that the file had is in it, or in the journal.
func (j *journal) checkWhole(fileSize int64) error {
	have, missing := fileSize/j.pageSize, int64(0)
	if j.pages > have {
		missing = j.pages - have
		for page := range j.before {
			if page >= have {
				missing--
			}
		}
	}
	if missing > 0 {
		return truncated(fileSize, j.pages*j.pageSize)
	}
	return nil
}

// readPage reads a part of a page.
func (j *journal) readPage(f *os.File, b []byte, at int64) (int, error) {
	in, of := io.ReaderAt(f), at
	if start, ok := j.before[at/j.pageSize]; ok {
		in, of = j.f, start+at%j.pageSize
	}
	return in.ReadAt(b, of)
}
