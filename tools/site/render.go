package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// extensionCell is what a cell of a table is to the parser.
var extensionCell = extast.KindTableCell

// sources is where files are shown that are no pages.
const sources = "https://github.com/clrprof/clrprof/blob/main/"

// pictureIn finds pictures in HTML that documents have.
var pictureIn = regexp.MustCompile(`(?:src|srcset)="([^"]+)"`)

// shown is what the layout shows.
type shown struct {
	Title    string
	Body     template.HTML
	Base     string // from the page to the root of the site
	Sections []shownSection
	Headings []heading
}

type shownSection struct {
	Title string
	Open  bool
	Links []shownLink
}

type shownLink struct {
	Title, Address string
	Current        bool
}

// ID and Name are for the layout.
func (h heading) ID() string   { return h.id }
func (h heading) Name() string { return h.title }

// files returns the files of the site by their paths in it. The error names all links that lead nowhere.
func (s *site) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	var wrong []error
	for _, sec := range s.sections {
		for _, p := range sec.Pages {
			content, pictures, err := s.render(p)
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			files[p.target()] = content
			for _, name := range pictures {
				b, err := fs.ReadFile(s.repository, name)
				if err != nil {
					wrong = append(wrong, fmt.Errorf("%s: picture %s: %w", p.source, name, err))
					continue
				}
				files[name] = b
			}
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	index, err := s.index()
	if err != nil {
		return nil, err
	}
	files[marker] = index
	for _, name := range []string{"style.css", "search.js"} {
		if files[name], err = assets.ReadFile("assets/" + name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// render returns a page as HTML, and the pictures that it shows.
func (s *site) render(p *page) (content []byte, pictures []string, err error) {
	var wrong []error
	err = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			to, err := s.link(p, string(n.Destination))
			wrong, n.Destination = append(wrong, err), []byte(to)
		case *ast.Image:
			pictures = append(pictures, path.Join(path.Dir(p.source), string(n.Destination)))
		case *ast.HTMLBlock:
			pictures = append(pictures, inHTML(p, n.Lines().Value(p.text))...)
		case *ast.RawHTML:
			pictures = append(pictures, inHTML(p, n.Segments.Value(p.text))...)
		}
		return ast.WalkContinue, nil
	})
	if err := errors.Join(append(wrong, err)...); err != nil {
		return nil, nil, err
	}
	var body, out bytes.Buffer
	if err := s.markdown.Renderer().Render(&body, p.text, p.tree); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.source, err)
	}
	err = layout.Execute(&out, shown{Title: p.title, Body: template.HTML(body.String()), Base: relative(p.target(), ""),
		Sections: s.list(p), Headings: p.headings[1:]})
	return out.Bytes(), slices.Compact(slices.Sorted(slices.Values(pictures))), err
}

func inHTML(p *page, html []byte) (pictures []string) {
	for _, m := range pictureIn.FindAllSubmatch(html, -1) {
		pictures = append(pictures, path.Join(path.Dir(p.source), string(m[1])))
	}
	return pictures
}

// list returns the links to all pages, as they are from one of them.
func (s *site) list(from *page) []shownSection {
	var list []shownSection
	for _, sec := range s.sections {
		shown := shownSection{Title: sec.Title}
		for _, p := range sec.Pages {
			shown.Links = append(shown.Links, shownLink{p.title, relative(from.target(), p.target()), p == from})
			shown.Open = shown.Open || p == from
		}
		list = append(list, shown)
	}
	return list
}

// link returns where a link of a document leads in the site: to a page, to a file of the repository, or elsewhere.
func (s *site) link(from *page, destination string) (string, error) {
	u, err := url.Parse(destination)
	if err != nil {
		return "", fmt.Errorf("%s: link %s: %w", from.source, destination, err)
	}
	if u.IsAbs() {
		return destination, nil
	}
	name := from.source
	if u.Path != "" {
		name = path.Join(path.Dir(from.source), u.Path)
	}
	to := s.pages[name]
	if to == nil {
		info, err := fs.Stat(s.repository, name)
		if err != nil {
			return "", fmt.Errorf("%s links to %s, which does not exist", from.source, destination)
		}
		if info.IsDir() {
			return strings.Replace(sources, "/blob/", "/tree/", 1) + name, nil
		}
		return sources + name, nil
	}
	if u.Fragment != "" && !to.has(u.Fragment) {
		return "", fmt.Errorf("%s links to %s, but %s has no such heading", from.source, destination, name)
	}
	address := ""
	if to != from {
		address = relative(from.target(), to.target())
	}
	if u.Fragment != "" {
		address += "#" + u.Fragment
	}
	if address == "" {
		address = "#"
	}
	return address, nil
}

// maxText is how much of a section the search knows: the first paragraphs of the longest ones say what they are about,
// and the index stays below a megabyte.
const maxText = 4000

// index returns what the search looks at: for each heading its page, its title and the text below it.
func (s *site) index() ([]byte, error) {
	type entry struct {
		Page    string `json:"p"`
		Title   string `json:"t"`
		Heading string `json:"h"`
		Text    string `json:"x"`
	}
	var entries []entry
	for _, sec := range s.sections {
		for _, p := range sec.Pages {
			for i, h := range p.headings {
				address := p.target()
				if i > 0 {
					address += "#" + h.id
				}
				short := h.text
				if len(short) > maxText {
					short = strings.ToValidUTF8(short[:maxText], "")
				}
				entries = append(entries, entry{address, p.title, h.title, short})
			}
		}
	}
	b, err := json.Marshal(entries)
	return append(append([]byte("const searchIndex = "), b...), ";\n"...), err
}
