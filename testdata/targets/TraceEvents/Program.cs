// TraceEvents: reads a nettrace file with Microsoft's TraceEvent, and prints what is in it, one thing in a line, with tabs between:
//   sample KIND TYPE FRAMES      an allocation; the functions on its stack, the outermost first, with | between
//   gc NUMBER GENERATION KIND REASON PAUSE_NS SIZES SUSPEND_NS   a collection; the sizes of the heap after it, by generation, with
//                                , between; and how long it took to stop the program
//   event PROVIDER ID COUNT      how many events there are

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Analysis;
using Microsoft.Diagnostics.Tracing.Analysis.GC;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;
using Etlx = Microsoft.Diagnostics.Tracing.Etlx;

namespace TraceEvents
{
    static class Program
    {
        static int Main(string[] args)
        {
            Events(args[0]);
            Samples(args[0]);
            return 0;
        }

        static void Events(string path)
        {
            var counts = new SortedDictionary<(string, int), long>();
            using var source = new EventPipeEventSource(path);
            source.NeedLoadedDotNetRuntimes();
            source.AllEvents += e =>
            {
                var key = (e.ProviderName, (int)e.ID);
                counts.TryGetValue(key, out long n);
                counts[key] = n + 1;
            };
            source.Process();
            foreach (var c in counts)
                Console.WriteLine($"event\t{c.Key.Item1}\t{c.Key.Item2}\t{c.Value}");
            foreach (TraceProcess process in TraceProcessesExtensions.Processes(source))
                foreach (TraceGC gc in TraceLoadedDotNetRuntimeExtensions.LoadedDotNetRuntime(process)?.GC.GCs ?? new List<TraceGC>())
                    Collection(gc);
        }

        static void Collection(TraceGC gc)
        {
            var s = gc.HeapStats;
            long[] sizes = s == null ? new long[5] : new[] { s.GenerationSize0, s.GenerationSize1, s.GenerationSize2, s.GenerationSize3,
                s.GenerationSize4 };
            Console.WriteLine($"gc\t{gc.Number}\t{gc.Generation}\t{gc.Type}\t{gc.Reason}\t{gc.PauseDurationMSec * 1e6:F0}\t" +
                string.Join(",", sizes) + $"\t{gc.SuspendDurationMSec * 1e6:F0}");
        }

        // TraceEvent does not know the fields of this event: two numbers of 4 and 2 bytes and the type's address, then its name.
        const int AllocationSampled = 303;

        static string SampledType(TraceEvent e)
        {
            string text = System.Text.Encoding.Unicode.GetString(e.EventData(), 4 + 2 + 8, e.EventDataLength / 2 * 2 - 14);
            return text.Substring(0, text.IndexOf('\0'));
        }

        static void Samples(string path)
        {
            string etlx = Etlx.TraceLog.CreateFromEventPipeDataFile(path, Path.GetTempFileName());
            using var log = new Etlx.TraceLog(etlx);
            foreach (TraceEvent e in log.Events)
            {
                string type = e switch
                {
                    GCAllocationTickTraceData t => t.TypeName,
                    _ when (int)e.ID == AllocationSampled && e.ProviderName == "Microsoft-Windows-DotNETRuntime" => SampledType(e),
                    _ => null,
                };
                if (type == null)
                    continue;
                var frames = new List<string>();
                for (Etlx.TraceCallStack at = Etlx.TraceLogExtensions.CallStack(e); at != null; at = at.Caller)
                    frames.Add(at.CodeAddress.FullMethodName);
                frames.Reverse();
                Console.WriteLine($"sample\t{(int)e.ID}\t{type}\t{string.Join("|", frames)}");
            }
            File.Delete(etlx);
        }
    }
}
