package symbols

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/clrmeta"
	"github.com/clrprof/clrprof/internal/il"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/usercode"
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

// routeOf returns the routes of a function of user code, or of the method that it is the state machine of; "": none is
// known.
func (r *resolver) routeOf(f *moduleFile, row *session.Function) string {
	if f.meta == nil || row.Kind != session.FunctionMethod || !r.isUser(row.Module) {
		return ""
	}
	if f.mapped == nil {
		f.mapped, f.isWeb = map[clrmeta.Token][]route{}, f.refersTo(aspNetCore)
		if f.isWeb {
			f.mapped = r.mappedIn(f)
		}
	}
	if !f.isWeb {
		return ""
	}
	method := f.written(row)
	routes := slices.Concat(f.mapped[method], f.actionRoutes(method))
	text := make([]string, 0, len(routes))
	for _, route := range routes {
		text = append(text, route.String())
	}
	slices.Sort(text)
	text = slices.Compact(text)
	return strings.Join(text[:min(len(text), maxRoutes)], session.RouteSeparator)
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

// mapping is what a function does with routes.
type mapping uint8

const (
	mapsNothing mapping = iota
	mapsRoute           // gives a route to a function: (builder, template, …, delegate)
	mapsGroup           // begins the routes of what is mapped with what it returns: (builder, template)
	mapsOn              // returns its first argument
	mapsRoot            // returns a builder whose routes have no common beginning
)

// verbs are the methods of HTTP by what gives a route to a function.
var verbs = map[string]string{"MapGet": "GET", "MapPost": "POST", "MapPut": "PUT", "MapDelete": "DELETE",
	"MapPatch": "PATCH", "Map": "", "MapMethods": "", "MapFallback": ""}

// routeMapper finds the routes that the code of a file gives to methods.
type routeMapper struct {
	f     *moduleFile
	kinds map[uint32]mapping // by token
	names map[uint32]string  // of what maps routes
}

// mappedIn returns the routes that the code of a file gives to its methods: with MapGet and the like.
func (r *resolver) mappedIn(f *moduleFile) map[clrmeta.Token][]route {
	found := map[clrmeta.Token][]route{}
	m := &routeMapper{f: f, kinds: map[uint32]mapping{}, names: map[uint32]string{}}
	calls := m.mapCalls()
	if len(calls) == 0 || !r.in.ReadCode {
		return found
	}
	c := r.openCode(f)
	if c.image == nil {
		return found
	}
	defer c.close.Close() // nothing was written
	for row := uint32(1); row <= f.meta.Rows(clrmeta.TableMethodDef); row++ {
		method := clrmeta.MakeToken(clrmeta.TableMethodDef, row)
		if size, err := c.image.BodySize(method); err != nil || size > maxBody {
			continue // it has no code
		}
		b, err := c.image.Body(method)
		if err != nil || !slices.ContainsFunc(calls, func(call []byte) bool { return bytes.Contains(b, call) }) {
			continue
		}
		m.findIn(b, method, found)
	}
	return found
}

// mapCalls returns the operands of the instructions that call what maps routes.
func (m *routeMapper) mapCalls() (operands [][]byte) {
	for _, table := range []clrmeta.Table{clrmeta.TableMemberRef, clrmeta.TableMethodDef, clrmeta.TableMethodSpec} {
		for row := uint32(1); row <= m.f.meta.Rows(table); row++ {
			token := uint32(clrmeta.MakeToken(table, row))
			if m.kind(token) == mapsRoute {
				operands = append(operands, binary.LittleEndian.AppendUint32(nil, token))
			}
		}
	}
	return operands
}

// kind says what a function does that code calls.
func (m *routeMapper) kind(token uint32) mapping {
	kind, known := m.kinds[token]
	if !known {
		kind = m.kindOf(token)
		m.kinds[token] = kind
	}
	return kind
}

func (m *routeMapper) kindOf(token uint32) mapping {
	called, err := m.f.meta.Callee(clrmeta.Token(token))
	if err != nil || called.Type == 0 {
		return mapsNothing
	}
	_, owner, err := m.f.named(called.Type)
	if err != nil {
		return mapsNothing
	}
	switch owner.String() {
	case aspNetCore + "Builder.WebApplicationBuilder", aspNetCore + "Builder.WebApplication":
		if called.Name == "Build" || called.Name == "Create" {
			return mapsRoot
		}
		return mapsNothing
	case aspNetCore + "Builder.EndpointRouteBuilderExtensions":
		if called.Name == "MapGroup" {
			return mapsGroup
		}
		if _, ok := verbs[called.Name]; ok {
			m.names[token] = called.Name
			return mapsRoute
		}
	}
	// what the generator of request delegates calls instead is numbered
	name := strings.TrimRight(called.Name, "0123456789")
	if _, ok := verbs[name]; ok && strings.HasPrefix(owner.Namespace, aspNetCore+"Http.Generated") {
		m.names[token] = name
		return mapsRoute
	}
	sig, err := clrmeta.ParseMethodSig(called.Signature)
	if err == nil && !sig.HasThis && len(sig.Params) > 0 && sig.Return.Kind == clrmeta.MVar &&
		sig.Params[0].Kind == clrmeta.MVar && sig.Params[0].Index == sig.Return.Index {
		return mapsOn // RequireAuthorization, WithTags and the like
	}
	return mapsNothing
}

// findIn adds the routes that a method's code maps. Of code that cannot be followed nothing is known.
func (m *routeMapper) findIn(b []byte, method clrmeta.Token, found map[clrmeta.Token][]route) {
	body, err := il.ReadBody(b)
	if err != nil {
		return
	}
	finder := il.CallFinder{Signature: m.f.calls, Private: m.isPrivate,
		Wanted: func(token uint32) bool { return m.kind(token) != mapsNothing }}
	calls, err := finder.Calls(body)
	if err != nil {
		return
	}
	at := map[uint32]*il.Call{}
	for i := range calls {
		at[uint32(calls[i].At)] = &calls[i]
	}
	for i := range calls {
		c := &calls[i]
		if m.kind(c.Token) != mapsRoute || len(c.Args) < 3 {
			continue
		}
		to, template := c.Args[len(c.Args)-1], c.Args[1]
		handler := clrmeta.Token(to.Token)
		if to.Kind != il.Delegate || template.Kind != il.Text || handler.Table() != clrmeta.TableMethodDef {
			continue
		}
		text, err := m.f.meta.CodeString(clrmeta.Token(template.Token))
		if err != nil {
			continue
		}
		found[handler] = append(found[handler],
			route{verbs[m.names[c.Token]], below(m.prefix(method, c.Args[0], at), text)})
	}
}

// isPrivate reports whether a field is of a type that the compiler made: of variables, of a state machine, or of
// delegates.
func (m *routeMapper) isPrivate(field uint32) bool {
	owner, err := m.f.meta.FieldOwner(clrmeta.Token(field))
	if err != nil {
		return false
	}
	_, name, err := m.f.named(owner)
	return err == nil && strings.HasPrefix(name.Path[len(name.Path)-1], "<")
}

// unknownPrefix stands for the beginning of a route that is not known: that of a builder which another method made.
const unknownPrefix = "…"

// prefix returns how the routes begin that are mapped with a builder.
func (m *routeMapper) prefix(method clrmeta.Token, builder il.Value, calls map[uint32]*il.Call) string {
	var groups []string
	for range maxGroups {
		if builder.Kind == il.Argument && m.isApplication(method, int(builder.Token)) {
			return join("", groups...)
		}
		c := calls[builder.Token]
		if builder.Kind != il.Result || c == nil {
			break
		}
		kind := m.kind(c.Token)
		if kind == mapsRoot {
			return join("", groups...)
		}
		if kind == mapsGroup {
			text, err := "", error(nil)
			if len(c.Args) == 2 && c.Args[1].Kind == il.Text {
				text, err = m.f.meta.CodeString(clrmeta.Token(c.Args[1].Token))
			}
			if text == "" || err != nil {
				break
			}
			groups = slices.Insert(groups, 0, text)
		}
		if len(c.Args) == 0 {
			break
		}
		builder = c.Args[0]
	}
	return join(unknownPrefix, groups...)
}

// isApplication reports whether an argument of a method is a WebApplication.
func (m *routeMapper) isApplication(method clrmeta.Token, n int) bool {
	row, err := m.f.meta.Method(method)
	if err != nil {
		return false
	}
	sig, err := clrmeta.ParseMethodSig(row.Signature)
	if err != nil {
		return false
	}
	if sig.HasThis {
		n--
	}
	if n < 0 || n >= len(sig.Params) || sig.Params[n].Kind != clrmeta.Class {
		return false
	}
	_, name, err := m.f.named(sig.Params[n].Token)
	return err == nil && name.String() == aspNetCore+"Builder.WebApplication"
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

// actionVerbs are the methods of HTTP by the attributes of Microsoft.AspNetCore.Mvc that give a route to an action.
var actionVerbs = map[string]string{"HttpGetAttribute": "GET", "HttpPostAttribute": "POST", "HttpPutAttribute": "PUT",
	"HttpDeleteAttribute": "DELETE", "HttpPatchAttribute": "PATCH", "HttpHeadAttribute": "HEAD",
	"HttpOptionsAttribute": "OPTIONS", "RouteAttribute": ""}

// mvcAttribute returns the name of an attribute of Microsoft.AspNetCore.Mvc, "" of others.
func (f *moduleFile) mvcAttribute(a clrmeta.TextAttribute) string {
	_, name, err := f.named(a.Type)
	if err != nil || name.Namespace != aspNetCore+"Mvc" || len(name.Path) != 1 {
		return ""
	}
	return name.Path[0]
}

// actionRoutes returns the routes that attributes give to a method of a controller.
func (f *moduleFile) actionRoutes(method clrmeta.Token) []route {
	var own []route               // with templates
	var plain []string            // verbs without
	action, isAction := "", false // its name, if an attribute says it
	for _, a := range f.meta.TextAttributes(method) {
		name := f.mvcAttribute(a)
		verb, ok := actionVerbs[name]
		switch {
		case name == "ActionNameAttribute":
			action = a.Text
		case !ok:
		case a.HasText:
			own = append(own, route{verb, a.Text})
		default:
			plain = append(plain, verb)
		}
		isAction = isAction || ok
	}
	owner, err := f.meta.DeclaringType(method)
	if !isAction || err != nil {
		return nil
	}
	prefixes, area := f.controllerRoutes(owner)
	tokens := f.routeTokens(method, owner, action, area)
	var out []route
	for _, r := range withVerbs(own, plain) {
		if strings.HasPrefix(r.template, "/") || strings.HasPrefix(r.template, "~/") {
			out = append(out, route{r.verb, below("", tokens.Replace(strings.TrimPrefix(r.template, "~")))})
			continue
		}
		for _, prefix := range prefixes {
			out = append(out, route{r.verb, below("", tokens.Replace(prefix), tokens.Replace(r.template))})
		}
		if len(prefixes) == 0 && r.template != "" {
			out = append(out, route{r.verb, below("", tokens.Replace(r.template))})
		}
	}
	return out
}

// withVerbs gives the verbs of attributes without a template to the templates without a verb; if there are none, to
// that of the controller.
func withVerbs(own []route, plain []string) []route {
	if len(plain) == 0 {
		return own
	}
	var out, open []route
	for _, r := range own {
		if r.verb == "" {
			open = append(open, r)
		} else {
			out = append(out, r)
		}
	}
	if len(open) == 0 {
		open = []route{{}}
	}
	for _, verb := range plain {
		for _, r := range open {
			out = append(out, route{verb, r.template})
		}
	}
	return out
}

// controllerRoutes returns the templates that a controller, or what it extends in the same file, has for its actions,
// and its area.
func (f *moduleFile) controllerRoutes(owner clrmeta.Token) (templates []string, area string) {
	for range maxBases {
		for _, a := range f.meta.TextAttributes(owner) {
			switch name := f.mvcAttribute(a); {
			case name == "RouteAttribute" && a.HasText:
				templates = append(templates, a.Text)
			case name == "AreaAttribute" && area == "":
				area = a.Text
			}
		}
		base, _, err := baseOf(definition{f, owner})
		if len(templates) > 0 || err != nil || base.Table() != clrmeta.TableTypeDef {
			break
		}
		owner = base
	}
	return templates, area
}

// routeTokens replaces what stands for names in a template: [controller], [action] and [area].
func (f *moduleFile) routeTokens(method, owner clrmeta.Token, action, area string) *strings.Replacer {
	if row, err := f.meta.Method(method); err == nil && action == "" {
		action = strings.TrimSuffix(row.Name, "Async")
	}
	controller := ""
	if name, err := f.meta.TypeName(owner); err == nil {
		controller = strings.TrimSuffix(name.Path[len(name.Path)-1], "Controller")
	}
	return strings.NewReplacer("[controller]", controller, "[action]", action, "[area]", area)
}
