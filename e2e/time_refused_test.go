package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/capture/probes"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// jumpingProgram makes a function that leaves by a jmp, which C# does not write, and calls it until it is compiled anew.
const jumpingProgram = `using System; using System.Reflection; using System.Reflection.Emit; using System.Threading;
namespace Shop {
	public static class Program {
		public static int Twice(int a) { return 2 * a; }
		static Func<int, int> Emit() {
			var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Made"), AssemblyBuilderAccess.Run);
			TypeBuilder type = assembly.DefineDynamicModule("Made").DefineType("Made.Jumper", TypeAttributes.Public);
			MethodBuilder method = type.DefineMethod("Leave", MethodAttributes.Public | MethodAttributes.Static, typeof(int), new[] { typeof(int) });
			method.GetILGenerator().Emit(OpCodes.Jmp, typeof(Program).GetMethod("Twice"));
			return (Func<int, int>)type.CreateType().GetMethod("Leave").CreateDelegate(typeof(Func<int, int>));
		}
		public static int Main() {
			Func<int, int> leave = Emit();
			int sum = 0;
			for (int i = 0; i < 20; i++) {
				for (int k = 0; k < 100; k++)
					sum += leave(k);
				Thread.Sleep(20); // the runtime compiles again what is called often
			}
			return sum == 20 * 9900 ? 0 : 1;
		}
	}
}`

// TestNotProbed: a function into which no probes can be put is lost once, and the session says which it is, and why.
func TestNotProbed(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, jumpingProgram)
	for _, runtime := range in.InTurn(0) {
		if runtime.Major() < 5 {
			continue
		}
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			r := recordOnce(t, runtime.Command(dll), append([]string{"--include", "Made.*", "--include", "Shop.Program"},
				byProbes...)...)
			if r.exit != 0 {
				t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
			}
			soundTime(t, r.session)
			type refused struct{ Name, Reason string }
			have := query[refused](t, r.session, `SELECT f.raw_type || '.' || f.raw_name AS name, n.reason
				FROM function_not_probed n JOIN function f ON f.id = n.function_id`)
			if d := cmp.Diff([]refused{{"Made.Jumper.Leave", probes.Jump.String()}}, have); d != "" {
				t.Errorf("(-want +session) %s", d)
			}
			losses := query[struct {
				Reason string
				Events int
			}](t, r.session, "SELECT reason, events FROM loss")
			if len(losses) != 1 || losses[0].Reason != "not_probed" || losses[0].Events != 1 {
				t.Errorf("losses: %+v", losses)
			}
			calls := query[struct{ Calls int }](t, r.session, `SELECT v.calls FROM function_time v JOIN function f
				ON f.id = v.function_id WHERE f.raw_name = 'Twice'`)
			if len(calls) != 1 || calls[0].Calls != 2000 {
				t.Errorf("calls of what it jumps to: %v, want 2000", calls)
			}
			text := run(t, "report", r.session, "losses").stdout
			if want := "Made.Jumper.Leave(int): it ends with the instruction jmp."; !strings.Contains(text, want) {
				t.Errorf("the losses do not say %q:\n%s", want, text)
			}
		})
	}
}
