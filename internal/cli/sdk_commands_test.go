package cli

import (
	"strings"
	"testing"
)

// TestIsOfSDK: commands of the SDK run programs of the user's, or only the SDK's own.
func TestIsOfSDK(t *testing.T) {
	for command, want := range map[string]bool{
		"dotnet build": true, "/usr/bin/dotnet publish -c Release": true, "dotnet msbuild App.csproj": true,
		"dotnet run": false, "dotnet test": false, "dotnet": false, "dotnet App.dll build": false, "dotnet exec build": false,
		"./build": false, "make build": false,
	} {
		if have := isOfSDK(strings.Fields(command)); have != want {
			t.Errorf("%s: %v, want %v", command, have, want)
		}
	}
}
