package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/clrmeta"
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

// actionRoutes returns the routes that attributes give to a method of a controller, or conventions.
func (r *resolver) actionRoutes(f *moduleFile, method clrmeta.Token, conventions []convention) []route {
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
	if err != nil {
		return nil
	}
	prefixes, area := f.controllerRoutes(owner)
	if !isAction && (len(prefixes)+len(conventions) == 0 || !r.isAction(f, method, owner)) {
		return nil
	}
	names := f.routeValues(method, owner, action, area)
	if len(own) == 0 && len(plain) == 0 {
		plain = []string{""}
	}
	if len(own)+len(prefixes) == 0 && r.isAction(f, method, owner) {
		return conventional(conventions, names, plain)
	}
	tokens := strings.NewReplacer("[controller]", names["controller"], "[action]", names["action"],
		"[area]", names["area"])
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

// routeValues are the names that routes have for an action: of its controller, of itself, and of its area, if it has
// one.
func (f *moduleFile) routeValues(method, owner clrmeta.Token, action, area string) map[string]string {
	if row, err := f.meta.Method(method); err == nil && action == "" {
		action = strings.TrimSuffix(row.Name, "Async")
	}
	controller := ""
	if name, err := f.meta.TypeName(owner); err == nil {
		controller = strings.TrimSuffix(name.Path[len(name.Path)-1], "Controller")
	}
	return map[string]string{"controller": controller, "action": action, "area": area}
}
