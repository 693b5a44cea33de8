package symbols

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
)

// mapping is what a function does with routes.
type mapping uint8

const (
	mapsNothing      mapping = iota
	mapsRoute                // gives a route to a function: (builder, template, …, delegate)
	mapsGroup                // begins the routes of what is mapped with what it returns: (builder, template)
	mapsOn                   // returns its first argument
	mapsRoot                 // returns a builder whose routes have no common beginning
	mapsIn                   // calls a function with such a builder: (application, delegate)
	mapsConvention           // gives a route to actions: (builder, name, template, defaults, …)
	mapsArea                 // likewise, of an area: (builder, name, area, template, defaults, …)
	mapsDefault              // likewise, with a template of its own: (builder)
	mapsHub                  // gives a route to a hub of SignalR: (builder, template), of a type
	mapsPages                // gives routes to Razor Pages: (builder)
	mapsComponents           // gives routes to components of Blazor: (builder), of a type
	mapsFallback             // gives a route to an action: (builder, template if there are more, action, controller)
	mapsAreaFallback         // likewise, of an area: (builder, template if there are more, action, controller, area)
	mapsService              // gives routes to a service of gRPC: (builder), of a type
	mapsBelow                // a function of user code that is given a builder
	mapsValues               // makes an object of an anonymous type, which has default values of routes
)

// verbs are the methods of HTTP by what gives a route to a function.
var verbs = map[string]string{"MapGet": "GET", "MapPost": "POST", "MapPut": "PUT", "MapDelete": "DELETE",
	"MapPatch": "PATCH", "Map": "", "MapMethods": "", "MapFallback": ""}

// mappings are functions of ASP.NET Core that do something with routes, by their types in Microsoft.AspNetCore.Builder.
var mappings = map[string]map[string]mapping{
	"WebApplicationBuilder":                       {"Build": mapsRoot},
	"WebApplication":                              {"Create": mapsRoot},
	"EndpointRouteBuilderExtensions":              {"MapGroup": mapsGroup},
	"EndpointRoutingApplicationBuilderExtensions": {"UseEndpoints": mapsIn},
	"ControllerEndpointRouteBuilderExtensions": {"MapControllerRoute": mapsConvention,
		"MapAreaControllerRoute": mapsArea, "MapDefaultControllerRoute": mapsDefault,
		"MapFallbackToController": mapsFallback, "MapFallbackToAreaController": mapsAreaFallback},
	"GrpcEndpointRouteBuilderExtensions":            {"MapGrpcService": mapsService},
	"HubEndpointRouteBuilderExtensions":             {"MapHub": mapsHub},
	"RazorPagesEndpointRouteBuilderExtensions":      {"MapRazorPages": mapsPages},
	"RazorComponentsEndpointRouteBuilderExtensions": {"MapRazorComponents": mapsComponents},
}

// mapped is a route that code gives to a method.
type mapped struct {
	on     builder
	to     definition // the method
	verb   string
	text   string
	method string // what follows the route: of hubs
}

// mappedOn are routes of things that are in files, which code gives them all at once, perhaps several times.
type mappedOn struct {
	on   []builder
	maps []mapped
}

// routeMapper finds the routes that code gives to methods.
type routeMapper struct {
	r           *resolver
	maps        []mapped
	conventions []convention
	edges       map[parameter][]builder // what parameters are given
	pages       mappedOn
	components  mappedOn

	f     *moduleFile        // that is read
	kinds map[uint32]mapping // by token
	names map[uint32]string  // of what maps routes

	types     map[string]clrmeta.Token // of this file, by name; nil until something needs them
	typesFile *moduleFile
}

// read reads the code of a file.
func (m *routeMapper) read(f *moduleFile) {
	m.addPages(f)
	m.addComponents(f)
	m.f, m.kinds, m.names = f, map[uint32]mapping{}, map[uint32]string{}
	calls := m.mapCalls()
	if len(calls) == 0 {
		return
	}
	c := m.r.openCode(f)
	if c.image == nil {
		return
	}
	defer c.close.Close() // nothing was written
	for row := uint32(1); row <= f.meta.Rows(clrmeta.TableMethodDef); row++ {
		method := clrmeta.MakeToken(clrmeta.TableMethodDef, row)
		b := c.body(method)
		if slices.ContainsFunc(calls, func(call []byte) bool { return bytes.Contains(b, call) }) {
			m.findIn(b, method)
		}
	}
}

// mapCalls returns the operands of the instructions that call what maps routes.
func (m *routeMapper) mapCalls() (operands [][]byte) {
	for _, table := range []clrmeta.Table{clrmeta.TableMemberRef, clrmeta.TableMethodDef, clrmeta.TableMethodSpec} {
		for row := uint32(1); row <= m.f.meta.Rows(table); row++ {
			token := uint32(clrmeta.MakeToken(table, row))
			switch m.kind(token) {
			case mapsRoute, mapsIn, mapsConvention, mapsArea, mapsDefault, mapsHub, mapsPages, mapsComponents,
				mapsFallback, mapsAreaFallback, mapsService, mapsBelow:
				operands = append(operands, binary.LittleEndian.AppendUint32(nil, token))
			case mapsNothing, mapsGroup, mapsOn, mapsRoot, mapsValues:
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
	if kind := m.knownKind(token, called.Name, &owner); kind != mapsNothing {
		return kind
	}
	sig, err := clrmeta.ParseMethodSig(called.Signature)
	if err != nil {
		return mapsNothing
	}
	if called.Name == ".ctor" && strings.HasPrefix(owner.String(), "<>f__AnonymousType") {
		return mapsValues
	}
	if !sig.HasThis && len(sig.Params) > 0 && sig.Return.Kind == clrmeta.MVar && sig.Params[0].Kind == clrmeta.MVar &&
		sig.Params[0].Index == sig.Return.Index {
		return mapsOn // RequireAuthorization, WithTags and the like
	}
	if !strings.HasPrefix(owner.Namespace, "Microsoft.") && slices.ContainsFunc(sig.Params, m.f.isBuilder) {
		return mapsBelow
	}
	return mapsNothing
}

// knownKind says what functions of ASP.NET Core do.
func (m *routeMapper) knownKind(token uint32, name string, owner *clrmeta.TypeName) mapping {
	space, _ := strings.CutPrefix(owner.Namespace, aspNetCore)
	if space == "Builder" && len(owner.Path) == 1 {
		if kind := mappings[owner.Path[0]][name]; kind != mapsNothing {
			return kind
		}
		if _, ok := verbs[name]; ok && owner.Path[0] == "EndpointRouteBuilderExtensions" {
			m.names[token] = name
			return mapsRoute
		}
	}
	// what the generator of request delegates calls instead is numbered
	name = strings.TrimRight(name, "0123456789")
	if _, ok := verbs[name]; ok && strings.HasPrefix(space, "Http.Generated") {
		m.names[token] = name
		return mapsRoute
	}
	return mapsNothing
}

// findIn adds what a method's code says of routes. Of code that cannot be followed nothing is known.
func (m *routeMapper) findIn(b []byte, method clrmeta.Token) {
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
	of := &methodCalls{m, method, map[uint32]*il.Call{}}
	for i := range calls {
		of.at[uint32(calls[i].At)] = &calls[i]
	}
	for i := range calls {
		of.add(&calls[i])
	}
}

// methodCalls are the calls in a method.
type methodCalls struct {
	*routeMapper
	method clrmeta.Token
	at     map[uint32]*il.Call // by offset
}

// add adds what a call says of routes.
func (m *methodCalls) add(c *il.Call) {
	kind := m.kind(c.Token)
	if len(c.Args) == 0 {
		return
	}
	last := c.Args[len(c.Args)-1]
	switch kind {
	case mapsRoute:
		handler := clrmeta.Token(last.Token)
		text, ok := m.text(c, 1)
		if ok && len(c.Args) > 2 && last.Kind == il.Delegate && handler.Table() == clrmeta.TableMethodDef {
			m.maps = append(m.maps, mapped{on: m.builder(c.Args[0]), to: definition{m.f, handler},
				verb: verbs[m.names[c.Token]], text: text})
		}
	case mapsIn:
		if handler := clrmeta.Token(last.Token); last.Kind == il.Delegate &&
			handler.Table() == clrmeta.TableMethodDef {
			m.give(definition{m.f, handler}, 0, builder{file: m.f, isRoot: true})
		}
	case mapsConvention, mapsArea, mapsDefault:
		m.addConvention(kind, c)
	case mapsHub:
		if text, ok := m.text(c, 1); ok {
			m.addHub(c.Token, m.builder(c.Args[0]), text)
		}
	case mapsPages:
		m.pages.on = append(m.pages.on, m.builder(c.Args[0]))
	case mapsComponents:
		m.components.on = append(m.components.on, m.builder(c.Args[0]))
	case mapsFallback, mapsAreaFallback:
		m.addFallback(kind, c)
	case mapsService:
		m.addService(c.Token, m.builder(c.Args[0]))
	case mapsBelow:
		m.addBelow(c)
	case mapsNothing, mapsGroup, mapsOn, mapsRoot, mapsValues:
	}
}

// text returns the constant that an argument is.
func (m *methodCalls) text(c *il.Call, n int) (string, bool) {
	if n >= len(c.Args) || c.Args[n].Kind != il.Text {
		return "", false
	}
	text, err := m.f.meta.CodeString(clrmeta.Token(c.Args[n].Token))
	return text, err == nil
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
