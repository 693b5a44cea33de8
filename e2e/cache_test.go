package e2e

// What is tested is a binary that TestMain builds, of which `go test` knows nothing: without this import it would
// take the result of an older binary for that of a new one.
import _ "github.com/clrprof/clrprof/internal/cli"
