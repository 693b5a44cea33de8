// Interactions [N [THREADS [TEXTS]]]: executes commands of a database that is none, and sends requests to a server of its own, in every way
// in which such a call can begin and end, and knows of each text which function called it from which line, how often, how often it failed,
// and for how long: at least as long as the command itself measures, and at most as long as its caller does. TEXTS: it sends that many more
// texts, and one of 10 MB.

using System;
using System.Collections.Generic;
using System.Data;
using System.Data.Common;
using System.Diagnostics;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Interactions
{
    sealed class Row
    {
        public string Kind, Text, Function;
        public int Line;
        public long Count, Failed, Least, Most;
    }

    static class Tally
    {
        static readonly SortedDictionary<string, Row> rows = new SortedDictionary<string, Row>(StringComparer.Ordinal);

        /// <summary>A call as its caller sees it; least and most: in ticks, what was measured inside and outside.</summary>
        public static void Add(string kind, string text, string function, int line, bool failed, long least, long most)
        {
            lock (rows)
            {
                string key = kind + "|" + text + "|" + function + "|" + line;
                if (!rows.TryGetValue(key, out Row r))
                    rows[key] = r = new Row { Kind = kind, Text = text, Function = function, Line = line };
                r.Count++;
                r.Failed += failed ? 1 : 0;
                r.Least += least;
                r.Most += most;
            }
        }

        static string Quote(string text)
        {
            var s = new StringBuilder("\"");
            foreach (char c in text)
                s.Append(c < ' ' || c == '"' || c == '\\' ? "\\u" + ((int)c).ToString("x4") : c.ToString());
            return s.Append('"').ToString();
        }

        static long Nanoseconds(long ticks) => (long)(ticks * (1e9 / Stopwatch.Frequency));

        public static void Print(TextWriter to)
        {
            foreach (Row r in rows.Values)
                to.WriteLine("{{\"truth\":\"interaction\",\"kind\":\"{0}\",\"text\":{1},\"function\":\"{2}\",\"line\":{3},\"count\":{4},\"failed\":{5},\"least\":{6},\"most\":{7}}}",
                    r.Kind, Quote(r.Text), r.Function, r.Line, r.Count, r.Failed, Nanoseconds(r.Least), Nanoseconds(r.Most));
        }
    }

    sealed class Refused : DbException
    {
        public Refused() : base("refused") { }
    }

    /// <summary>What a command does: whoever wants to know how long it took asks it.</summary>
    class Command : DbCommand
    {
        public Action Work = () => { };
        public Func<Task> AsyncWork;
        public long Took; // ticks, of all that was done
        readonly string text;

        public Command(string text) => this.text = text;

        protected long Run()
        {
            long begin = Stopwatch.GetTimestamp();
            try
            {
                Work();
            }
            finally
            {
                Took += Stopwatch.GetTimestamp() - begin;
            }
            return 1;
        }

        public override string CommandText { get => text; set => throw new NotSupportedException(); }
        public override int ExecuteNonQuery() => (int)Run();
        public override object ExecuteScalar() => Run();
        protected override DbDataReader ExecuteDbDataReader(CommandBehavior behavior)
        {
            Run();
            return new DataTable().CreateDataReader();
        }

        public override async Task<int> ExecuteNonQueryAsync(CancellationToken cancellationToken)
        {
            if (AsyncWork == null)
                return await base.ExecuteNonQueryAsync(cancellationToken);
            long begin = Stopwatch.GetTimestamp();
            try
            {
                await AsyncWork().ConfigureAwait(false);
            }
            finally
            {
                Took += Stopwatch.GetTimestamp() - begin;
            }
            return 1;
        }

        public override int CommandTimeout { get; set; }
        public override CommandType CommandType { get; set; }
        public override bool DesignTimeVisible { get; set; }
        public override UpdateRowSource UpdatedRowSource { get; set; }
        protected override DbConnection DbConnection { get; set; }
        protected override DbParameterCollection DbParameterCollection => null;
        protected override DbTransaction DbTransaction { get; set; }
        protected override DbParameter CreateDbParameter() => throw new NotSupportedException();
        public override void Cancel() { }
        public override void Prepare() { }
    }

    /// <summary>Calls the command that it is derived from.</summary>
    sealed class Derived : Command
    {
        public Derived(string text) : base(text) { }
        public override int ExecuteNonQuery() => base.ExecuteNonQuery() + 1;
        public override Task<int> ExecuteNonQueryAsync(CancellationToken cancellationToken) => base.ExecuteNonQueryAsync(cancellationToken);
    }

    sealed class Generic<T> : Command
    {
        public Generic(string text) : base(text) { }
        public override object ExecuteScalar() => default(T) == null ? base.ExecuteScalar() : null;
    }

    static class Commands
    {
        const string Kind = "database";

        static void Note(Command c, long begin, bool failed, int line, string function) =>
            Tally.Add(Kind, c.CommandText, "Interactions.Commands." + function, line, failed, c.Took, Stopwatch.GetTimestamp() - begin);

        /// <summary>Out parameters are in memory, so that nothing is on the evaluation stack when a command is executed: lines are exact.</summary>
        static void At(out long begin, out int line, [CallerLineNumber] int at = 0)
        {
            line = at;
            begin = Stopwatch.GetTimestamp();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Plain(int n)
        {
            for (int i = 0; i < n; i++)
            {
                var c = new Command("INSERT INTO t VALUES (@p)") { Work = () => Thread.SpinWait(1000) };
                At(out long begin, out int line); c.ExecuteNonQuery();
                Note(c, begin, false, line, "Plain");
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Kinds(int n)
        {
            for (int i = 0; i < n; i++)
            {
                var c = new Command("SELECT count(*) FROM t");
                At(out long begin, out int line); c.ExecuteScalar();
                Note(c, begin, false, line, "Kinds");
                c.Took = 0;
                At(out begin, out line); using (c.ExecuteReader()) { }
                Note(c, begin, false, line, "Kinds");
                IDbCommand d = c;
                c.Took = 0;
                At(out begin, out line); using (d.ExecuteReader(CommandBehavior.Default)) { }
                Note(c, begin, false, line, "Kinds");
            }
        }

        /// <summary>What commands execute within commands is theirs.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Nested(int n)
        {
            for (int i = 0; i < n; i++)
            {
                var inner = new Command("inner");
                var c = new Command("outer") { Work = () => { inner.ExecuteScalar(); inner.ExecuteNonQuery(); } };
                At(out long begin, out int line); c.ExecuteNonQuery();
                Note(c, begin, false, line, "Nested");
                Command r = new Command("itself");
                int depth = 0;
                r.Work = () => { if (++depth % 20 != 0) r.ExecuteNonQuery(); };
                At(out begin, out line); r.ExecuteNonQuery();
                r.Took = 0;
                Note(r, begin, false, line, "Nested");
                var d = new Derived("derived");
                At(out begin, out line); d.ExecuteNonQuery();
                Note(d, begin, false, line, "Nested");
                var g = new Generic<string>("generic");
                At(out begin, out line); g.ExecuteScalar();
                Note(g, begin, false, line, "Nested");
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Fails(int n)
        {
            for (int i = 0; i < n; i++)
            {
                var c = new Command("fails") { Work = () => throw new Refused() };
                long begin = 0;
                int line = 0;
                try
                {
                    At(out begin, out line); c.ExecuteNonQuery();
                }
                catch (Refused)
                {
                    Note(c, begin, true, line, "Fails");
                }
                var inner = new Command("inner") { Work = () => throw new Refused() };
                c = new Command("recovers")
                {
                    Work = () => { try { inner.ExecuteNonQuery(); } catch (Refused) { } }
                };
                At(out begin, out line); c.ExecuteNonQuery();
                Note(c, begin, false, line, "Fails");
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Texts(int n)
        {
            for (int i = 0; i < n; i++)
                One("SELECT " + i % 7 + " /* \u00e4\ud83d\ude00 \"quoted\" */");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void One(string text)
        {
            var c = new Command(text);
            At(out long begin, out int line); c.ExecuteNonQuery();
            Note(c, begin, false, line, "One");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Many(int n)
        {
            new Command(new string('x', 5 << 20)).ExecuteNonQuery();
            for (int i = 0; i < n; i++)
                new Command("SELECT " + i + " FROM many").ExecuteNonQuery();
            new Command(null).ExecuteNonQuery();
        }

        /// <summary>Tasks that are complete at once, later, never successfully.</summary>
        public static async Task Tasks(int n)
        {
            for (int i = 0; i < n; i++)
            {
                var c = new Command("at once");
                At(out long begin, out int line); Task<int> t = c.ExecuteNonQueryAsync();
                Tally.Add(Kind, c.CommandText, "Interactions.Commands/<Tasks>.MoveNext", line, false, c.Took, Stopwatch.GetTimestamp() - begin);
                await t;
                foreach (string text in new[] { "later", "faults", "is cancelled" })
                {
                    c = text == "later" ? new Derived(text) : new Command(text);
                    var source = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
                    c.AsyncWork = () => source.Task;
                    At(out begin, out line); t = c.ExecuteNonQueryAsync(CancellationToken.None);
                    Complete(source, text);
                    try { await t; } catch (Refused) { } catch (OperationCanceledException) { }
                    Tally.Add(Kind, text, "Interactions.Commands/<Tasks>.MoveNext", line, text != "later", c.Took, Stopwatch.GetTimestamp() - begin);
                }
            }
        }

        static void Complete(TaskCompletionSource<int> source, string how) => ThreadPool.QueueUserWorkItem(_ =>
        {
            Thread.Sleep(1);
            if (how == "later")
                source.SetResult(1);
            else if (how == "faults")
                source.SetException(new Refused());
            else
                source.SetCanceled();
        });

        /// <summary>Nobody ever completes this one.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Task Never()
        {
            var c = new Command("never") { AsyncWork = () => new TaskCompletionSource<int>().Task };
            return c.ExecuteNonQueryAsync();
        }
    }

    static class Requests
    {
        static void At(out int line, [CallerLineNumber] int at = 0) => line = at;

        static void Serve(HttpListener listener)
        {
            for (;;)
            {
                HttpListenerContext c;
                try { c = listener.GetContext(); } catch (Exception) { return; }
                Thread.Sleep(1);
                c.Response.StatusCode = c.Request.Url.AbsolutePath == "/missing" ? 404 : 200;
                byte[] body = Encoding.UTF8.GetBytes("hello");
                c.Response.OutputStream.Write(body, 0, body.Length);
                c.Response.Close();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
        static Task Items(HttpClient client, string at, int i, out int line)
        {
            At(out line); Task t = client.GetAsync(at + "/items/1?secret=" + i + "#part");
            return t;
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
        static Task Missing(HttpClient client, string at, int i, out int line)
        {
            At(out line); Task t = client.GetAsync("/missing");
            return t;
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
        static Task Post(HttpClient client, string at, int i, out int line)
        {
            At(out line); Task t = client.PostAsync(new Uri(at.Replace("//", "//user:word@") + "/items"), new StringContent("x"));
            return t;
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
        static Task Text(HttpClient client, string at, int i, out int line)
        {
            At(out line); Task t = client.GetStringAsync("/text?q=1");
            return t;
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
        static Task Gone(HttpClient client, string at, int i, out int line)
        {
            At(out line); Task t = client.GetAsync(at + "/gone");
            return t;
        }

        public static async Task All(int n)
        {
            var listener = new HttpListener();
            int port = 0;
            for (int p = 20000 + Process.GetCurrentProcess().Id % 20000; port == 0; p++)
            {
                listener = new HttpListener();
                listener.Prefixes.Add("http://127.0.0.1:" + p + "/");
                try { listener.Start(); port = p; } catch (HttpListenerException) { }
            }
            new Thread(() => Serve(listener)) { IsBackground = true }.Start();
            string at = "http://127.0.0.1:" + port;
            int line;
            Task t;
            using (var client = new HttpClient { BaseAddress = new Uri(at) })
                for (int i = 0; i < n; i++)
                {
                    t = Items(client, at, i, out line);
                    await Call("GET " + at + "/items/1", line, t);
                    t = Missing(client, at, i, out line);
                    await Call("GET " + at + "/missing", line, t);
                    t = Post(client, at, i, out line);
                    await Call("POST " + at + "/items", line, t);
                    t = Text(client, at, i, out line);
                    await Call("GET " + at + "/text", line, t);
                }
            listener.Stop();
            using (var client = new HttpClient())
            {
                t = Gone(client, at, 0, out line);
                await Call("GET " + at + "/gone", line, t);
            }
        }

        static async Task Call(string text, int line, Task t)
        {
            long begin = Stopwatch.GetTimestamp();
            bool failed = false;
            try { await t; } catch (HttpRequestException) { failed = true; }
            Tally.Add("http", text, "Interactions.Requests/<All>.MoveNext", line, failed, 0, long.MaxValue / 4000000000L);
        }
    }

    static class Program
    {
        static int Number(string[] args, int i, int otherwise) => args.Length > i ? int.Parse(args[i]) : otherwise;

        static void Main(string[] args)
        {
            int n = Number(args, 0, 20), threads = Number(args, 1, 3), texts = Number(args, 2, 0);
            var all = new Thread[threads];
            for (int t = 0; t < threads; t++)
                (all[t] = new Thread(() =>
                {
                    Commands.Plain(n);
                    Commands.Kinds(n);
                    Commands.Nested(n);
                    Commands.Fails(n);
                    Commands.Texts(n);
                })).Start();
            foreach (Thread t in all)
                t.Join();
            Commands.Tasks(n).Wait();
            Requests.All(n).Wait();
            Task never = Commands.Never();
            if (texts > 0)
                Commands.Many(texts);
            Tally.Print(Console.Out);
            Console.WriteLine("{{\"truth\":\"unfinished\",\"count\":{0}}}", never.IsCompleted ? 0 : 1);
        }
    }
}
