package sessiontest

import (
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// Served is a web server: what Tested does, in functions that answer requests.
func Served() *Builder {
	b := Tested()
	b.Info[session.KeyCommand] = `["dotnet","run"]`
	names := strings.NewReplacer("Shop.Tests.OrderTests", "Shop.Web.Orders", "Shop.Tests.dll", "Shop.Web.dll",
		"/src/Shop.Tests/OrderTests.cs", "/src/Shop.Web/Orders.cs", "Xunit.Sdk.TestInvoker.Invoke",
		"Microsoft.AspNetCore.Mvc.Infrastructure.ControllerActionInvoker.Next", "xunit.execution.dll",
		"Microsoft.AspNetCore.Mvc.Core.dll", "testhost", "Shop.Web")
	replace := func(text *string) { *text = names.Replace(*text) }
	for i := range b.Processes {
		replace(&b.Processes[i].Name)
	}
	for i := range b.Modules {
		replace(&b.Modules[i].Name)
		replace(&b.Modules[i].Path)
	}
	for i := range b.SourceFiles {
		replace(&b.SourceFiles[i].Path)
	}
	for i := range b.Functions {
		f := &b.Functions[i]
		for _, text := range []*string{&f.Name, &f.RawType, &f.RawName} {
			replace(text)
		}
		if f.Test == "" {
			continue
		}
		f.Test = ""
		switch {
		case strings.Contains(f.Name, "Parses"):
			f.Route = "POST /orders"
		case strings.Contains(f.Name, "Saves"):
			f.Route = "PUT /orders/{id:int}"
		default:
			f.Route = "GET /slow, GET …/orders/{customer}/slowest/{count}"
		}
	}
	return b
}
