package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

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

// actionRoutes returns the routes that attributes give to a method of a controller, or conventions: as that of its own
// class, and of the controllers that inherit it.
func (r *resolver) actionRoutes(f *moduleFile, method clrmeta.Token, conventions []convention) []route {
	owner, err := f.meta.DeclaringType(method)
	if err != nil {
		return nil
	}
	of := action{r: r, method: definition{f, method}}
	isAction, own := of.readAttributes(), definition{f, owner}
	heirs := r.routes.heirs[own]
	var out []route
	if isAction && (len(heirs) == 0 || r.isController(own)) || r.isAction(f, method, own) {
		out = of.routes(own, conventions)
	}
	for _, class := range heirs {
		if r.isAction(f, method, class) && !class.overrides(f, method) {
			out = append(out, of.routes(class, conventions)...)
		}
	}
	return out
}

// action is a method that may answer requests, and what its attributes say.
type action struct {
	r      *resolver
	method definition
	own    []route  // with templates
	plain  []string // verbs without
	name   string   // "": that of the method
}

// readAttributes reads the attributes, and reports whether there are some that give a route. Without any, those of the
// method that is overridden do, the first of all: as DefaultApplicationModelProvider of ASP.NET Core takes them.
func (a *action) readAttributes() (isAction bool) {
	overridden, _ := a.r.overridden(a.method)
	isAction = a.readOf(a.method)
	for _, m := range overridden {
		if name := m.actionName(); a.name == "" {
			a.name = name
		}
	}
	if n := len(overridden); !isAction && n > 0 {
		isAction = a.readOf(overridden[n-1])
	}
	return isAction
}

// actionName is the name that an attribute gives a method; "": none does.
func (d definition) actionName() string {
	for _, x := range d.file.meta.TextAttributes(d.token) {
		if d.file.mvcAttribute(x) == "ActionNameAttribute" {
			return x.Text
		}
	}
	return ""
}

// readOf reads the attributes of a method that give a route, and reports whether there are some.
func (a *action) readOf(method definition) (isAction bool) {
	if a.name == "" {
		a.name = method.actionName()
	}
	for _, x := range method.file.meta.TextAttributes(method.token) {
		verb, ok := actionVerbs[method.file.mvcAttribute(x)]
		switch {
		case !ok:
		case x.HasText:
			a.own = append(a.own, route{verb, x.Text})
		default:
			a.plain = append(a.plain, verb)
		}
		isAction = isAction || ok
	}
	return isAction
}

// routes returns the routes of the action as one of a class.
func (a *action) routes(class definition, conventions []convention) []route {
	prefixes, area := class.file.controllerRoutes(class.token)
	isAction := a.r.isAction(a.method.file, a.method.token, class)
	names := class.routeValues(a.method, a.name, area)
	plain := a.plain
	if len(a.own) == 0 && len(plain) == 0 {
		plain = []string{""}
	}
	if len(a.own)+len(prefixes) == 0 && isAction {
		return conventional(conventions, names, plain)
	}
	tokens := strings.NewReplacer("[controller]", names["controller"], "[action]", names["action"],
		"[area]", names["area"])
	var out []route
	for _, r := range withVerbs(a.own, plain) {
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

// conventional returns the routes of an action by conventions, for each of its methods of HTTP.
func conventional(conventions []convention, names map[string]string, verbs []string) []route {
	var out []route
	for i := range conventions {
		text, ok := conventions[i].of(names)
		for _, verb := range verbs {
			if ok {
				out = append(out, route{verb, text})
			}
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

// routeValues are the names that routes have for an action of a controller: of the controller, of the action itself,
// and of its area, if it has one.
func (d definition) routeValues(method definition, action, area string) map[string]string {
	if row, err := method.file.meta.Method(method.token); err == nil && action == "" {
		action = strings.TrimSuffix(row.Name, "Async")
	}
	controller := ""
	if name, err := d.file.meta.TypeName(d.token); err == nil {
		controller = strings.TrimSuffix(name.Path[len(name.Path)-1], "Controller")
	}
	return map[string]string{"controller": controller, "action": action, "area": area}
}
