package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// number is a constant of package wire that both sides need.
type number struct {
	name  string // of the C macro, without its prefix
	value uint64
	doc   string // of Go's declaration, in one line
}

// numbers returns the exported integer constants of the package in dir, in the order of their declarations; files are
// ordered by name. Their comments are the only description of them: C and the document have it from here.
func numbers(dir string) ([]number, error) {
	set := token.NewFileSet()
	files, err := parse(set, dir)
	if err != nil {
		return nil, err
	}
	info := types.Info{Defs: map[*ast.Ident]types.Object{}}
	// No constant depends on another package, so what is imported need not be found.
	config := types.Config{Error: func(error) {}}
	_, _ = config.Check("wire", set, files, &info)
	var all []number
	for _, f := range files {
		for _, d := range f.Decls {
			if group, ok := d.(*ast.GenDecl); ok && group.Tok == token.CONST {
				more, err := ofGroup(group, &info)
				if err != nil {
					return nil, err
				}
				all = append(all, more...)
			}
		}
	}
	return all, nil
}

// parse returns the files of the package in dir without its tests, ordered by name.
func parse(set *token.FileSet, dir string) (files []*ast.File, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("looking for package wire: %w", err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading package wire: %w", err)
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no Go file in %s", dir)
	}
	return files, nil
}

// ofGroup returns the numbers that a declaration has.
func ofGroup(group *ast.GenDecl, info *types.Info) (all []number, err error) {
	for _, spec := range group.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, id := range spec.Names {
			c, ok := info.Defs[id].(*types.Const)
			if !ok || !id.IsExported() {
				continue
			}
			value := constant.ToInt(c.Val())
			if value.Kind() != constant.Int {
				continue // a text
			}
			n, exact := constant.Uint64Val(value)
			if !exact {
				return nil, fmt.Errorf("constant %s has the value %s, which is no unsigned number of 64 bits", id.Name, value)
			}
			doc := comments(spec.Comment, spec.Doc)
			if doc == "" && !group.Lparen.IsValid() {
				doc = strings.TrimPrefix(strings.TrimPrefix(comments(group.Doc), id.Name+" "), "is ")
			}
			all = append(all, number{name: macro(id.Name), value: n, doc: doc})
		}
	}
	return all, nil
}

// comments returns what comments say, in one line.
func comments(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g != nil {
			return strings.Join(strings.Fields(g.Text()), " ")
		}
	}
	return ""
}

// irregular are names that would not be told apart from words by their capitals.
var irregular = strings.NewReplacer("IPs", "Ips", "IPOSR", "IpOsr")

// macro returns the name of a C macro, without its prefix: MAX_IL_MAP for MaxILMap. The kinds of records are RECORD_.
func macro(name string) string {
	if kind, ok := strings.CutPrefix(name, "Kind"); ok {
		name = "Record" + kind
	}
	return strings.ToUpper(snake(irregular.Replace(name)))
}
