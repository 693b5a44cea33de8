// What the targets of time data know: how often each of their functions is called, by
// which one, and how often it ends because of an exception. See README.md.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;

/// <summary>
/// Calls, by callee and caller. All calls of a function are named, so that those of
/// all its callers add up to its own; functions of the classes Program, Truth and Calls,
/// and those whose name begins with Say, are not known. Thread-safe, since finalizers and threads count too.
/// </summary>
static class Calls
{
    struct Ends { public long Calls, Thrown, Running; }

    static readonly Dictionary<MethodBase, Ends> functions = new Dictionary<MethodBase, Ends>();
    static readonly Dictionary<(MethodBase, MethodBase), long> edges = new Dictionary<(MethodBase, MethodBase), long>();
    static readonly HashSet<MethodBase> withoutEdges = new HashSet<MethodBase>();
    static readonly HashSet<MethodBase> uncounted = new HashSet<MethodBase>();
    static readonly Dictionary<(MethodBase, MethodBase), long> externs = new Dictionary<(MethodBase, MethodBase), long>();
    static readonly Dictionary<MethodBase, long> roots = new Dictionary<MethodBase, long>();

    /// <summary>The callee was called so often by the caller; of these, so many ended by an exception.</summary>
    public static void By(MethodBase caller, MethodBase callee, long calls, long thrown = 0)
    {
        lock (functions)
        {
            edges.TryGetValue((caller, callee), out long before);
            edges[(caller, callee)] = before + calls;
            Count(callee, calls, thrown, 0);
        }
    }

    /// <summary>The callee was called so often, and nothing was on the stack that is recorded.</summary>
    public static void Root(MethodBase callee, long calls, long thrown = 0)
    {
        lock (functions)
        {
            roots.TryGetValue(callee, out long before);
            roots[callee] = before + calls;
            Count(callee, calls, thrown, 0);
        }
    }

    /// <summary>
    /// The callee was called so often. Who the caller is depends on the runtime: static
    /// constructors, tail calls, filters of exceptions.
    /// </summary>
    public static void Of(MethodBase callee, long calls, long thrown = 0)
    {
        lock (functions)
        {
            withoutEdges.Add(callee);
            Count(callee, calls, thrown, 0);
        }
    }

    /// <summary>A function without IL (DllImport, UnsafeAccessor) was called so often by the caller: only probes see that.</summary>
    public static void Extern(MethodBase caller, MethodBase callee, long calls)
    {
        lock (functions)
        {
            externs.TryGetValue((caller, callee), out long before);
            externs[(caller, callee)] = before + calls;
        }
    }

    /// <summary>So many calls of the function, counted elsewhere, do not end before the process does.</summary>
    public static void Running(MethodBase callee, long calls)
    {
        lock (functions)
            Count(callee, 0, 0, calls);
    }

    /// <summary>How often the function is called is not known.</summary>
    public static void Unknown(MethodBase function)
    {
        lock (functions)
            uncounted.Add(function);
    }

    static void Count(MethodBase callee, long calls, long thrown, long running)
    {
        functions.TryGetValue(callee, out Ends sum);
        sum.Calls += calls;
        sum.Thrown += thrown;
        sum.Running += running;
        functions[callee] = sum;
    }

    /// <summary>A method, static or not, of any visibility, that is declared in the type; .ctor and .cctor too.</summary>
    public static MethodBase Method(Type type, string name, params Type[] parameters)
    {
        const BindingFlags all = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
        MethodBase found = null;
        foreach (MemberInfo member in type.GetMembers(all))
        {
            var method = member as MethodBase;
            if (method == null || method.Name != name && !method.Name.EndsWith("." + name))
                continue;
            if (parameters.Length > 0 && !Same(method.GetParameters(), parameters))
                continue;
            if (found != null && method.Name.Length > found.Name.Length)
                continue; // that of an interface, with its name before its own
            found = method;
        }
        return found ?? throw new ArgumentException("no method " + name + " in " + type);
    }

    static bool Same(ParameterInfo[] has, Type[] wanted)
    {
        if (has.Length != wanted.Length)
            return false;
        for (int i = 0; i < has.Length; i++)
            if (has[i].ParameterType != wanted[i])
                return false;
        return true;
    }

    /// <summary>A function that the compiler made from a local function or a lambda: its name has the name in it.</summary>
    public static MethodBase Made(Type type, string part)
    {
        const BindingFlags all = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
        foreach (MethodInfo method in type.GetMethods(all))
            if (method.Name.Contains(part))
                return method;
        foreach (Type nested in type.GetNestedTypes(BindingFlags.NonPublic))
            foreach (MethodInfo method in nested.GetMethods(all))
                if (method.Name.Contains(part))
                    return method;
        throw new ArgumentException("no method with " + part + " in " + type);
    }

    /// <summary>
    /// The class in which the compiler keeps the lambdas of a type that capture nothing: it makes one object of it.
    /// </summary>
    public static void Lambdas(Type type)
    {
        Type holder = type.GetNestedType("<>c", BindingFlags.NonPublic);
        MethodBase cctor = Method(holder, ".cctor"), ctor = Method(holder, ".ctor");
        Of(cctor, 1);
        By(cctor, ctor, 1);
    }

    /// <summary>The state machine of an async method or of an iterator.</summary>
    public static Type Machine(MethodBase method) => method.GetCustomAttribute<StateMachineAttribute>().StateMachineType;

    /// <summary>Nothing is known any more.</summary>
    public static void Clear()
    {
        lock (functions)
        {
            functions.Clear();
            edges.Clear();
            withoutEdges.Clear();
            uncounted.Clear();
            externs.Clear();
            roots.Clear();
        }
    }

    /// <summary>Prints all rows, sorted, and those of Truth. Returns its exit code.</summary>
    public static int Print(int code = 0)
    {
        var rows = new List<string>();
        lock (functions)
        {
            foreach (KeyValuePair<MethodBase, Ends> f in functions)
                rows.Add(Row("calls", Function("", f.Key), "calls", f.Value.Calls, "thrown", f.Value.Thrown, "running", f.Value.Running, "callers", !withoutEdges.Contains(f.Key)));
            foreach (KeyValuePair<(MethodBase Caller, MethodBase Callee), long> e in edges)
                rows.Add(Row("call", Function("caller_", e.Key.Caller), Function("", e.Key.Callee), "calls", e.Value));
            foreach (KeyValuePair<(MethodBase Caller, MethodBase Callee), long> e in externs)
                rows.Add(Row("extern", Function("caller_", e.Key.Caller), Function("", e.Key.Callee), "calls", e.Value));
            foreach (KeyValuePair<MethodBase, long> r in roots)
                rows.Add(Row("call", Function("", r.Key), "calls", r.Value));
        }
        foreach (MethodBase f in uncounted)
            rows.Add(Row("uncounted", Function("", f)));
        rows.Sort(StringComparer.Ordinal);
        foreach (string row in rows)
            Console.WriteLine(row + "}");
        return Truth.Print(code);
    }

    /// <summary>The pairs of key and value that tell which function it is.</summary>
    public static object[] Function(string prefix, MethodBase f) => new object[] { prefix + "name", Truth.Name(f),
        prefix + "module", Truth.ModuleOf(f), prefix + "token", "0x" + f.MetadataToken.ToString("x8", CultureInfo.InvariantCulture) };

    /// <summary>As Truth.Row, where arrays of pairs may stand between the pairs.</summary>
    public static string Row(string kind, params object[] pairs)
    {
        var flat = new List<object>();
        foreach (object o in pairs)
        {
            if (o is object[] more)
                flat.AddRange(more);
            else
                flat.Add(o);
        }
        return Truth.Row(kind, flat.ToArray());
    }
}
