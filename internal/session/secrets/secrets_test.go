package secrets

import (
	"slices"
	"strings"
	"testing"
)

// TestOf: each of these has the secret hunter22secret, or another one that is named, in its arguments, and none after it.
func TestOf(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"app|--password|hunter22", "app|--password|[replaced]"},
		{"app|--password=hunter22=;&x", "app|--password=[replaced]"},
		{"app|-password:x|/p:ApiKey=hunter22", "app|-password:[replaced]|/p:ApiKey=[replaced]"},
		{"app|-p|hunter22", "app|-p|[replaced]"},
		{"dotnet|run|-p|Shop.csproj|-p|8080", "dotnet|run|-p|Shop.csproj|-p|8080"},
		{"app|--db-password|-hunter22|x", "app|--db-password|[replaced]|x"},
		{"app|--use-token|--verbose", "app|--use-token|--verbose"},
		{"app|--ClientSecret|hunter22", "app|--ClientSecret|[replaced]"},
		{"app|DB_PASSWORD=hunter22", "app|DB_PASSWORD=[replaced]"},
		{"app|ConnectionStrings:Main=Server=a;Password=b", "app|ConnectionStrings:Main=Server=a;Password=[replaced]"},
		{"app|--connection-string|Server=a;Password=b", "app|--connection-string|[replaced]"},
		{"app|Server=a;User Id=sa;Password=hunter22;Timeout=3", "app|Server=a;User Id=sa;Password=[replaced];Timeout=3"},
		{"app|AccountName=a;AccountKey=aGVsbG8=;x=y", "app|AccountName=a;AccountKey=[replaced];x=y"},
		{"curl|-H|Authorization: Bearer hunter22secret", "curl|-H|Authorization: [replaced]"},
		{"curl|-H|X-Api-Key: hunter22", "curl|-H|X-Api-Key: [replaced]"},
		{"app|postgres://sa:hunter22@db:5432/shop", "app|postgres://[replaced]@db:5432/shop"},
		{"app|https://a/b?token=hunter22&page=2", "app|https://a/b?token=[replaced]&page=2"},
		{"app|AKIAIOSFODNN7EXAMPLE", "app|[replaced]"},
		{"app|ghp_0123456789abcdefghij", "app|[replaced]"},
		{"app|eyJhbGciOiJI.eyJzdWIiOiI.abc", "app|[replaced]"},
		{"sh|-c|dotnet App.dll --password hunter22 --port 1", "sh|-c|dotnet App.dll --password [replaced] --port 1"},
		{"app|--port|8080|--urls|http://localhost:80/?a=b", "app|--port|8080|--urls|http://localhost:80/?a=b"},
		{"app|System.Int32, mscorlib, PublicKeyToken=b77a5c561934e089", "app|System.Int32, mscorlib, PublicKeyToken=b77a5c561934e089"},
		{"app|--tokenizer|bert|--monitor|all", "app|--tokenizer|bert|--monitor|all"},
		{"app|--token", "app|--token"},
		{"app", "app"},
	} {
		if got := strings.Join(All.Of(strings.Split(tt.in, "|")), "|"); got != tt.want {
			t.Errorf("%s became\n%s, want\n%s", tt.in, got, tt.want)
		}
	}
	in := []string{"/bin/app", "--name", "x"}
	if got := Program.Of(in); !slices.Equal(got, in[:1]) {
		t.Errorf("program: %q", got)
	}
	if got := None.Of(in); got == nil || len(got) > 0 {
		t.Errorf("none: %q", got)
	}
	if got := All.Of(nil); got == nil || len(got) > 0 {
		t.Errorf("no arguments: %q", got)
	}
}
