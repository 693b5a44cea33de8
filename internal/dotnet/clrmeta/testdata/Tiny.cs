// The smallest assembly with all that the readers read; the seeds of the fuzz
// tests are made from it:
//
//   csc -deterministic -optimize+ -target:library -nologo -pathmap:DIR=/src
//       -debug:portable -out:tiny.dll Tiny.cs       tiny.dll, tiny.pdb
//       -debug:embedded -out:embedded.dll Tiny.cs   embedded.dll
using System.Collections.Generic;
using System.Threading.Tasks;

public class Tiny<T>
{
    public class Nested { public void Take(T[] a, int[,] b, out List<T> c, params object[] d) { c = null; } }

    static async Task Wait(int n)
    {
        await Task.Yield();
#line 10 "/elsewhere/Other.cs"
        n++;
#line hidden
        n++;
    }

    IEnumerable<U> Each<U>(U u) { yield return u; }
}
