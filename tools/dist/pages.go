package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/clrprof/clrprof/internal/cli"
)

// manPages returns a page of the manual for each command, of what its help says.
func (r *release) manPages() ([]file, error) {
	folder := filepath.Join(r.stage, "man")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	root := cli.Commands()
	quiet(root)
	err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &r.time, Source: "clrprof " + r.version,
		Manual: "clrprof"}, folder)
	if err != nil {
		return nil, fmt.Errorf("making the manual: %w", err)
	}
	pages, err := read(folder, "share/man/man1/")
	if err != nil {
		return nil, fmt.Errorf("reading the manual: %w", err)
	}
	for i, p := range pages {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(p.content)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("compressing %s: %w", p.path, err)
		}
		pages[i].path, pages[i].content = p.path+".gz", b.Bytes()
	}
	return pages, nil
}

// quiet leaves out the line that says which library made a page, and when.
func quiet(c *cobra.Command) {
	c.DisableAutoGenTag = true
	for _, sub := range c.Commands() {
		quiet(sub)
	}
}

// completions returns what shells read to complete commands, where each looks for it.
func completions() ([]file, error) {
	var files []file
	for _, shell := range []struct {
		path  string
		write func(*cobra.Command, *bytes.Buffer) error
	}{
		{"share/bash-completion/completions/clrprof", func(c *cobra.Command, b *bytes.Buffer) error {
			return c.GenBashCompletionV2(b, true)
		}},
		{"share/zsh/site-functions/_clrprof", func(c *cobra.Command, b *bytes.Buffer) error {
			return c.GenZshCompletion(b)
		}},
		{"share/fish/vendor_completions.d/clrprof.fish", func(c *cobra.Command, b *bytes.Buffer) error {
			return c.GenFishCompletion(b, true)
		}},
	} {
		var b bytes.Buffer
		if err := shell.write(cli.Commands(), &b); err != nil {
			return nil, fmt.Errorf("making %s: %w", shell.path, err)
		}
		files = append(files, file{path: shell.path, content: b.Bytes(), mode: 0o644})
	}
	return files, nil
}
