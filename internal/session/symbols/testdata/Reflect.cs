// Names of methods as docs/symbols.md says, made from what reflection says: a
// second implementation, for tests to compare with. It leaves out what compilers
// generated.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;

static class Reflect
{
    const BindingFlags All = BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance;

    // Prints token, raw type, raw name, signature and the C# name, which is empty
    // for what it leaves out.
    public static void Print(Assembly assembly)
    {
        using var o = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16) { NewLine = "\n" };
        var module = assembly.ManifestModule;
        foreach (var t in assembly.GetTypes().OrderBy(t => t.MetadataToken))
        {
            var methods = t.GetMembers(All).OfType<MethodBase>().OrderBy(m => m.MetadataToken).ToArray();
            var names = methods.ToDictionary(m => m, m => Name(m, false));
            var again = new HashSet<string>(names.Values.GroupBy(n => n).Where(g => g.Count() > 1).Select(g => g.Key));
            foreach (var m in methods)
            {
                var name = again.Contains(names[m]) ? Name(m, true) : names[m];
                if (again.Contains(names[m]) && methods.Count(other => again.Contains(names[other]) && Name(other, true) == name) > 1)
                    name += " [" + m.MetadataToken.ToString("x8") + "]";
                var signature = BitConverter.ToString(module.ResolveSignature(m.MetadataToken)).Replace("-", "");
                o.WriteLine("{0:x8}\t{1}\t{2}\t{3}\t{4}", m.MetadataToken, RawType(t), m.Name, signature, Generated(m) ? "" : name);
            }
        }
    }

    static bool Generated(MethodBase m)
    {
        if (m.Name.Contains('<') || m.Name.IndexOf('.', 1) > 0) return true;
        for (var t = m.DeclaringType; t != null; t = t.DeclaringType) if (t.Name.Contains('<')) return true;
        return false;
    }

    static string RawType(Type t) => t.DeclaringType != null ? RawType(t.DeclaringType) + "/" + t.Name.Replace("\\", "")
        : t.Namespace == null ? t.Name : t.Namespace + "." + t.Name.Replace("\\", "");

    static string Name(MethodBase m, bool full)
    {
        var s = Path(m.DeclaringType, true, m.DeclaringType.GetGenericArguments(), true) + ".";
        var result = m is MethodInfo i ? i.ReturnType : null;
        if (m.Name == "op_Implicit") s += "implicit operator " + Use(result, full);
        else if (m.Name == "op_Explicit") s += "explicit operator " + Use(result, full);
        else if (m.Name == "op_CheckedExplicit") s += "explicit checked operator " + Use(result, full);
        else if (Operators.TryGetValue(m.Name, out var op)) s += "operator " + op;
        else s += m.Name;
        if (m.IsGenericMethod) s += "<" + string.Join(", ", m.GetGenericArguments().Select(a => a.Name)) + ">";
        var list = m.GetParameters().Select(p => Parameter(p, full)).ToList();
        if ((m.CallingConvention & CallingConventions.VarArgs) != 0) list.Add("__arglist");
        return s + "(" + string.Join(", ", list) + ")";
    }

    static string Parameter(ParameterInfo p, bool full)
    {
        var t = p.ParameterType;
        // Only modified types know which references of a function pointer are out or in.
        if (Get(t, "IsFunctionPointer") is bool b && b) t = (Type)typeof(ParameterInfo).GetMethod("GetModifiedParameterType").Invoke(p, null);
        if (!t.IsByRef) return Use(t, full);
        var required = p.GetRequiredCustomModifiers().Select(m => m.Name).ToArray();
        var word = p.IsOut && !p.IsIn || required.Contains("OutAttribute") ? "out " : p.IsIn && !p.IsOut || required.Contains("InAttribute") ? "in " : "ref ";
        return word + Use(t.GetElementType(), full);
    }

    // Word is what C# writes before a reference in a function pointer.
    static string Word(Type t)
    {
        if (!t.IsByRef) return "";
        var required = ((Type[])Get(t, "GetRequiredCustomModifiers")).Select(m => m.Name).ToArray();
        return required.Contains("OutAttribute") ? "out " : required.Contains("InAttribute") ? "in " : "ref ";
    }

    static object Get(Type t, string member)
    {
        var p = typeof(Type).GetMethod("get_" + member) ?? typeof(Type).GetMethod(member);
        return p == null ? null : p.Invoke(t, null);
    }

    static string Use(Type t, bool full)
    {
        if (t.IsByRef) return "ref " + Use(t.GetElementType(), full);
        if (t.IsPointer) return Use(t.GetElementType(), full) + "*";
        if (t.IsArray)
        {
            var suffix = "";
            for (; t.IsArray; t = t.GetElementType()) suffix += "[" + new string(',', t.GetArrayRank() - 1) + "]";
            return Use(t, full) + suffix;
        }
        if (Get(t, "IsFunctionPointer") is bool b && b)
            return "delegate*<" + string.Join(", ", ((Type[])Get(t, "GetFunctionPointerParameterTypes")).Append((Type)Get(t, "GetFunctionPointerReturnType")).Select(a => Word(a) + Use(a.IsByRef ? a.UnderlyingSystemType.GetElementType() : a.UnderlyingSystemType, full))) + ">";
        if (t.IsGenericParameter) return t.Name;
        if (t.IsGenericType && t.GetGenericTypeDefinition() == typeof(Nullable<>)) return Use(t.GetGenericArguments()[0], full) + "?";
        if (t.DeclaringType == null && t.Namespace == "System" && Keywords.TryGetValue(t.Name, out var k)) return k;
        return Path(t, full, t.GetGenericArguments(), full);
    }

    // Path writes the nesting of a type; each level takes its own arguments.
    static string Path(Type t, bool space, Type[] args, bool full)
    {
        var s = t.DeclaringType != null ? Path(t.DeclaringType, space, args, full) + "." : space && !string.IsNullOrEmpty(t.Namespace) ? t.Namespace + "." : "";
        int from = t.DeclaringType == null ? 0 : t.DeclaringType.GetGenericArguments().Length, to = t.GetGenericArguments().Length;
        var name = t.Name.Replace("\\", "");
        var tick = name.LastIndexOf('`');
        s += tick > 0 ? name.Substring(0, tick) : name;
        return from == to ? s : s + "<" + string.Join(", ", args.Skip(from).Take(to - from).Select(a => Use(a, full))) + ">";
    }

    static readonly Dictionary<string, string> Keywords = new Dictionary<string, string>
    {
        ["Boolean"] = "bool", ["Byte"] = "byte", ["SByte"] = "sbyte", ["Char"] = "char", ["Decimal"] = "decimal", ["Double"] = "double",
        ["Single"] = "float", ["Int32"] = "int", ["UInt32"] = "uint", ["IntPtr"] = "nint", ["UIntPtr"] = "nuint", ["Int64"] = "long",
        ["UInt64"] = "ulong", ["Int16"] = "short", ["UInt16"] = "ushort", ["Object"] = "object", ["String"] = "string", ["Void"] = "void",
    };

    static readonly Dictionary<string, string> Operators = new Dictionary<string, string>
    {
        ["op_UnaryPlus"] = "+", ["op_UnaryNegation"] = "-", ["op_LogicalNot"] = "!", ["op_OnesComplement"] = "~", ["op_Increment"] = "++",
        ["op_Decrement"] = "--", ["op_True"] = "true", ["op_False"] = "false", ["op_Addition"] = "+", ["op_Subtraction"] = "-",
        ["op_Multiply"] = "*", ["op_Division"] = "/", ["op_Modulus"] = "%", ["op_BitwiseAnd"] = "&", ["op_BitwiseOr"] = "|",
        ["op_ExclusiveOr"] = "^", ["op_LeftShift"] = "<<", ["op_RightShift"] = ">>", ["op_UnsignedRightShift"] = ">>>",
        ["op_Equality"] = "==", ["op_Inequality"] = "!=", ["op_LessThan"] = "<", ["op_GreaterThan"] = ">", ["op_LessThanOrEqual"] = "<=",
        ["op_GreaterThanOrEqual"] = ">=", ["op_CheckedUnaryNegation"] = "checked -", ["op_CheckedIncrement"] = "checked ++",
        ["op_CheckedDecrement"] = "checked --", ["op_CheckedAddition"] = "checked +", ["op_CheckedSubtraction"] = "checked -",
        ["op_CheckedMultiply"] = "checked *", ["op_CheckedDivision"] = "checked /",
    };
}
