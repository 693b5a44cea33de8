using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;
using Xunit.Abstractions;
using Xunit.Sdk;

namespace Clrprof.Xunit
{
    /// <summary>Tells xunit which framework [assembly: AllocationBudget] chooses.</summary>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public sealed class BudgetFrameworkDiscoverer : ITestFrameworkTypeDiscoverer
    {
        /// <summary>The type of the framework.</summary>
        public Type GetTestFrameworkType(IAttributeInfo attribute) => typeof(BudgetFramework);
    }

    /// <summary>The framework of xunit, which runs the methods of tests with a budget in its own way.</summary>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public sealed class BudgetFramework : XunitTestFramework
    {
        static readonly ConcurrentDictionary<string, bool> running = new ConcurrentDictionary<string, bool>();

        /// <summary>Is made by xunit.</summary>
        public BudgetFramework(IMessageSink messageSink) : base(messageSink) { }

        internal static bool IsRunning(Assembly tests) => running.ContainsKey(tests.GetName().Name);

        /// <summary>Runs the tests of an assembly.</summary>
        protected override ITestFrameworkExecutor CreateExecutor(AssemblyName assemblyName)
        {
            running[assemblyName.Name] = true;
            return new Executor(assemblyName, SourceInformationProvider, DiagnosticMessageSink);
        }

        sealed class Executor : XunitTestFrameworkExecutor
        {
            internal Executor(AssemblyName assemblyName, ISourceInformationProvider source, IMessageSink diagnostics)
                : base(assemblyName, source, diagnostics) { }

            protected override void RunTestCases(IEnumerable<IXunitTestCase> testCases, IMessageSink sink, ITestFrameworkExecutionOptions options)
                => base.RunTestCases(testCases.Select(BudgetTestCase.Wrap).ToList(), sink, options);
        }
    }

    /// <summary>A test case with a budget: all of it is another's, but how it runs.</summary>
    sealed class BudgetTestCase : IXunitTestCase
    {
        readonly XunitTestCase inner;

        BudgetTestCase(XunitTestCase inner) => this.inner = inner;

        internal static IXunitTestCase Wrap(IXunitTestCase testCase)
        {
            MethodInfo method = testCase.Method.ToRuntimeMethod();
            Type testClass = testCase.TestMethod.TestClass.Class.ToRuntimeType();
            if (method == null || testClass == null || AllocationBudgetAttribute.Of(method, testClass) == null)
                return testCase;
            if (testCase.GetType() == typeof(XunitTestCase) || testCase.GetType() == typeof(XunitTheoryTestCase))
                return new BudgetTestCase((XunitTestCase)testCase);
            if (testCase is ExecutionErrorTestCase || testCase is XunitSkippedDataRowTestCase)
                return testCase; // has nothing to run
            return new ExecutionErrorTestCase(new NullMessageSink(), TestMethodDisplay.ClassAndMethod, TestMethodDisplayOptions.None, testCase.TestMethod,
                "[AllocationBudget] counts what [Fact] and [Theory] run, not what " + testCase.GetType().FullName + " does");
        }

        public Task<RunSummary> RunAsync(IMessageSink diagnostics, IMessageBus bus, object[] constructorArguments, ExceptionAggregator aggregator,
                                         CancellationTokenSource cancellation)
        {
            XunitTestCaseRunner runner = inner is XunitTheoryTestCase
                ? new TheoryRunner(inner, constructorArguments, diagnostics, bus, aggregator, cancellation)
                : (XunitTestCaseRunner)new CaseRunner(inner, constructorArguments, bus, aggregator, cancellation);
            return runner.RunAsync();
        }

        public Exception InitializationException => inner.InitializationException;
        public IMethodInfo Method => inner.Method;
        public int Timeout => inner.Timeout;
        public string DisplayName => inner.DisplayName;
        public string SkipReason => inner.SkipReason;
        public ISourceInformation SourceInformation { get => inner.SourceInformation; set => inner.SourceInformation = value; }
        public ITestMethod TestMethod => inner.TestMethod;
        public object[] TestMethodArguments => inner.TestMethodArguments;
        public Dictionary<string, List<string>> Traits => inner.Traits;
        public string UniqueID => inner.UniqueID;
        public void Serialize(IXunitSerializationInfo info) => inner.Serialize(info);
        public void Deserialize(IXunitSerializationInfo info) => inner.Deserialize(info);

        // What follows only leads from xunit's runner of a test case to Invoker.

        sealed class CaseRunner : XunitTestCaseRunner
        {
            internal CaseRunner(XunitTestCase inner, object[] constructorArguments, IMessageBus bus, ExceptionAggregator aggregator,
                                CancellationTokenSource cancellation)
                : base(inner, inner.DisplayName, inner.SkipReason, constructorArguments, inner.TestMethodArguments, bus, aggregator, cancellation) { }

            protected override XunitTestRunner CreateTestRunner(ITest test, IMessageBus messageBus, Type testClass, object[] constructorArguments,
                MethodInfo testMethod, object[] testMethodArguments, string skipReason, IReadOnlyList<BeforeAfterTestAttribute> attributes,
                ExceptionAggregator aggregator, CancellationTokenSource cancellation)
                => new TestRunner(test, messageBus, testClass, constructorArguments, testMethod, testMethodArguments, skipReason, attributes,
                                  new ExceptionAggregator(aggregator), cancellation);
        }

        sealed class TheoryRunner : XunitTheoryTestCaseRunner
        {
            internal TheoryRunner(XunitTestCase inner, object[] constructorArguments, IMessageSink diagnostics, IMessageBus bus,
                                  ExceptionAggregator aggregator, CancellationTokenSource cancellation)
                : base(inner, inner.DisplayName, inner.SkipReason, constructorArguments, diagnostics, bus, aggregator, cancellation) { }

            protected override XunitTestRunner CreateTestRunner(ITest test, IMessageBus messageBus, Type testClass, object[] constructorArguments,
                MethodInfo testMethod, object[] testMethodArguments, string skipReason, IReadOnlyList<BeforeAfterTestAttribute> attributes,
                ExceptionAggregator aggregator, CancellationTokenSource cancellation)
                => new TestRunner(test, messageBus, testClass, constructorArguments, testMethod, testMethodArguments, skipReason, attributes,
                                  new ExceptionAggregator(aggregator), cancellation);
        }

        sealed class TestRunner : XunitTestRunner
        {
            internal TestRunner(ITest test, IMessageBus bus, Type testClass, object[] constructorArguments, MethodInfo testMethod,
                object[] testMethodArguments, string skipReason, IReadOnlyList<BeforeAfterTestAttribute> attributes, ExceptionAggregator aggregator,
                CancellationTokenSource cancellation)
                : base(test, bus, testClass, constructorArguments, testMethod, testMethodArguments, skipReason, attributes, aggregator, cancellation) { }

            protected override Task<decimal> InvokeTestMethodAsync(ExceptionAggregator aggregator)
                => new Invoker(Test, MessageBus, TestClass, ConstructorArguments, TestMethod, TestMethodArguments, BeforeAfterAttributes, aggregator,
                               CancellationTokenSource).RunAsync();
        }

        sealed class Invoker : XunitTestInvoker
        {
            internal Invoker(ITest test, IMessageBus bus, Type testClass, object[] constructorArguments, MethodInfo testMethod,
                object[] testMethodArguments, IReadOnlyList<BeforeAfterTestAttribute> attributes, ExceptionAggregator aggregator,
                CancellationTokenSource cancellation)
                : base(test, bus, testClass, constructorArguments, testMethod, testMethodArguments, attributes, aggregator, cancellation) { }

            protected override object CallTestMethod(object testClassInstance)
                => new CountedCall(DisplayName, TestClass, TestMethod, TestMethodArguments, testClassInstance).Run();
        }
    }
}
