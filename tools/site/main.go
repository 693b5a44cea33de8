// Command site makes a static site of the documents, with a search that runs in the browser. It needs no network, and the
// same documents give the same bytes. Usage, in its folder ("make site" does it):
//
//	go run . [-root FOLDER] [-o FOLDER]
//
// A link to a file, a heading or a picture that does not exist is an error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", filepath.Join("..", ".."), "root of the repository")
	out := flag.String("o", filepath.Join("..", "..", "bin", "site"), "folder for the site; an earlier one in it goes")
	flag.Parse()
	count, err := build(*root, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: %s\n", count, filepath.Join(*out, "index.html"))
}

// marker is a file that each site has: a folder with other files and without it is no earlier site.
const marker = "search-index.js"

// build makes the site, and returns how many pages it has.
func build(root, out string) (int, error) {
	repository, err := os.OpenRoot(root)
	if err != nil {
		return 0, fmt.Errorf("opening the repository: %w", err)
	}
	defer repository.Close()
	s, err := newSite(repository.FS())
	if err != nil {
		return 0, err
	}
	files, err := s.files()
	if err != nil {
		return 0, err
	}
	if err := empty(out); err != nil {
		return 0, err
	}
	for name, content := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return 0, fmt.Errorf("making a folder: %w", err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return 0, fmt.Errorf("writing the site: %w", err)
		}
	}
	return len(s.pages), nil
}

// empty removes an earlier site, and nothing else.
func empty(out string) error {
	entries, err := os.ReadDir(out)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", out, err)
	}
	if _, err := os.Stat(filepath.Join(out, marker)); err != nil {
		return fmt.Errorf("%s has files that are no site: choose a folder for the site alone", out)
	}
	if err := os.RemoveAll(out); err != nil {
		return fmt.Errorf("removing an earlier site: %w", err)
	}
	return nil
}
