// Clrprof.Meters: listens to the meters (System.Diagnostics.Metrics) that somebody asked for, and counts what their instruments measure in
// the agent's shared memory. It never throws into the program, and nothing waits for it longer than EndMilliseconds.

using System;
using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Clrprof.Meters
{
    /// <summary>The listener, and the thread that reads observable instruments.</summary>
    static class Sampling
    {
        // How long the end of the program waits for the last values of observable instruments: a callback of the program may wait for
        // something that never comes then.
        const int EndMilliseconds = 1000;
        const int DefaultInterval = 500; // milliseconds

        static readonly AutoResetEvent ends = new AutoResetEvent(false);
        static readonly object starting = new object();
        static MeterListener listener;
        static string[] patterns;
        static int interval;
        static Thread reader;

        /// <summary>Begins to listen, if the agent is there.</summary>
        internal static void Begin()
        {
            if (listener != null || !Agent.Find())
                return;
            Prepare();
            patterns = (Environment.GetEnvironmentVariable("CLRPROF_METERS") ?? "").Split('\n', StringSplitOptions.RemoveEmptyEntries);
            if (!int.TryParse(Environment.GetEnvironmentVariable("CLRPROF_METER_INTERVAL"), out interval) || interval <= 0)
                interval = DefaultInterval;
            listener = new MeterListener { InstrumentPublished = Publish };
            listener.SetMeasurementEventCallback<byte>((i, value, tags, state) => Take(state, value, tags));
            listener.SetMeasurementEventCallback<short>((i, value, tags, state) => Take(state, value, tags));
            listener.SetMeasurementEventCallback<int>((i, value, tags, state) => Take(state, value, tags));
            listener.SetMeasurementEventCallback<long>((i, value, tags, state) => Take(state, value, tags));
            listener.SetMeasurementEventCallback<float>((i, value, tags, state) => Take(state, (double)value, tags));
            listener.SetMeasurementEventCallback<double>((i, value, tags, state) => Take(state, value, tags));
            listener.SetMeasurementEventCallback<decimal>((i, value, tags, state) => Take(state, (double)value, tags));
            listener.Start();
            AppDomain.CurrentDomain.ProcessExit += End;
            Agent.Begins();
        }

        // Has everything compiled that the program's threads will come by: what a trimmed program lacks is found out now, where it does no
        // harm.
        static void Prepare()
        {
            const BindingFlags all = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
            foreach (Type type in typeof(Sampling).Assembly.GetTypes())
                foreach (MethodInfo method in type.GetMethods(all))
                    if (!method.IsAbstract && !method.ContainsGenericParameters)
                        RuntimeHelpers.PrepareMethod(method.MethodHandle);
        }

        // Gets each instrument, by the thread that makes it.
        static void Publish(Instrument instrument, MeterListener listener)
        {
            try
            {
                if (!Array.Exists(patterns, pattern => Pattern.Matches(pattern, instrument.Meter.Name)))
                    return;
                listener.EnableMeasurementEvents(instrument, new Series(instrument));
                if (instrument.IsObservable)
                    StartReader();
            }
            catch (Exception)
            {
                Agent.Lost(1);
            }
        }

        static void Take(object state, long value, ReadOnlySpan<KeyValuePair<string, object>> tags)
        {
            try
            {
                ((Series)state).Add(value, tags);
            }
            catch (Exception)
            {
                Agent.Lost(1);
            }
        }

        static void Take(object state, double value, ReadOnlySpan<KeyValuePair<string, object>> tags)
        {
            try
            {
                ((Series)state).Add(value, tags);
            }
            catch (Exception)
            {
                Agent.Lost(1);
            }
        }

        static void StartReader()
        {
            lock (starting)
            {
                if (reader != null)
                    return;
                reader = new Thread(Read) { IsBackground = true, Name = "clrprof meters" };
                reader.Start();
            }
        }

        // Reads the observable instruments from time to time, and once more at the end.
        static void Read()
        {
            for (bool last = false; !last;)
            {
                last = ends.WaitOne(interval);
                try
                {
                    listener.RecordObservableInstruments();
                }
                catch (AggregateException e)
                {
                    Agent.CallbacksFailed(e.InnerExceptions.Count);
                }
                catch (Exception)
                {
                    Agent.CallbacksFailed(1);
                }
            }
        }

        static void End(object sender, EventArgs e)
        {
            Thread thread = reader;
            if (thread == null || thread == Thread.CurrentThread)
                return;
            ends.Set();
            thread.Join(EndMilliseconds);
        }
    }

    /// <summary>Patterns of names, as everywhere in clrprof: * stands for any characters, and ASCII letters are alike.</summary>
    static class Pattern
    {
        internal static bool Matches(string pattern, string name)
        {
            int p = 0, n = 0, star = -1, from = 0;
            while (n < name.Length)
            {
                if (p < pattern.Length && pattern[p] == '*')
                {
                    star = p++;
                    from = n;
                }
                else if (p < pattern.Length && Lower(pattern[p]) == Lower(name[n]))
                {
                    p++;
                    n++;
                }
                else if (star >= 0)
                {
                    p = star + 1;
                    n = ++from;
                }
                else
                    return false;
            }
            while (p < pattern.Length && pattern[p] == '*')
                p++;
            return p == pattern.Length;
        }

        static char Lower(char c) => c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
}
