// Clrprof.BenchmarkDotNet: what benchmarks allocate and call, exactly. docs/integrations.md tells what the columns mean.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Threading;
using BenchmarkDotNet.Analysers;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Engines;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Validators;

namespace Clrprof.BenchmarkDotNet
{
    /// <summary>Records each benchmark of a class once more with clrprof, and tells what an operation allocates.</summary>
    [AttributeUsage(AttributeTargets.Class | AttributeTargets.Assembly)]
    public sealed class ClrprofDiagnoserAttribute : Attribute, IConfigSource
    {
        /// <summary>Makes one.</summary>
        /// <param name="calls">Also count calls. They are seen by probes in the code, which is not optimized as it is without: it can allocate
        /// more.</param>
        public ClrprofDiagnoserAttribute(bool calls = false) => Config = ManualConfig.CreateEmpty().AddClrprof(calls);

        /// <summary>The diagnoser, and what belongs to it.</summary>
        public IConfig Config { get; }
    }

    /// <summary>For those who have no attribute, but a config.</summary>
    public static class ClrprofConfig
    {
        /// <summary>Adds the diagnoser, and what belongs to it.</summary>
        public static ManualConfig AddClrprof(this ManualConfig config, bool calls = false)
        {
            var diagnoser = new ClrprofDiagnoser(calls);
            return config.AddDiagnoser(diagnoser).AddLogger(diagnoser.Operations).AddColumn(new TypesColumn(diagnoser));
        }
    }

    /// <summary>Records a run of its own of each benchmark. Recorded are the iterations that BenchmarkDotNet calls actual, no setup, pilot or
    /// warm-up.</summary>
    public sealed class ClrprofDiagnoser : IDiagnoser
    {
        readonly bool calls;
        readonly Dictionary<BenchmarkCase, Result> results = new Dictionary<BenchmarkCase, Result>();
        Recording recording; // of the benchmark that runs now; benchmarks run one after the other
        string failure;      // why there is none

        internal ClrprofDiagnoser(bool calls) => this.calls = calls;

        internal OperationsLogger Operations { get; } = new OperationsLogger();

        internal Result Of(BenchmarkCase benchmark) => results.TryGetValue(benchmark, out Result r) ? r : null;

        /// <summary>Its name.</summary>
        public IEnumerable<string> Ids => new[] { nameof(ClrprofDiagnoser) };

        /// <summary>None.</summary>
        public IEnumerable<IExporter> Exporters => Array.Empty<IExporter>();

        /// <summary>None.</summary>
        public IEnumerable<IAnalyser> Analysers => Array.Empty<IAnalyser>();

        /// <summary>A run of its own, whose times are in no result.</summary>
        public global::BenchmarkDotNet.Diagnosers.RunMode GetRunMode(BenchmarkCase benchmarkCase)
            => IsRecorded(benchmarkCase) ? global::BenchmarkDotNet.Diagnosers.RunMode.ExtraRun : global::BenchmarkDotNet.Diagnosers.RunMode.None;

        static bool IsRecorded(BenchmarkCase benchmark) => OperatingSystem.IsLinux() && benchmark.Job.Infrastructure.Toolchain?.IsInProcess != true;

        /// <summary>Says what cannot be recorded.</summary>
        public IEnumerable<ValidationError> Validate(ValidationParameters parameters)
        {
            if (!OperatingSystem.IsLinux())
                yield return new ValidationError(false, "clrprof records on Linux only: its columns are left out");
            else if (Recording.FindClrprof() == null)
                yield return new ValidationError(true, "[ClrprofDiagnoser] finds no clrprof: put it on the PATH, or its path into the variable CLRPROF");
            foreach (BenchmarkCase b in parameters.Benchmarks.Where(b => OperatingSystem.IsLinux() && !IsRecorded(b)))
                yield return new ValidationError(false, "clrprof records a process from its start: it leaves out what runs in the process of BenchmarkDotNet", b);
        }

        /// <summary>Is called by BenchmarkDotNet as a run goes on. The benchmark waits for some of these, so none may throw.</summary>
        public void Handle(HostSignal signal, DiagnoserActionParameters parameters)
        {
            try
            {
                switch (signal)
                {
                    case HostSignal.BeforeProcessStart:
                        failure = null;
                        recording?.Dispose();
                        recording = null;
                        recording = Recording.Start(parameters, calls);
                        break;
                    case HostSignal.BeforeActualRun when recording != null:
                        recording.Resume();
                        Operations.Begin();
                        break;
                    case HostSignal.AfterActualRun when recording != null:
                        recording.Pause();
                        Operations.End();
                        break;
                    case HostSignal.AfterProcessExit when recording != null:
                        recording.End();
                        break;
                }
            }
            catch (Exception e) when (e is IOException || e is InvalidOperationException || e is System.ComponentModel.Win32Exception)
            {
                failure = failure ?? e.Message;
            }
        }

        /// <summary>The numbers of a benchmark that has run.</summary>
        public IEnumerable<Metric> ProcessResults(DiagnoserResults diagnoserResults)
        {
            Result r;
            try
            {
                r = recording == null || failure != null
                    ? new Result(failure ?? "nothing was recorded", recording?.Session)
                    : Result.Read(recording, diagnoserResults.BenchmarkCase, Operations.Count, calls);
            }
            catch (Exception e) when (e is IOException || e is InvalidOperationException || e is System.Text.Json.JsonException)
            {
                r = new Result(e.Message, recording.Session);
            }
            results[diagnoserResults.BenchmarkCase] = r;
            if (r.Failure != null)
                yield break;
            yield return new Metric(Descriptor.Objects, r.PerOperation(r.Objects));
            yield return new Metric(Descriptor.Bytes, r.PerOperation(r.Bytes));
            if (calls)
                yield return new Metric(Descriptor.Calls, r.PerOperation(r.Calls));
        }

        /// <summary>Prints below the table what each benchmark allocates, by type and call path.</summary>
        public void DisplayResults(ILogger logger)
        {
            foreach (KeyValuePair<BenchmarkCase, Result> of in results)
                of.Value.Print(logger, of.Key);
        }
    }

    /// <summary>Counts the operations of the actual iterations: BenchmarkDotNet tells them only to loggers.</summary>
    sealed class OperationsLogger : ILogger
    {
        static int made;
        bool counts;

        /// <summary>The operations since Begin, up to End.</summary>
        internal long Count { get; private set; }

        internal void Begin() => (Count, counts) = (0, true);

        internal void End() => counts = false;

        public string Id { get; } = nameof(OperationsLogger) + Interlocked.Increment(ref made).ToString(CultureInfo.InvariantCulture);
        public int Priority => 0;
        public void Write(LogKind logKind, string text) { }
        public void WriteLine() { }
        public void Flush() { }

        public void WriteLine(LogKind logKind, string text)
        {
            if (!counts || !text.StartsWith("WorkloadActual", StringComparison.Ordinal))
                return;
            Measurement m = Measurement.Parse(text, 0);
            if (m.Is(IterationMode.Workload, IterationStage.Actual))
                Count += m.Operations;
        }
    }
}
