package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// groups is the order of the pages: documents, or patterns of them. What an earlier group has is not in a later one.
var groups = []struct {
	title    string
	patterns []string
}{
	{"Start", []string{"README.md", "docs/install.md", "docs/tour.md", "docs/trust.md"}},
	{"Guides", []string{"docs/guides/README.md", "docs/guides/*.md"}},
	{"Samples", []string{"samples/*/README.md"}},
	{"Contribute", []string{"CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md", "docs/style.md",
		"docs/testing.md", "docs/glossary.md", "docs/dependencies.md", "docs/wire.md", "agent/README.md",
		"bench/RESULTS.md", "docs/howto/*.md"}},
	{"Designs", []string{"docs/design/*.md"}},
	{"Reference", []string{"docs/cli.md", "docs/metrics.md", "docs/*.md", "integrations/README.md", "integrations/*/README.md"}},
}

// shownBefore is the group before which the reference is shown: it is the last of the list because it takes what is left.
const reference, shownBefore = "Reference", "Contribute"

// home is the document that the site begins with.
const home = "README.md"

// page is a document.
type page struct {
	source   string // its path in the repository
	title    string
	tree     ast.Node
	text     []byte // that the tree is of
	headings []heading
	anchors  []string // ids in the HTML that it has
}

// heading is one of a page, with the text below it.
type heading struct {
	id, title string
	text      string
}

// target is where the page is in the site.
func (p *page) target() string {
	if p.source == home {
		return "index.html"
	}
	return strings.TrimSuffix(p.source, ".md") + ".html"
}

// section is a group of pages in the list of all.
type section struct {
	Title string
	Pages []*page
}

// site is all documents.
type site struct {
	repository fs.FS
	markdown   goldmark.Markdown
	pages      map[string]*page // by source
	sections   []section
}

func newSite(repository fs.FS) (*site, error) {
	s := &site{repository: repository, pages: map[string]*page{}, markdown: goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		// The documents are ours, and have HTML where Markdown has nothing: pictures for light and dark pages.
		goldmark.WithRendererOptions(html.WithUnsafe()))}
	for _, g := range groups {
		sec := section{Title: g.title}
		for _, pattern := range g.patterns {
			found, err := fs.Glob(repository, pattern)
			if err != nil {
				return nil, fmt.Errorf("looking for documents: %w", err)
			}
			for _, name := range found {
				if s.pages[name] != nil {
					continue
				}
				p, err := s.read(name)
				if err != nil {
					return nil, err
				}
				s.pages[name], sec.Pages = p, append(sec.Pages, p)
			}
		}
		at := len(s.sections)
		if g.title == reference {
			at = slices.IndexFunc(s.sections, func(other section) bool { return other.Title == shownBefore })
		}
		if len(sec.Pages) > 0 {
			s.sections = slices.Insert(s.sections, max(at, 0), sec)
		}
	}
	if s.pages[home] == nil {
		return nil, fmt.Errorf("there is no %s: is this the repository?", home)
	}
	return s, nil
}

// read parses a document, gives its headings ids as GitHub does, and notes the text below each.
func (s *site) read(name string) (*page, error) {
	b, err := fs.ReadFile(s.repository, name)
	if err != nil {
		return nil, fmt.Errorf("reading a document: %w", err)
	}
	p := &page{source: name, text: b, tree: s.markdown.Parser().Parse(text.NewReader(b), parser.WithContext(parser.NewContext()))}
	seen := map[string]int{}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, isHeading := n.(*ast.Heading)
		words := plain(n, b)
		if !isHeading {
			if len(p.headings) > 0 {
				last := &p.headings[len(p.headings)-1]
				last.text = strings.TrimSpace(last.text + " " + words)
			}
			continue
		}
		id := slug(words)
		if n := seen[id]; n > 0 {
			seen[id]++
			id = fmt.Sprintf("%s-%d", id, n)
		} else {
			seen[id] = 1
		}
		h.SetAttributeString("id", []byte(id))
		p.headings = append(p.headings, heading{id: id, title: words})
	}
	for _, m := range anchorIn.FindAllSubmatch(b, -1) {
		p.anchors = append(p.anchors, string(m[1]))
	}
	if len(p.headings) == 0 {
		return nil, fmt.Errorf("%s has no heading", name)
	}
	p.title = p.headings[0].title
	return p, nil
}

// anchorIn finds places that documents name for links beside their headings.
var anchorIn = regexp.MustCompile(`<a id="([^"]+)">`)

// has reports whether a link can lead to a place of the page.
func (p *page) has(id string) bool {
	return slices.Contains(p.anchors, id) || slices.ContainsFunc(p.headings, func(h heading) bool { return h.id == id })
}

// slug returns the id that GitHub gives to a heading: lower case, without marks, with hyphens for spaces.
func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z', r > 127 && r != '…' && r != '›' && r != '—':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain returns the words of a node and all below it, with single spaces.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			if n.Type() == ast.TypeBlock || n.Kind() == extensionCell {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// relative returns the path from a page of the site to another file of it.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(path.Dir(from)+"/", "/"))
	if path.Dir(from) == "." {
		up = ""
	}
	return up + to
}
