package symbols

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/session"
)

// route is which requests of ASP.NET Core a method answers.
type route struct {
	verb     string // "": any
	template string
}

// String writes a route as people do: GET /orders/{id}.
func (r route) String() string {
	if r.verb == "" {
		return r.template
	}
	return r.verb + " " + r.template
}

// aspNetCore begins the names of the assemblies and namespaces of ASP.NET Core.
const aspNetCore = "Microsoft.AspNetCore."

// routes are what the code of user modules says of routes.
type routes struct {
	mapped      map[definition][]route             // by method
	conventions map[session.ProcessID][]convention // of the modules that a process loaded
	heirs       map[definition][]definition        // controllers by the classes of user code that they extend
}

// routeOf returns the routes of a function of user code, or of the method that it is the state machine of; "": none is
// known.
func (r *resolver) routeOf(f *moduleFile, row *session.Function) string {
	if f.meta == nil || row.Kind != session.FunctionMethod || !r.isUser(row.Module) || !f.isWeb() {
		return ""
	}
	if r.routes == nil {
		r.routes = r.findRoutes()
	}
	method := f.written(row)
	found := slices.Concat(r.routes.mapped[definition{f, method}],
		r.actionRoutes(f, method, r.routes.conventions[row.Process]))
	text := make([]string, 0, len(found))
	for _, route := range found {
		text = append(text, route.String())
	}
	slices.Sort(text)
	text = slices.Compact(text)
	return strings.Join(text[:min(len(text), maxRoutes)], session.RouteSeparator)
}

// findRoutes reads the code of all user modules that refer to ASP.NET Core or gRPC, in the order of the session.
func (r *resolver) findRoutes() *routes {
	out := &routes{map[definition][]route{}, map[session.ProcessID][]convention{}, map[definition][]definition{}}
	if !r.in.ReadCode {
		return out
	}
	m := &routeMapper{r: r, edges: map[parameter][]builder{}}
	conventions := map[*moduleFile][]convention{}
	for i := range r.out.Modules {
		module := &r.out.Modules[i]
		f := r.moduleFiles[module.ID]
		if _, done := conventions[f]; !done && f != nil && f.meta != nil && r.isUser(module.ID) && f.isWeb() {
			conventions[f] = nil
			m.read(f)
			r.findHeirs(f, out.heirs)
		}
	}
	for _, all := range []mappedOn{m.pages, m.components} {
		for _, on := range all.on {
			for _, x := range all.maps {
				x.on = on
				m.maps = append(m.maps, x)
			}
		}
	}
	for _, x := range m.maps {
		for _, prefix := range m.prefixes(x.on) {
			out.mapped[x.to] = append(out.mapped[x.to], route{x.verb, below(prefix, x.text) + x.method})
		}
	}
	for _, c := range m.conventions {
		for _, prefix := range m.prefixes(c.on) {
			of := c
			of.template = below(prefix, c.template)
			conventions[c.on.file] = append(conventions[c.on.file], of)
		}
	}
	for i := range r.out.Modules {
		module := &r.out.Modules[i]
		if of := conventions[r.moduleFiles[module.ID]]; len(of) > 0 && r.isUser(module.ID) {
			out.conventions[module.Process] = append(out.conventions[module.Process], of...)
		}
	}
	return out
}

func (r *resolver) isUser(id session.ModuleID) bool {
	if r.users == nil {
		r.users = make(map[session.ModuleID]bool, len(r.out.Modules))
		for i := range r.out.Modules {
			m := &r.out.Modules[i]
			r.users[m.ID] = usercode.Origin(m.Origin).IsUser()
		}
	}
	return r.users[id]
}

// isWeb reports whether a module refers to ASP.NET Core, or to gRPC.
func (f *moduleFile) isWeb() bool {
	if f.web == unknownYet {
		f.web = isNot
		if f.refersTo(aspNetCore) || f.refersTo(grpc) {
			f.web = is
		}
	}
	return f.web == is
}

// refersTo reports whether a module refers to an assembly whose name begins with something.
func (f *moduleFile) refersTo(prefix string) bool {
	for row := uint32(1); row <= f.meta.Rows(clrmeta.TableAssemblyRef); row++ {
		name, err := f.meta.AssemblyRefName(clrmeta.MakeToken(clrmeta.TableAssemblyRef, row))
		if err == nil && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// below is a route: a beginning and a template.
func below(prefix string, parts ...string) string { return cmp.Or(join(prefix, parts...), "/") }

// join joins parts of a route with a slash before each.
func join(prefix string, parts ...string) string {
	for _, part := range parts {
		if part = strings.Trim(part, "/"); part != "" {
			prefix += "/" + part
		}
	}
	return prefix
}
