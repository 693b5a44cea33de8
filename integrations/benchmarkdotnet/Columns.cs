using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;

namespace Clrprof.BenchmarkDotNet
{
    /// <summary>A column of numbers.</summary>
    sealed class Descriptor : IMetricDescriptor
    {
        internal static readonly Descriptor Objects = new Descriptor("ClrprofObjects", "Objects/op", UnitType.Dimensionless, "Count", 0,
            "Objects that an operation allocates on its thread, exact (clrprof)");
        internal static readonly Descriptor Bytes = new Descriptor("ClrprofBytes", "Bytes/op", UnitType.Size, "B", 1,
            "Bytes of these objects, exact (clrprof)");
        internal static readonly Descriptor Calls = new Descriptor("ClrprofCalls", "Calls/op", UnitType.Dimensionless, "Count", 2,
            "Calls of the benchmark and of what it calls in code of its assembly, and from there in other code, exact (clrprof)");

        Descriptor(string id, string name, UnitType unitType, string unit, int priority, string legend)
        {
            (Id, DisplayName, UnitType, Unit, PriorityInCategory, Legend) = (id, name, unitType, unit, priority, legend);
        }

        public string Id { get; }
        public string DisplayName { get; }
        public string Legend { get; }
        public string NumberFormat => "#,0.####";
        public UnitType UnitType { get; }
        public string Unit { get; }
        public bool TheGreaterTheBetter => false;
        public int PriorityInCategory { get; }
        public bool GetIsAvailable(Metric metric) => true;
    }

    /// <summary>The column of types.</summary>
    sealed class TypesColumn : IColumn
    {
        readonly ClrprofDiagnoser diagnoser;

        internal TypesColumn(ClrprofDiagnoser diagnoser) => this.diagnoser = diagnoser;

        public string Id => nameof(TypesColumn);
        public string ColumnName => "Types/op";
        public string GetValue(Summary summary, BenchmarkCase benchmarkCase) => diagnoser.Of(benchmarkCase)?.Types() ?? "?";
        public string GetValue(Summary summary, BenchmarkCase benchmarkCase, SummaryStyle style) => GetValue(summary, benchmarkCase);
        public bool IsDefault(Summary summary, BenchmarkCase benchmarkCase) => false;
        public bool IsAvailable(Summary summary) => true;
        public bool AlwaysShow => true;
        public ColumnCategory Category => ColumnCategory.Metric;
        public int PriorityInCategory => 100;
        public bool IsNumeric => false;
        public UnitType UnitType => UnitType.Dimensionless;
        public string Legend => "These objects by type, those of most bytes first (clrprof)";
    }
}
