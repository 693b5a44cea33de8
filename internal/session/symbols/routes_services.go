package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
)

// Names of gRPC, which generated code refers to: a service derives from a class with the attribute, which names the
// class whose fields describe its methods.
const (
	grpc        = "Grpc.Core"
	grpcBinding = grpc + ".BindServiceMethodAttribute"
	grpcMethod  = "Method" // a constructor gets: kind, service, name, …
)

// addService adds the methods of a service of gRPC; a call gives its type for a type parameter. Their routes are those
// of the protocol: /package.Service/Method.
func (m *methodCalls) addService(call uint32, on builder) {
	var classes []definition // of the service, that itself first
	for class := range m.given(call) {
		described := m.grpcMethods(class)
		if described == nil {
			classes = append(classes, class)
			continue
		}
		for _, class := range classes {
			m.addServiceMethods(class, described, on)
		}
		return
	}
}

// addServiceMethods adds what a class overrides of the methods of a service.
func (m *methodCalls) addServiceMethods(class definition, described map[string]string, on builder) {
	methods, _ := class.file.meta.Methods(class.token)
	for _, method := range methods {
		row, err := class.file.meta.Method(method)
		overrides := err == nil && row.Flags&(methodVirtual|methodNewSlot|methodAbstract) == methodVirtual
		if text := described[row.Name]; overrides && text != "" {
			m.maps = append(m.maps, mapped{on: on, to: definition{class.file, method}, verb: "POST", text: text})
		}
	}
}

// grpcMethods returns the routes of the methods of a service by their names, given the class that services derive
// from; nil: it is none.
func (m *routeMapper) grpcMethods(base definition) map[string]string {
	for _, a := range base.file.meta.TextAttributes(base.token) {
		_, name, err := base.file.named(a.Type)
		if err != nil || name.String() != grpcBinding || len(a.Texts) == 0 {
			continue
		}
		class, _, _ := strings.Cut(a.Texts[0], ",")
		holder, ok := m.typesOf(base.file)[strings.ReplaceAll(class, "+", "/")]
		if !ok {
			return nil
		}
		return m.r.describedMethods(base.file, holder)
	}
	return nil
}

// describedMethods reads the code that describes the methods of a service: in the static constructor of a class.
func (r *resolver) describedMethods(f *moduleFile, holder clrmeta.Token) map[string]string {
	methods, _ := f.meta.Methods(holder)
	for _, method := range methods {
		row, err := f.meta.Method(method)
		if err != nil || row.Name != ".cctor" {
			continue
		}
		c := r.openCode(f)
		if c.image == nil {
			return nil
		}
		defer c.close.Close() // nothing was written
		return f.describedIn(c.body(method), holder)
	}
	return nil
}

// describedIn returns the routes of the methods that a static constructor describes, by their names.
func (f *moduleFile) describedIn(b []byte, holder clrmeta.Token) map[string]string {
	body, err := il.ReadBody(b)
	if err != nil {
		return nil
	}
	finder := il.CallFinder{Signature: f.calls, Wanted: f.describesMethod, Private: func(field uint32) bool {
		owner, err := f.meta.FieldOwner(clrmeta.Token(field))
		return err == nil && owner == holder // which is static, and constant from here on
	}}
	calls, err := finder.Calls(body)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for i := range calls {
		args := calls[i].Args
		if len(args) < 3 || args[1].Kind != il.Text || args[2].Kind != il.Text {
			continue
		}
		service, err1 := f.meta.CodeString(clrmeta.Token(args[1].Token))
		name, err2 := f.meta.CodeString(clrmeta.Token(args[2].Token))
		if err1 == nil && err2 == nil {
			out[name] = "/" + service + "/" + name
		}
	}
	return out
}

// describesMethod reports whether code that it calls describes a method of a service.
func (f *moduleFile) describesMethod(token uint32) bool {
	called, err := f.meta.Callee(clrmeta.Token(token))
	if err != nil || called.Name != ".ctor" || called.Type == 0 {
		return false
	}
	_, owner, err := f.named(called.Type)
	return err == nil && owner.Namespace == grpc && len(owner.Path) == 1 && strings.HasPrefix(owner.Path[0], grpcMethod)
}
