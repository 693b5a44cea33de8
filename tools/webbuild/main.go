// Command webbuild makes the page of `clrprof view` from web/src: it bundles TypeScript and its packages with esbuild,
// checks the types with the TypeScript compiler, and writes internal/present/web/dist, which is committed so that building
// clrprof needs no network. It is a module of its own, as the shipped binary contains neither. Usage, in its folder:
//
//	go run . [-check | -print FILE]
//
// With -check nothing is written, and a bundle that differs from the committed one is an error. With -print a file of
// web/src is bundled by itself and printed, for tests: what it exports are the members of the global "tested".
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// maxPage is how large the page may be, compressed.
const maxPage = 150_000

// banner is what the licences of the packages ask for.
const banner = "/*! clrprof. Contains Preact (MIT, Jason Miller), Preact Signals (MIT, Preact Team), uPlot (MIT, " +
	"Leon Sorokin). " +
	"The MIT licence: https://opensource.org/license/mit */"

func main() {
	check := flag.Bool("check", false, "compare with the committed bundle instead of writing it")
	one := flag.String("print", "", "print the bundle of this file of web/src alone, for tests")
	flag.Parse()
	if err := run("../..", *check, *one); err != nil {
		fmt.Fprintln(os.Stderr, "webbuild:", err)
		os.Exit(1)
	}
}

func run(root string, check bool, one string) error {
	packages, err := fetchAll()
	if err != nil {
		return err
	}
	source := filepath.Join(root, "web", "src")
	if one != "" {
		return printOne(packages, source, one)
	}
	if err := checkTypes(packages, source); err != nil {
		return err
	}
	files, err := bundle(packages, source)
	if err != nil {
		return err
	}
	size := 0
	for name, b := range files {
		n, err := compressed(b)
		if err != nil {
			return err
		}
		size += n
		path := filepath.Join(root, "internal", "present", "web", "dist", name)
		if !check {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				return fmt.Errorf("writing the bundle: %w", err)
			}
			continue
		}
		if committed, err := os.ReadFile(path); err != nil || !bytes.Equal(committed, b) {
			return fmt.Errorf("%s is not what web/src makes: run make web and commit it (%w)", path,
				errors.Join(err, errDiffers))
		}
	}
	fmt.Printf("webbuild: %d bytes compressed\n", size)
	if size > maxPage {
		return fmt.Errorf("the page has %d bytes compressed, more than %d", size, maxPage)
	}
	return nil
}

var errDiffers = errors.New("the bundle differs")

// printOne prints the bundle of one file.
func printOne(packages, source, file string) error {
	absolute, err := filepath.Abs(source)
	if err != nil {
		return fmt.Errorf("finding the sources: %w", err)
	}
	o := options(packages, absolute, file)
	o.GlobalName = "tested"
	b, err := build(o)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(b)
	return err
}

// options are those of a bundle.
func options(packages, source, file string) api.BuildOptions {
	return api.BuildOptions{
		EntryPoints: []string{filepath.Join(source, file)}, AbsWorkingDir: source,
		NodePaths: []string{packages},
		Bundle:    true, Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetUTF8,
		Conditions: []string{"browser"},
		JSX:        api.JSXAutomatic, JSXImportSource: "preact", LegalComments: api.LegalCommentsNone,
		Banner:           map[string]string{"js": banner, "css": banner},
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
	}
}

// build makes a bundle.
func build(o api.BuildOptions) ([]byte, error) {
	r := api.Build(o)
	for _, e := range r.Errors {
		where := ""
		if e.Location != nil {
			where = fmt.Sprintf("%s:%d: ", e.Location.File, e.Location.Line)
		}
		return nil, fmt.Errorf("bundling: %s%s", where, e.Text)
	}
	return r.OutputFiles[0].Contents, nil
}

// bundle returns the files of the page by name.
func bundle(packages, source string) (map[string][]byte, error) {
	absolute, err := filepath.Abs(source)
	if err != nil {
		return nil, fmt.Errorf("finding the sources: %w", err)
	}
	out := map[string][]byte{}
	for _, entry := range []struct{ from, to string }{{"main.tsx", "app.js"}, {"style.css", "app.css"}} {
		if out[entry.to], err = build(options(packages, absolute, entry.from)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkTypes runs the TypeScript compiler, which reports what is wrong itself.
func checkTypes(packages, source string) error {
	absolute, err := filepath.Abs(source)
	if err != nil {
		return fmt.Errorf("finding the sources: %w", err)
	}
	config := fmt.Sprintf(
		`{"compilerOptions":{"strict":true,"noEmit":true,"target":"es2022","module":"esnext","moduleResolution":"bundler","jsx":"react-jsx",
"jsxImportSource":"preact","lib":["es2023","dom","dom.iterable"],"skipLibCheck":true,"noUnusedLocals":true,"noUnusedParameters":true,"types":[],
"paths":{"*":[%q]}},"include":[%q]}`, filepath.Join(packages, "*"), filepath.Join(absolute, "**/*"))
	path := filepath.Join(packages, "tsconfig.json")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		return fmt.Errorf("writing the compiler's options: %w", err)
	}
	cmd := exec.Command(filepath.Join(packages, "@typescript", "typescript-linux-x64", "lib", "tsc"), "-p", path)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("checking the types: %w", err)
	}
	return nil
}

func compressed(b []byte) (int, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return 0, fmt.Errorf("compressing: %w", err)
	}
	if _, err := w.Write(b); err != nil {
		return 0, fmt.Errorf("compressing: %w", err)
	}
	if err := w.Close(); err != nil {
		return 0, fmt.Errorf("compressing: %w", err)
	}
	return out.Len(), nil
}
