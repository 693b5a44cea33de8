// One function for each way to allocate that neither Shapes nor Boxes has.

using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Ways
{
    class Plain { }
    class Constructed { public readonly int A; public Constructed(int a) { A = a; } }
    class Activated { }
    class ActivatedGeneric<T> { }
    class New { }
    class Invoked { }
    class Key { }
    class Held { }
    class Local { public int A; public int Get() => A; }
    class Thrower { public int A = 1; }
    struct Answer { public long A, B, C; public Answer(long a) { A = B = C = a; } }
    [StructLayout(LayoutKind.Sequential)] struct Foreign { public int A, B; }
    struct Static { public long A; }
    enum Color { Red, Green, Blue }
    static class Of<T> { public static T[] Values = new T[3]; public static Static Boxed = new Static { A = 1 }; [ThreadStatic] public static T[] OfThread; }

    static class Bodies
    {
        const MethodImplOptions Kept = MethodImplOptions.NoInlining;

        public static object Sink;
        static int sum;
        static readonly int[] numbers = { 3, 1, 2 };
        static readonly List<int> list = new List<int> { 3, 1, 2 };
        static readonly string text = new string('t', 3) + "abcdefgh", words = new string('w', 3) + " a b c";
        static readonly char[] characters = { 'a', 'b', 'c' };
        static readonly object locked = new object();
        static readonly MethodInfo method = Truth.Method(typeof(Bodies), "Answered");
        static readonly ConstructorInfo constructor = typeof(Invoked).GetConstructor(Type.EmptyTypes);
        static readonly Action first = () => sum++, second = () => sum--;
        static readonly Action both = first + second;
        static readonly IntPtr foreign = Marshal.AllocHGlobal(64);

        // Strings.
        [MethodImpl(Kept)] public static void Substring(int n) { for (int i = 0; i < n; i++) Sink = text.Substring(1, 4); }
        [MethodImpl(Kept)] public static void Concat(int n) { for (int i = 0; i < n; i++) Sink = text + "," + text + "," + text; }
        [MethodImpl(Kept)] public static void ConcatObjects(int n) { for (int i = 0; i < n; i++) Sink = string.Concat(new object[] { i, text, 'c' }); }
        [MethodImpl(Kept)] public static void Format(int n) { for (int i = 0; i < n; i++) Sink = string.Format("{0} {1}", i, text); }
        [MethodImpl(Kept)] public static void Interpolated(int n) { for (int i = 0; i < n; i++) Sink = $"{i} and {text}"; }
        [MethodImpl(Kept)] public static void Joined(int n) { for (int i = 0; i < n; i++) Sink = string.Join(";", list); }
        [MethodImpl(Kept)] public static void Split(int n) { for (int i = 0; i < n; i++) Sink = words.Split(' '); }
        [MethodImpl(Kept)] public static void FromCharacters(int n) { for (int i = 0; i < n; i++) Sink = new string(characters); }
        [MethodImpl(Kept)] public static void FromSpan(int n) { for (int i = 0; i < n; i++) Sink = new string(characters.AsSpan(1)); }
        [MethodImpl(Kept)] public static unsafe void FromPointer(int n) { fixed (char* c = text) for (int i = 0; i < n; i++) Sink = new string(c); }
        [MethodImpl(Kept)] public static unsafe void FromPart(int n) { fixed (char* c = text) for (int i = 0; i < n; i++) Sink = new string(c, 1, 2); }
        [MethodImpl(Kept)] public static unsafe void FromBytes(int n) { sbyte b = 65; for (int i = 0; i < n; i++) Sink = new string(&b, 0, 1); }
        [MethodImpl(Kept)] public static void Created(int n) { for (int i = 0; i < n; i++) Sink = string.Create(5, i, (s, x) => s.Fill('q')); }
        [MethodImpl(Kept)] public static void Number(int n) { for (int i = 0; i < n; i++) Sink = (i + 1_000_000).ToString(); }
        [MethodImpl(Kept)] public static void Real(int n) { for (int i = 0; i < n; i++) Sink = (i * 1.5).ToString(); }
        [MethodImpl(Kept)] public static void Upper(int n) { for (int i = 0; i < n; i++) Sink = text.ToUpperInvariant(); }
        [MethodImpl(Kept)] public static void Built(int n) { for (int i = 0; i < n; i++) Sink = new StringBuilder().Append(i).Append(text).ToString(); }
        [MethodImpl(Kept)] public static void EnumText(int n) { for (int i = 0; i < n; i++) Sink = ((Color)(i % 3)).ToString(); }
        [MethodImpl(Kept)] public static void ForeignText(int n) { for (int i = 0; i < n; i++) Sink = Marshal.PtrToStringUni(foreign, 4); }

        // Arrays and collections.
        [MethodImpl(Kept)] public static void Initialized(int n) { for (int i = 0; i < n; i++) Sink = new ulong[] { 1, 2, 3, 4, 5, 6 }; }
        [MethodImpl(Kept)] public static void Doubles(int n) { for (int i = 0; i < n; i++) Sink = new double[i % 3 + 4 - i % 3]; }
        [MethodImpl(Kept)] public static unsafe void Pointers(int n) { for (int i = 0; i < n; i++) Sink = new int*[3]; }
        [MethodImpl(Kept)] public static void Instance(int n) { for (int i = 0; i < n; i++) Sink = Array.CreateInstance(typeof(Plain), 3); }
        [MethodImpl(Kept)] public static void InstanceOfRank2(int n) { for (int i = 0; i < n; i++) Sink = Array.CreateInstance(typeof(Plain), 2, 2); }
        [MethodImpl(Kept)] public static void LowerBound(int n) { for (int i = 0; i < n; i++) Sink = Array.CreateInstance(typeof(Held), new[] { 3 }, new[] { 1 }); }
        [MethodImpl(Kept)] public static void Resized(int n) { for (int i = 0; i < n; i++) { var a = new Key[2]; Array.Resize(ref a, 5); Sink = a; } }
        [MethodImpl(Kept)] public static void Grown(int n) { for (int i = 0; i < n; i++) { var l = new List<Held>(); for (int j = 0; j < 5; j++) l.Add(null); Sink = l; } }
        [MethodImpl(Kept)] public static void Mapped(int n) { for (int i = 0; i < n; i++) Sink = new Dictionary<int, string> { [i] = text }; }
        [MethodImpl(Kept)] public static void ToArray(int n) { for (int i = 0; i < n; i++) Sink = list.ToArray(); }
        [MethodImpl(Kept)] public static void Queried(int n) { for (int i = 0; i < n; i++) Sink = numbers.Select(x => x + 1).Where(x => x > 2).ToList(); }
        [MethodImpl(Kept)] public static void Sorted(int n) { for (int i = 0; i < n; i++) Sink = numbers.OrderBy(x => x).ToArray(); }
        [MethodImpl(Kept)] public static void EnumeratedArray(int n) { IEnumerable<int> all = numbers; for (int i = 0; i < n; i++) foreach (int x in all) sum += x; }
        [MethodImpl(Kept)] public static void EnumeratedList(int n) { IEnumerable<int> all = list; for (int i = 0; i < n; i++) foreach (int x in all) sum += x; }
        [MethodImpl(Kept)] public static void EnumeratedObjects(int n) { IEnumerable all = numbers; for (int i = 0; i < n; i++) foreach (object x in all) Sink = x; }
        [MethodImpl(Kept)] public static void EnumValues(int n) { for (int i = 0; i < n; i++) Sink = Enum.GetValues(typeof(Color)); }

        // Objects that others make.
        [MethodImpl(Kept)] static T Make<T>() where T : new() => new T();
        [MethodImpl(Kept)] public static void NewOfClass(int n) { for (int i = 0; i < n; i++) Sink = Make<New>(); }
        [MethodImpl(Kept)] public static void NewOfStruct(int n) { for (int i = 0; i < n; i++) Sink = Make<Answer>(); }
        [MethodImpl(Kept)] public static void ActivatedByType(int n) { for (int i = 0; i < n; i++) Sink = Activator.CreateInstance(typeof(Activated)); }
        [MethodImpl(Kept)] public static void ActivatedByArgument(int n) { for (int i = 0; i < n; i++) Sink = Activator.CreateInstance<Activated>(); }
        [MethodImpl(Kept)] public static void ActivatedWith(int n) { for (int i = 0; i < n; i++) Sink = Activator.CreateInstance(typeof(Constructed), i); }
        [MethodImpl(Kept)] public static void ActivatedMade(int n) { for (int i = 0; i < n; i++) Sink = Activator.CreateInstance(typeof(ActivatedGeneric<>).MakeGenericType(typeof(string))); }
        [MethodImpl(Kept)] public static void Invoke(int n) { for (int i = 0; i < n; i++) Sink = method.Invoke(null, null); }
        [MethodImpl(Kept)] public static Answer Answered() => new Answer(sum);
        [MethodImpl(Kept)] public static void InvokeConstructor(int n) { for (int i = 0; i < n; i++) Sink = constructor.Invoke(null); }
        [MethodImpl(Kept)] public static void ForeignStruct(int n) { for (int i = 0; i < n; i++) Sink = Marshal.PtrToStructure(foreign, typeof(Foreign)); }
        [MethodImpl(Kept)] public static void WeakTable(int n) { for (int i = 0; i < n; i++) { var t = new ConditionalWeakTable<Key, Held>(); t.Add(new Key(), new Held()); Sink = t; } }
        [MethodImpl(Kept)] public static void Weak(int n) { for (int i = 0; i < n; i++) Sink = new WeakReference<object>(locked); }
        [MethodImpl(Kept)] public static void Lazily(int n) { for (int i = 0; i < n; i++) Sink = new Lazy<Held>(() => new Held()).Value; }
        [MethodImpl(Kept)] public static void Threads(int n) { for (int i = 0; i < n; i++) Sink = new Thread(() => { }); }
        [MethodImpl(Kept)] public static void Locks(int n) { for (int i = 0; i < n; i++) { Sink = new SemaphoreSlim(1); Sink = new CancellationTokenSource(); } }
        [MethodImpl(Kept)] public static void Statics(int n) { Sink = Of<int>.Values; Sink = Of<string>.Values; Sink = Of<Held>.Boxed; sum += (int)Of<Key>.Boxed.A + (Of<long>.OfThread = new long[2]).Length; }

        // Delegates and tasks.
        [MethodImpl(Kept)] public static void OfStatic(int n) { for (int i = 0; i < n; i++) Sink = new Func<Answer>(Answered); }
        [MethodImpl(Kept)] public static void Removed(int n) { for (int i = 0; i < n; i++) Sink = both + first - second; }
        [MethodImpl(Kept)] public static void DelegateByReflection(int n) { for (int i = 0; i < n; i++) Sink = Delegate.CreateDelegate(typeof(Func<Answer>), method); }
        [MethodImpl(Kept)] public static void Completed(int n) { for (int i = 0; i < n; i++) Sink = Finish(i + 1000); }
        [MethodImpl(Kept)] static async Task<int> Finish(int i) { await Task.CompletedTask; return i; }
        [MethodImpl(Kept)] public static void FromResult(int n) { for (int i = 0; i < n; i++) Sink = Task.FromResult(new Answer(i)); }

        // Exceptions that the runtime makes.
        [MethodImpl(Kept)] public static void NullReference(int n) { for (int i = 0; i < n; i++) try { sum += Null(i).A; } catch (NullReferenceException e) { Sink = e; } }
        [MethodImpl(Kept)] static Thrower Null(int i) => i < 0 ? new Thrower() : null;
        [MethodImpl(Kept)] public static void OutOfRange(int n) { for (int i = 0; i < n; i++) try { sum += numbers[i + 3]; } catch (IndexOutOfRangeException e) { Sink = e; } }
        [MethodImpl(Kept)] public static void WrongCast(int n) { for (int i = 0; i < n; i++) try { Sink = (Thrower)locked; } catch (InvalidCastException e) { Sink = e; } }
        [MethodImpl(Kept)] public static void Overflow(int n) { for (int i = 0; i < n; i++) try { sum = checked(int.MaxValue - n + i + n + 1); } catch (OverflowException e) { Sink = e; } }

        // What a compiler may keep on the stack: then there is no object, which is the truth.
        [MethodImpl(Kept)] public static void LocalObject(int n) { for (int i = 0; i < n; i++) { var e = new Local { A = i }; sum += e.Get(); } }
        [MethodImpl(Kept)] public static void LocalBox(int n) { for (int i = 0; i < n; i++) { object o = new Answer(i); sum += o.GetHashCode(); } }
        [MethodImpl(Kept)] public static void LocalArray(int n) { for (int i = 0; i < n; i++) { var a = new byte[8]; a[i % 8] = 1; sum += a[3]; } }
        [MethodImpl(Kept)] public static void LocalSpan(int n) { for (int i = 0; i < n; i++) { Span<int> s = new int[4]; s[0] = i; sum += s[0]; } }
        [MethodImpl(Kept)] public static void LocalDelegate(int n) { for (int i = 0; i < n; i++) { int j = i; Func<int, int> f = x => x + j; sum += f(1); } }
    }
}
