package report

import (
	"os"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(sessiontest.Main(m)) }
