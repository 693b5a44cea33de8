package symbols

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConventions: the route of an action by a convention, or that it has none.
func TestConventions(t *testing.T) {
	for _, c := range []struct {
		template, values string // NAME=VALUE,…
		action           string // CONTROLLER/ACTION, and its area before
		want             string
	}{
		{defaultTemplate, "", "/Home/Index", "Home/Index/{id?}"},
		{defaultTemplate, "", "/Orders/Show", "Orders/Show/{id?}"},
		{defaultTemplate, "", "shop/Orders/Show", ""},
		{"{Controller}/{ACTION}", "", "/Orders/Show", "Orders/Show"},
		{"blog/{*article}", "controller=Blog,action=Article", "/blog/article", "blog/{*article}"},
		{"blog/{*article}", "controller=Blog,action=Article", "/Blog/Other", ""},
		{"blog/{*article}", "controller=Blog", "/Blog/Article", ""},
		{"{action}", "controller=Blog", "/Blog/Article", "Article"},
		{"{area:exists}/{controller}/{action}", "", "shop/Orders/Show", "shop/Orders/Show"},
		{"{area:exists}/{controller}/{action}", "", "/Orders/Show", ""},
		{"m/{controller}/{action}", "area=shop", "shop/Orders/Show", "m/Orders/Show"},
		{"m/{controller}/{action}", "area=shop", "/Orders/Show", ""},
		{"m/{controller}/{action}", "area=shop", "other/Orders/Show", ""},
		{"{area}/{controller}/{action}", "area=shop", "other/Orders/Show", ""},
		{"{controller:regex(^H.*)}/{action}", "", "/Home/Index", ""},
		{"x/{controller", "action=Show", "/Orders/Show", "x/Orders"},
	} {
		values := map[string]string{}
		for _, v := range strings.Split(c.values, ",") {
			if name, value, ok := strings.Cut(v, "="); ok {
				values[name] = value
			}
		}
		names := strings.Split(c.action, "/")
		by := convention{template: c.template, values: values}
		have, ok := by.of(map[string]string{"area": names[0], "controller": names[1], "action": names[2]})
		if have != c.want || ok != (c.want != "") {
			t.Errorf("%s, %s: %q, %v; want %q", c.template, c.action, have, ok, c.want)
		}
	}
}

// TestPages: the routes of Razor Pages, and what their handlers answer.
func TestPages(t *testing.T) {
	for _, c := range []struct {
		path, template string
		want           []string
	}{
		{"/Pages/Index.cshtml", "", []string{"/Index", "/"}},
		{"/Pages/Orders/index.cshtml", "{id}", []string{"/Orders/index/{id}", "/Orders/{id}"}},
		{"/Pages/Orders/List.cshtml", "", []string{"/Orders/List"}},
		{"/Pages/Orders/Index.cshtml", "/all", []string{"/all"}},
		{"/Pages/Orders/Index.cshtml", "~/all", []string{"/all"}},
		{"/Areas/Shop/Pages/Index.cshtml", "", []string{"/Shop/Index", "/Shop"}},
		{"/Areas/Shop/Views/Index.cshtml", "", nil},
		{"/Views/Home/Index.cshtml", "", nil},
	} {
		if diff := cmp.Diff(c.want, pageRoutes(c.path, c.template)); diff != "" {
			t.Errorf("%s %s (-want +have):\n%s", c.path, c.template, diff)
		}
	}
	for name, want := range map[string]string{"OnGet": "GET /x", "OnGetAsync": "GET /x", "OnPostDelete": "POST /x?handler=Delete",
		"OnPostSaveAllAsync": "POST /x?handler=SaveAll", "On": "", "Async": "", "Get": ""} {
		have := ""
		if verb, handler, ok := parseHandler(name); ok {
			have = route{verb, withHandler("/x", handler)}.String()
		}
		if have != want {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
}
