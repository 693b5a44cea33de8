// A database that is none: it has the commands of ADO.NET, which take a moment, or fail.

using System;
using System.Data;
using System.Data.Common;
using System.Threading;

namespace Shop
{
    static class Database
    {
        public static void Execute(string text)
        {
            using (var command = new Command { CommandText = text })
                try
                {
                    command.ExecuteNonQuery();
                }
                catch (Refused)
                {
                }
        }
    }

    sealed class Refused : DbException
    {
        public Refused(string message) : base(message) { }
    }

    sealed class Command : DbCommand
    {
        public override int ExecuteNonQuery()
        {
            Thread.Sleep(2);
            return CommandText.StartsWith("SELECT", StringComparison.Ordinal) ? throw new Refused("no such table") : 1;
        }

        public override string CommandText { get; set; }
        public override object ExecuteScalar() => ExecuteNonQuery();
        protected override DbDataReader ExecuteDbDataReader(CommandBehavior behavior) => new DataTable().CreateDataReader();
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
}
