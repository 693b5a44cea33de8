using System;
using System.Runtime.InteropServices;

namespace Clrprof.Meters
{
    /// <summary>The functions of the agent that are for this (agent/src/meters.c).</summary>
    static unsafe class Agent
    {
        const int MaxName = 1024; // WIRE_MAX_NAME

        static delegate* unmanaged[Cdecl]<int, int, char*, int*, void*> meter;
        static delegate* unmanaged[Cdecl]<int, int, void> lost;
        static delegate* unmanaged[Cdecl]<void> begins;

        /// <summary>Is the agent in this process? The runtime has loaded it before.</summary>
        internal static bool Find()
        {
            string path = Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH_64") ?? Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH");
            if (string.IsNullOrEmpty(path) || !NativeLibrary.TryLoad(path, out IntPtr library) ||
                !NativeLibrary.TryGetExport(library, "clrprof_meter", out IntPtr first) ||
                !NativeLibrary.TryGetExport(library, "clrprof_meter_lost", out IntPtr second) ||
                !NativeLibrary.TryGetExport(library, "clrprof_meter_begins", out IntPtr third))
                return false;
            meter = (delegate* unmanaged[Cdecl]<int, int, char*, int*, void*>)first;
            lost = (delegate* unmanaged[Cdecl]<int, int, void>)second;
            begins = (delegate* unmanaged[Cdecl]<void>)third;
            return true;
        }

        /// <summary>Says that instruments are listened to.</summary>
        internal static void Begins() => begins();

        /// <summary>A row for an instrument and its tags; null: there is no room, or a name is too long.</summary>
        internal static Row* RowOf(Kind kind, bool whole, string name, string instrument, string unit, string description, string tags)
        {
            if (description.Length > MaxName)
                description = description.Substring(0, MaxName - 1) + "…";
            string all = name + instrument + unit + description + tags;
            int* lengths = stackalloc int[] { name.Length, instrument.Length, unit.Length, description.Length, tags.Length };
            fixed (char* texts = all)
                return (Row*)meter((int)kind, whole ? 1 : 0, texts, lengths);
        }

        /// <summary>Measurements that no row has, or only that of others.</summary>
        internal static void Lost(int measurements) => lost(0, measurements);

        /// <summary>Callbacks of observable instruments that threw.</summary>
        internal static void CallbacksFailed(int times) => lost(1, times);
    }
}
