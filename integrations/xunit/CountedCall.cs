using System;
using System.Globalization;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Clrprof.Control;

namespace Clrprof.Xunit
{
    /// <summary>
    /// A call of a test's method, of which the runtime tells what its thread allocated. Reflection allocates for each call, so the call is
    /// compiled beforehand: between the two looks at the runtime's counter only the method runs.
    /// </summary>
    sealed class CountedCall
    {
        readonly string test;
        readonly Type testClass;
        readonly MethodInfo method;
        readonly Func<Task> call; // null, if the method returns no task
        readonly AllocationBudgetAttribute budget;
        readonly int thread = Environment.CurrentManagedThreadId;
        volatile bool left; // a part of the test ran on another thread

        internal CountedCall(string test, Type testClass, MethodInfo method, object[] arguments, object instance)
        {
            this.test = test;
            this.testClass = testClass;
            this.method = method;
            budget = AllocationBudgetAttribute.Of(method, testClass);
            CheckKind();
            call = Compile(instance, arguments ?? new object[0]);
        }

        /// <summary>Runs the method, first as often as is to be warmed up; the budget is that of the last run.</summary>
        internal object Run()
        {
            var follower = new AsyncLocal<bool>(Follow) { Value = true };
            for (int i = 0; i < budget.WarmUp; i++)
            {
                Task task = call();
                if (task != null && (left || !task.IsCompleted))
                    return FailAfter(task);
                task?.GetAwaiter().GetResult();
            }
            Task result;
            long bytes;
            using (Profile.Section(test))
            {
                long before = GC.GetAllocatedBytesForCurrentThread();
                result = call();
                bytes = GC.GetAllocatedBytesForCurrentThread() - before;
            }
            follower.Value = false;
            if (result != null && (left || !result.IsCompleted))
                return FailAfter(result);
            result?.GetAwaiter().GetResult(); // what the test itself throws comes first
            if (bytes > budget.Bytes)
                throw new AllocationBudgetException(Explain(bytes));
            return result;
        }

        /// <summary>Is called where the test's context comes to another thread: what follows a wait, or what runs beside the test.</summary>
        void Follow(AsyncLocalValueChangedArgs<bool> change)
        {
            if (change.ThreadContextChanged && change.CurrentValue && Environment.CurrentManagedThreadId != thread)
                left = true;
        }

        async Task FailAfter(Task task)
        {
            await task;
            throw new AllocationBudgetException("what " + test + " allocated cannot be counted: a part of it ran on other threads, as what follows " +
                "a wait does. Let a test with a budget wait for nothing");
        }

        /// <summary>Refuses what ends before all of it has run.</summary>
        void CheckKind()
        {
            Type returns = method.ReturnType;
            bool isAsync = method.IsDefined(typeof(AsyncStateMachineAttribute));
            bool isFSharp = returns.IsGenericType && returns.GetGenericTypeDefinition().FullName == "Microsoft.FSharp.Control.FSharpAsync`1";
            if ((isAsync || isFSharp) && !typeof(Task).IsAssignableFrom(returns))
                throw new AllocationBudgetException("what " + test + " allocates cannot be counted: of asynchronous tests only those that return a " +
                    "Task can have a budget");
        }

        Func<Task> Compile(object instance, object[] arguments)
        {
            Type[] types = method.GetParameters().Select(p => p.ParameterType).ToArray();
            // By a delegate: the JIT would inline a small test, and leave out objects that nobody sees then.
            Type of = Expression.GetDelegateType(types.Append(method.ReturnType).ToArray());
            Expression target = Expression.Constant(method.IsStatic ? method.CreateDelegate(of) : method.CreateDelegate(of, instance));
            Expression body = Expression.Invoke(target, arguments.Select((a, i) => Expression.Constant(a, types[i])));
            body = typeof(Task).IsAssignableFrom(method.ReturnType)
                ? Expression.Convert(body, typeof(Task))
                : (Expression)Expression.Block(body, Expression.Constant(null, typeof(Task)));
            return Expression.Lambda<Func<Task>>(body).Compile();
        }

        string Explain(long bytes)
        {
            string function = testClass.FullName.Replace('+', '/') + "." + method.Name;
            string text = test + " allocated " + Number(bytes) + " bytes on its thread, and may allocate " + Number(budget.Bytes) + ".\n";
            if (!Profile.IsPresent)
                return text + "To see where and of which type: clrprof run -f -o tests.clrprof -- dotnet test --filter " +
                    "FullyQualifiedName=" + testClass.FullName + "." + method.Name + "\n" + Ask("tests.clrprof", function);
            Profile.CommentMark("over budget", Short(test + ": " + Number(bytes) + " bytes, " + Number(budget.Bytes) + " allowed"));
            return text + "Where and of which type, once clrprof run has ended and said what SESSION is called:\n" + Ask("SESSION", function);
        }

        static string Ask(string session, string function)
            => "clrprof report " + session + " lines --focus '" + function + "'\n" +
               "clrprof report " + session + " types --focus '" + function + "'";

        /// <summary>The text of a mark has at most 1,024 characters.</summary>
        static string Short(string text) => text.Length <= 1024 ? text : text.Substring(0, 1023) + "…";

        static string Number(long n) => n.ToString("N0", CultureInfo.InvariantCulture);
    }
}
