// What all targets share: they know what they allocate, check it against the
// runtime, and print it. See README.md for what is printed.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;

/// <summary>Sizes of objects on the heap of a 64-bit runtime, in bytes.</summary>
static class Size
{
    static long Align(long n) => (n + 7) & ~7L;

    /// <summary>A class instance: header, method table, fields.</summary>
    public static long Object(long fields) => Math.Max(24, Align(16 + fields));

    /// <summary>A one-dimensional array: header, method table, length, elements.</summary>
    public static long Array(long element, long length) => Align(24 + element * length);

    /// <summary>An array of higher rank, or with lower bounds: two ints more for each rank.</summary>
    public static long Array(int rank, long element, long length) => Align(24 + 8 * rank + element * length);

    /// <summary>A string: header, method table, length, characters, a final NUL.</summary>
    public static long String(long length) => Align(22 + 2 * length);

    /// <summary>A delegate: target, method, two code pointers, invocation list and count.</summary>
    public const long Delegate = 64;
}

/// <summary>What one run of a body, per unit of work, allocates of a type.</summary>
readonly struct Made
{
    public readonly Type Type;
    public readonly long Objects, Bytes; // Bytes of all the Objects

    public Made(Type type, long objects, long bytesOfEach)
    {
        Type = type; Objects = objects; Bytes = objects * bytesOfEach;
    }
}

static class Truth
{
    sealed class Sum
    {
        public long Objects, Bytes;
    }

    static readonly SortedDictionary<string, Sum> rows = new SortedDictionary<string, Sum>(StringComparer.Ordinal);
    static readonly int pid = System.Diagnostics.Process.GetCurrentProcess().Id;
    static readonly string rootNamespace = typeof(Truth).Assembly.GetName().Name;
    static int line;
    static string file;
    static bool wrong;

    /// <summary>
    /// Remembers the line it is called from. A body calls it on the very line that
    /// allocates. It allocates nothing.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Here([CallerLineNumber] int line = 0, [CallerFilePath] string file = null)
    {
        Truth.line = line; Truth.file = file;
    }

    /// <summary>
    /// Runs a body that allocates all objects itself: in its own code, not in
    /// functions that it calls. It is run for 1 unit of work, so that all is
    /// compiled and loaded, and then for <paramref name="units"/>.
    /// </summary>
    public static void Exclusive(Action<int> body, int units, params Made[] made)
    {
        Run(body, units, made, true);
        Count(body, units, made);
    }

    /// <summary>As Exclusive, for large arrays.</summary>
    public static void ExclusiveLarge(Action<int> body, int units, params Made[] made)
    {
        Run(body, units, made, LargeArraysAreMeasured);
        Count(body, units, made);
    }

    static void Count(Action<int> body, int units, Made[] made)
    {
        foreach (Made m in made)
        {
            Site(body.Method, m.Type, m.Objects * (units + 1), m.Bytes * (units + 1));
            if (line != 0)
                Add(Row("line", "file", Path.GetFileName(file), "line", line, "function", Name(body.Method)), m.Objects * (units + 1), m.Bytes * (units + 1));
        }
    }

    /// <summary>As Exclusive, where the body is run by others and what it makes is all that is made.</summary>
    public static void ExclusiveIn(MethodBase function, Action<int> run, int units, params Made[] made)
    {
        Run(run, units, made, true);
        foreach (Made m in made)
        {
            Site(function, m.Type, m.Objects * (units + 1), m.Bytes * (units + 1));
            Below(run.Method, m.Type, m.Objects * (units + 1), m.Bytes * (units + 1));
        }
    }

    /// <summary>Runs a body whose objects are allocated by functions that it calls.</summary>
    public static void Inclusive(Action<int> body, int units, params Made[] made)
    {
        Run(body, units, made, true);
        foreach (Made m in made)
            Below(body.Method, m.Type, m.Objects * (units + 1), m.Bytes * (units + 1));
    }

    static void Run(Action<int> body, int units, Made[] made, bool check)
    {
        line = 0;
        body(1);
        long before = GC.GetAllocatedBytesForCurrentThread();
        body(units);
        long measured = GC.GetAllocatedBytesForCurrentThread() - before;
        if (check)
            Check(Name(body.Method), units, units * made.Sum(m => m.Bytes), measured);
    }

    /// <summary>.NET Core 3.1 makes large arrays without noting which thread did.</summary>
    public static bool LargeArraysAreMeasured => Environment.Version.Major >= 5;

    /// <summary>
    /// Compares what a phase should allocate with what the runtime says it did.
    /// .NET Core 3.1 makes a few arrays of its own (sbyte[], 40 bytes) on the thread
    /// that runs, where a call of an interface method is bound, not only the first
    /// time. There, only what a wrong size or count must show is wrong: 8 bytes for
    /// each unit of work.
    /// </summary>
    public static void Check(string what, long units, long expected, long measured)
    {
        long more = measured - expected;
        if (more == 0 || Environment.Version.Major < 5 && more > 0 && more < 8 * units)
            return;
#if TRIMMED // measured is what all threads made, those of the runtime, too
        if (more > 0)
            return;
#endif
        wrong = true;
        Console.WriteLine(Row("wrong", "name", what, "expected", expected, "measured", measured) + "}");
    }

    /// <summary>The function itself made these; they also count as made below it.</summary>
    public static void Site(MethodBase function, Type type, long objects, long bytes)
    {
        Add(FunctionRow("exclusive", function, type), objects, bytes);
        Below(function, type, objects, bytes);
        if (type.Namespace == rootNamespace)
            Add(Row("type", "name", Name(type)), objects, bytes);
    }

    /// <summary>The function, or functions below it on the stack, made these.</summary>
    public static void Below(MethodBase function, Type type, long objects, long bytes) =>
        Add(FunctionRow("inclusive", function, type), objects, bytes);

    /// <summary>All objects of a type, where Site has not counted them.</summary>
    public static void OfType(Type type, long objects, long bytes) => Add(Row("type", "name", Name(type)), objects, bytes);

    /// <summary>Objects made on the threads of that name by a function and those below it.</summary>
    public static void OnThread(string thread, MethodBase function, Type type, long objects, long bytes) =>
        Add(Row("thread", "name", thread, "function", Name(function), "type", Name(type)), objects, bytes);

    /// <summary>The runtime's own count of all that a function and those below it made.</summary>
    public static void Total(MethodBase function, long bytes) => Add(Row("total", "name", Name(function)), 0, bytes);

    /// <summary>Puts the process id into each row, where several processes print to one place.</summary>
    public static bool WithPid;

    static string FunctionRow(string scope, MethodBase function, Type type)
    {
        bool method = function.DeclaringType != null; // else a dynamic method: no module, no token
        int token = method ? function.MetadataToken : 0;
        return Row("function", "scope", scope, "name", Name(function), "module", method ? ModuleOf(function) : "",
            "token", "0x" + token.ToString("x8", CultureInfo.InvariantCulture), "type", Name(type));
    }

    /// <summary>The file of the module; its own name where there is none, or that of its assembly, if it was emitted.</summary>
    public static string ModuleOf(MethodBase function)
    {
        Assembly assembly = function.DeclaringType.Assembly;
        bool file = !assembly.IsDynamic && assembly.Location != ""; // in a single-file application there is none
        return file ? Path.GetFileName(assembly.Location) : assembly.IsDynamic ? assembly.GetName().Name : function.Module.ScopeName;
    }

    public static void Add(string row, long objects, long bytes)
    {
        if (!rows.TryGetValue(row, out Sum sum))
            rows.Add(row, sum = new Sum());
        sum.Objects += objects;
        sum.Bytes += bytes;
    }

    /// <summary>One JSON object without its end, of a kind and pairs of key and value.</summary>
    public static string Row(string kind, params object[] pairs)
    {
        var b = new StringBuilder("{\"truth\":\"" + kind + "\"");
        if (WithPid)
            b.Append(",\"pid\":").Append(pid);
        for (int i = 0; i < pairs.Length; i += 2)
        {
            b.Append(",\"").Append(pairs[i]).Append("\":");
            if (pairs[i + 1] is string s)
                b.Append('"').Append(s.Replace("\\", "\\\\").Replace("\"", "\\\"")).Append('"');
            else if (pairs[i + 1] is bool flag)
                b.Append(flag ? "true" : "false");
            else
                b.Append(Convert.ToString(pairs[i + 1], CultureInfo.InvariantCulture));
        }
        return b.ToString();
    }

    /// <summary>Prints one row at once, for what is known before the end.</summary>
    public static void Say(string kind, params object[] pairs)
    {
        Console.WriteLine(Row(kind, pairs) + "}");
        Console.Out.Flush();
    }

    /// <summary>Prints all rows, sorted. Returns the exit code: 0, or 99 if a check was wrong.</summary>
    public static int Print(int code = 0)
    {
        foreach (KeyValuePair<string, Sum> row in rows)
            Console.WriteLine(row.Key + ",\"objects\":" + row.Value.Objects + ",\"bytes\":" + row.Value.Bytes + "}");
        rows.Clear();
        Console.WriteLine(Row("end", "ok", !wrong) + "}");
        Console.Out.Flush();
        return wrong ? 99 : code;
    }

    /// <summary>The body of an async method or of an iterator: its state machine's MoveNext.</summary>
    public static MethodInfo Body(MethodInfo method)
    {
        var machine = method.GetCustomAttribute<StateMachineAttribute>();
        return machine.StateMachineType.GetMethod("MoveNext", BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public);
    }

    /// <summary>The method of a class by its name, whatever its visibility.</summary>
    public static MethodInfo Method(Type type, string name) =>
        type.GetMethod(name, BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly);

    /// <summary>Namespace.Outer.Method; a constructor is .ctor, as in metadata.</summary>
    public static string Name(MethodBase method) =>
        method.DeclaringType == null ? method.Name : Name(method.DeclaringType) + "." + method.Name;

    /// <summary>Namespace.Outer.Inner&lt;Namespace.Argument,…&gt;[,]: full names, no C# keywords, no spaces.</summary>
    public static string Name(Type type)
    {
        if (type.IsArray)
            return ArrayName(type);
        if (type.IsGenericParameter)
            return type.Name;
        Type[] arguments = type.GetGenericArguments();
        int used = type.DeclaringType == null ? 0 : type.DeclaringType.GetGenericArguments().Length;
        string name = type.Name;
        int tick = name.IndexOf('`');
        if (tick >= 0)
            name = name.Substring(0, tick) + "<" + string.Join(",", arguments.Skip(used).Select(Name)) + ">";
        if (type.DeclaringType == null)
            return string.IsNullOrEmpty(type.Namespace) ? name : type.Namespace + "." + name;
        Type outer = type.DeclaringType;
        if (used > 0)
            outer = outer.MakeGenericType(arguments.Take(used).ToArray());
        return Name(outer) + "." + name;
    }

    // As in C#, the outer rank comes first: int[,][] is a plane of rows.
    static string ArrayName(Type type)
    {
        string ranks = "";
        while (type.IsArray)
        {
            // One rank with a lower bound is another type than one without.
            ranks += type.Name.EndsWith("[*]") ? "[*]" : "[" + new string(',', type.GetArrayRank() - 1) + "]";
            type = type.GetElementType();
        }
        return Name(type) + ranks;
    }
}
