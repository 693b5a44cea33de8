// Tests of several frameworks, whose attributes are here: what matters is their names.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Xunit
{
    public class FactAttribute : Attribute { }
    public class TheoryAttribute : FactAttribute { }
    public class InlineDataAttribute : Attribute { public InlineDataAttribute(params object[] data) { } }
}
namespace NUnit.Framework
{
    public class TestAttribute : Attribute { }
    [AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
    public class TestCaseAttribute : Attribute { public TestCaseAttribute(int n) { } }
    public class SetUpAttribute : Attribute { }
}
namespace Microsoft.VisualStudio.TestTools.UnitTesting
{
    public class TestMethodAttribute : Attribute { }
    public class DataTestMethodAttribute : TestMethodAttribute { }
    public class TestClassAttribute : Attribute { }
}
namespace Mine
{
    public class SlowAttribute : Xunit.TheoryAttribute { }
    public class FactAttribute : Attribute { } // of another namespace: it is none
    public class Outer { public class InnerAttribute : NUnit.Framework.TestAttribute { } }

    [Microsoft.VisualStudio.TestTools.UnitTesting.TestClass]
    public class Cases
    {
        [Xunit.Fact] public void Fact() { }
        [Obsolete, Xunit.InlineData(1), Xunit.Theory] public void Theory() { }
        [Xunit.Fact] public async Task Waits() { await Task.Yield(); }
        [NUnit.Framework.Test] public void Test() { }
        [NUnit.Framework.TestCase(1), NUnit.Framework.TestCase(2)] public void TestCase() { }
        [Microsoft.VisualStudio.TestTools.UnitTesting.TestMethod] public void TestMethod() { }
        [Microsoft.VisualStudio.TestTools.UnitTesting.DataTestMethod] public void DataTestMethod() { }
        [Slow] public void Slow() { }
        [Outer.Inner] public void Inner() { }

        [Fact] public void OfAnotherNamespace() { }
        [NUnit.Framework.SetUp] public void SetUp() { }
        [Xunit.InlineData(1)] public void DataAlone() { }
        [Obsolete] public async Task Helps() { await Task.Yield(); }
        public IEnumerable<int> Counts() { yield return 1; }
        public void None() { Action a = () => Console.WriteLine(this); a(); }
        public static void Main() { }
    }
}
