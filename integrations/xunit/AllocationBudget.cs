// Clrprof.Xunit: tests that may allocate only so much. docs/integrations.md tells what is counted.

using System;
using System.Reflection;
using Xunit.Sdk;

namespace Clrprof.Xunit
{
    /// <summary>
    /// Fails a test whose method allocates more than so many bytes: <c>[AllocationBudget(bytes: 0)]</c> on a method, or on a class
    /// for each of its tests. Once in each assembly with tests must stand <c>[assembly: AllocationBudget]</c>, which makes that budgets are
    /// looked at; with bytes it is the budget of all tests that have no other.
    /// </summary>
    [AttributeUsage(AttributeTargets.Assembly | AttributeTargets.Class | AttributeTargets.Method, AllowMultiple = false, Inherited = true)]
    [TestFrameworkDiscoverer("Clrprof.Xunit.BudgetFrameworkDiscoverer", "Clrprof.Xunit")]
    public sealed class AllocationBudgetAttribute : BeforeAfterTestAttribute, ITestFrameworkAttribute
    {
        /// <summary>No budget: of an assembly, that of methods and classes are looked at; of a method or class, that of the assembly does not
        /// hold.</summary>
        public AllocationBudgetAttribute() => Bytes = None;

        /// <summary>A budget.</summary>
        /// <param name="bytes">What the method may allocate on its thread, as the runtime counts: objects with their headers, in multiples of
        /// eight bytes. Not negative.</param>
        public AllocationBudgetAttribute(long bytes)
        {
            Bytes = bytes >= 0 ? bytes : throw new ArgumentOutOfRangeException(nameof(bytes), bytes, "a budget cannot be negative");
        }

        /// <summary>The value of Bytes where there is no budget.</summary>
        public const long None = -1;

        /// <summary>What may be allocated.</summary>
        public long Bytes { get; }

        /// <summary>How often the method is run before it counts, on the same object: for code that makes things at its first run that it keeps.</summary>
        public int WarmUp { get; set; }

        /// <summary>Is called before each test that has the attribute; a test whose budget nobody looks at fails.</summary>
        public override void Before(MethodInfo methodUnderTest)
        {
            if (!BudgetFramework.IsRunning(methodUnderTest.ReflectedType.Assembly))
                throw new InvalidOperationException("nobody looks at [AllocationBudget]: put [assembly: Clrprof.Xunit.AllocationBudget] into " +
                    "the project of the tests, as its only attribute that chooses a test framework");
        }

        /// <summary>The budget of a test: that of its method, else of its class, else of the assembly; null: none.</summary>
        internal static AllocationBudgetAttribute Of(MethodInfo method, Type testClass)
        {
            AllocationBudgetAttribute found = method.GetCustomAttribute<AllocationBudgetAttribute>()
                ?? testClass.GetCustomAttribute<AllocationBudgetAttribute>()
                ?? testClass.Assembly.GetCustomAttribute<AllocationBudgetAttribute>();
            return found == null || found.Bytes == None ? null : found;
        }
    }

    /// <summary>A test allocated more than it may, or what it allocated cannot be counted.</summary>
    public sealed class AllocationBudgetException : Exception
    {
        /// <summary>Makes one.</summary>
        public AllocationBudgetException(string message) : base(message) { }

        /// <summary>None: where the test allocated is not known here.</summary>
        public override string StackTrace => "";
    }
}
