package sessiontest

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Recorded are the sessions in testdata/sessions, which a program on real runtimes made.
var Recorded = []string{"net10", "net10-time", "netcore31", "netcore31-time"}

// WriteRecorded writes a recorded session to a file. root is the repository's.
func WriteRecorded(root, name, path string) (err error) {
	from, err := os.Open(filepath.Join(root, "testdata", "sessions", name+".clrprof.gz"))
	if err != nil {
		return err
	}
	defer from.Close()
	zip, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, zip)
	return errors.Join(err, to.Close())
}
