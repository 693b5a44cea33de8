package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// What a customer of samples/shop does, and what the next release keeps.
const (
	shopCustomers = 60
	shopLines     = 3
	shopProducts  = 12_000
	shopKept      = 50
)

// shopProblems is what the problems of samples/shop come to, as its README says. Of the delegates of the allocating loop it
// is not known how many there are: .NET 10 keeps them on the stack once the loop is compiled with all it knows.
type shopProblems struct {
	Closures, Arrays, Expressions, Alive, Waits int64
}

// TestShop: of each problem that is planted in samples/shop the sessions of both releases have what its README says.
func TestShop(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it builds a web server")
	p := newProject(t, nil)
	if err := os.CopyFS(p.dir, os.DirFS("../samples/shop")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		release, fixed string
		want           shopProblems
	}{
		{"shop", "false", shopProblems{Closures: shopCustomers * shopLines, Arrays: shopCustomers,
			Expressions: shopProducts, Alive: shopCustomers, Waits: shopCustomers * shopLines}},
		{"fixed", "true", shopProblems{Expressions: 1, Alive: shopKept, Waits: shopCustomers}},
	} {
		out := filepath.Join(t.TempDir(), tt.release)
		p.plain("build", "--nologo", "-c", "Release", "-o", out, "-p:Fixed="+tt.fixed)
		command := p.dotnet(filepath.Join(out, "shop.dll"), "--customers", fmt.Sprint(shopCustomers))
		objects := record(t, command)
		times := record(t, p.dotnet(command.Args[1:]...), "--time")
		said := fmt.Sprintf("%d customers, %[1]d orders, %d carts\n", shopCustomers, tt.want.Alive)
		if objects.stdout != said || times.stdout != said || objects.exit+times.exit != 0 {
			t.Fatalf("%s says %q and %q\n%s%s", tt.release, objects.stdout, times.stdout, objects.stderr, times.stderr)
		}
		checkTables(t, objects.session)
		soundTime(t, times.session)
		if d := cmp.Diff(tt.want, problemsIn(t, objects.session, times.session)); d != "" {
			t.Errorf("%s: (-README +sessions)\n%s", tt.release, d)
		}
	}
}

// plantedIn reads from sessions what the problems come to.
func problemsIn(t *testing.T, objects, times string) (found shopProblems) {
	t.Helper()
	made := func(where string) int64 {
		return query[struct{ N int64 }](t, objects, `SELECT coalesce(sum(allocations), 0) AS n FROM sites
			JOIN site_value ON site_id = sites.id WHERE `+where)[0].N
	}
	of := func(path, sql string) int64 { return query[struct{ N int64 }](t, path, sql)[0].N }
	return shopProblems{
		Closures:    made("function LIKE 'WebShop.Cart.PercentOf(%' AND type LIKE '%<closure%'"),
		Arrays:      made("type = 'WebShop.Product[]' AND (function LIKE '%.ToArray(%' OR function LIKE 'WebShop.Catalogue.Search(%')"),
		Expressions: made("type = 'System.Text.RegularExpressions.Regex' AND function LIKE 'WebShop.Catalogue.%'"),
		Alive:       of(objects, "SELECT alive_instances AS n FROM lifetime WHERE name = 'WebShop.Cart'"),
		Waits:       of(times, "SELECT calls AS n FROM function_times WHERE name LIKE 'WebShop.Supplier.Ask(%'"),
	}
}
