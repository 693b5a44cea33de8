package symbols

import "github.com/clrprof/clrprof/internal/dotnet/clrmeta"

// Names of Blazor: a component with a route is a class with the attribute, which @page becomes.
const (
	components     = aspNetCore + "Components"
	componentRoute = components + ".RouteAttribute"
)

// rendering are the methods that components override and that are called to answer a request: those of a component's
// life up to its HTML.
var rendering = map[string]bool{"SetParametersAsync": true, "OnInitialized": true, "OnInitializedAsync": true,
	"OnParametersSet": true, "OnParametersSetAsync": true, "BuildRenderTree": true}

// addComponents adds what renders the components with routes that are in a file.
func (m *routeMapper) addComponents(f *moduleFile) {
	if !f.refersTo(components) {
		return
	}
	for row := uint32(1); row <= f.meta.Rows(clrmeta.TableTypeDef); row++ {
		class := clrmeta.MakeToken(clrmeta.TableTypeDef, row)
		for _, a := range f.meta.TextAttributes(class) {
			if _, name, err := f.named(a.Type); err == nil && name.String() == componentRoute && a.HasText {
				m.addRendering(definition{f, class}, a.Text)
			}
		}
	}
}

// addRendering adds what a class overrides for a route.
func (m *routeMapper) addRendering(class definition, text string) {
	methods, _ := class.file.meta.Methods(class.token)
	for _, method := range methods {
		row, err := class.file.meta.Method(method)
		if err == nil && rendering[row.Name] &&
			row.Flags&(methodVirtual|methodNewSlot|methodAbstract) == methodVirtual {
			m.components.maps = append(m.components.maps, mapped{to: definition{class.file, method}, text: text})
		}
	}
}
