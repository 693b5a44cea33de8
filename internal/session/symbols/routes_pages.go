package symbols

import (
	"strings"
	"unicode"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// Names of Razor Pages.
const (
	pageKind     = "mvc.1.0.razor-page" // in the attribute of a compiled page
	compiledItem = aspNetCore + "Razor.Hosting.RazorCompiledItemAttribute"
	itemMetadata = aspNetCore + "Razor.Hosting.RazorCompiledItemMetadataAttribute"
	pageModel    = aspNetCore + "Mvc.RazorPages.PageModel"
)

// addPages adds the handlers of the Razor Pages that are compiled into a file.
func (m *routeMapper) addPages(f *moduleFile) {
	for _, a := range f.meta.TextAttributes(clrmeta.MakeToken(clrmeta.TableAssembly, 1)) {
		_, name, err := f.named(a.Type)
		if err != nil || name.String() != compiledItem || len(a.Texts) != 3 || a.Texts[1] != pageKind {
			continue
		}
		class, _, _ := strings.Cut(a.Texts[0], ",")
		page, ok := m.typesOf(f)[class]
		if !ok {
			continue
		}
		for _, text := range pageRoutes(a.Texts[2], f.pageTemplate(page)) {
			m.addHandlers(m.handlersOf(definition{f, page}), text)
		}
	}
}

// typesOf returns the types of a file by name.
func (m *routeMapper) typesOf(f *moduleFile) map[string]clrmeta.Token {
	if m.types == nil || m.typesFile != f {
		m.types, m.typesFile = f.meta.Types(), f
	}
	return m.types
}

// pageTemplate returns what follows @page in the source of a page.
func (f *moduleFile) pageTemplate(page clrmeta.Token) string {
	for _, a := range f.meta.TextAttributes(page) {
		if _, name, err := f.named(a.Type); err == nil && name.String() == itemMetadata && len(a.Texts) == 2 &&
			a.Texts[0] == "RouteTemplate" {
			return a.Texts[1]
		}
	}
	return ""
}

// pageRoutes returns the routes of a page by the path of its source: one, and that of its folder if it is called Index.
// None: it is not in the folder of pages.
func pageRoutes(path, template string) []string {
	path = strings.TrimSuffix(path, ".cshtml")
	area, rest, ok := strings.Cut(strings.TrimPrefix(path, "/Areas/"), "/Pages/")
	if ok && !strings.Contains(area, "/") && strings.HasPrefix(path, "/Areas/") {
		path = area + "/" + rest
	} else if path, ok = strings.CutPrefix(path, "/Pages/"); !ok {
		return nil
	}
	if strings.HasPrefix(template, "/") || strings.HasPrefix(template, "~/") {
		return []string{below("", strings.TrimPrefix(template, "~"))}
	}
	out := []string{below("", path, template)}
	folder, last := "", path
	if at := strings.LastIndex(path, "/"); at >= 0 {
		folder, last = path[:at], path[at+1:]
	}
	if strings.EqualFold(last, "Index") {
		out = append(out, below("", folder, template))
	}
	return out
}

// handlersOf returns the type with the handlers of a page: its model if that extends PageModel, and else itself.
func (m *routeMapper) handlersOf(page definition) definition {
	methods, _ := page.file.meta.Methods(page.token)
	for _, method := range methods {
		row, err := page.file.meta.Method(method)
		if err != nil || row.Name != "get_Model" {
			continue
		}
		sig, err := clrmeta.ParseMethodSig(row.Signature)
		if err != nil || sig.Return.Kind != clrmeta.Class {
			break
		}
		token, name, err := page.file.named(sig.Return.Token)
		if err != nil {
			break
		}
		model, ok := m.r.define(page.file, token, name)
		at := model
		for range maxBases {
			if !ok {
				return page
			}
			base, name, err := baseOf(at)
			if err != nil || base == 0 {
				return page
			}
			if name.String() == pageModel {
				return model
			}
			at, ok = m.r.define(at.file, base, name)
		}
	}
	return page
}

// addHandlers adds the handlers of a type and what it extends for a route.
func (m *routeMapper) addHandlers(at definition, text string) {
	for range maxBases {
		methods, _ := at.file.meta.Methods(at.token)
		for _, method := range methods {
			row, err := at.file.meta.Method(method)
			if err != nil || !at.file.isAnswering(method) || at.file.isNoHandler(method) {
				continue
			}
			if verb, handler, ok := parseHandler(row.Name); ok {
				m.pages.maps = append(m.pages.maps, mapped{to: definition{at.file, method}, verb: verb,
					text: withHandler(text, handler)})
			}
		}
		base, name, err := baseOf(at)
		if err != nil || base == 0 || strings.HasPrefix(name.Namespace, aspNetCore) {
			return
		}
		var ok bool
		if at, ok = m.r.define(at.file, base, name); !ok {
			return
		}
	}
}

// isNoHandler reports whether a method is marked as none.
func (f *moduleFile) isNoHandler(method clrmeta.Token) bool {
	for _, a := range f.meta.TextAttributes(method) {
		if _, name, err := f.named(a.Type); err == nil &&
			name.String() == aspNetCore+"Mvc.RazorPages.NonHandlerAttribute" {
			return true
		}
	}
	return false
}

// parseHandler takes the name of a handler apart as Razor Pages do: OnPostDeleteAsync answers POST, and is called
// Delete.
func parseHandler(name string) (verb, handler string, ok bool) {
	name, ok = strings.CutPrefix(strings.TrimSuffix(name, "Async"), "On")
	if !ok || name == "" {
		return "", "", false
	}
	end := len(name)
	if at := strings.IndexFunc(name[1:], unicode.IsUpper); at >= 0 {
		end = at + 1
	}
	return strings.ToUpper(name[:end]), name[end:], true
}

// withHandler is a route with the name of a handler: in its place, or in the query.
func withHandler(text, handler string) string {
	if handler == "" {
		return text
	}
	for _, place := range []string{"{handler}", "{handler?}"} {
		if strings.Contains(text, place) {
			return strings.Replace(text, place, handler, 1)
		}
	}
	return text + "?handler=" + handler
}
