// Attributes by which test frameworks know tests and their cases, under the names that those have: NUnit and MSTest themselves are not
// needed to see how clrprof tells cases apart.
using System;

namespace Xunit
{
    public class FactAttribute : Attribute { }
    public class TheoryAttribute : FactAttribute { }
    [AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
    public sealed class InlineDataAttribute : Attribute { public InlineDataAttribute(params object[] data) { } }
}

namespace NUnit.Framework
{
    public sealed class TestAttribute : Attribute { }
    [AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
    public sealed class TestCaseAttribute : Attribute { public TestCaseAttribute(params object[] data) { } }
}

namespace Microsoft.VisualStudio.TestTools.UnitTesting
{
    public class TestMethodAttribute : Attribute { }
    [AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
    public sealed class DataRowAttribute : Attribute { public DataRowAttribute(params object[] data) { } }
}
