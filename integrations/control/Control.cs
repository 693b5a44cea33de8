// Clrprof.Control: what a program can tell the profiler that records it, if one does. One file for .NET Standard 2.0 and
// later, C# 7.3: copy it into a project. Without clrprof every call does nothing, in a nanosecond or so, and says NotPresent.
// What the functions mean is told in docs/control.md.

using System;
using System.Runtime.InteropServices;

namespace Clrprof.Control
{
    /// <summary>What is switched on and off. Something is recorded where all three are on.</summary>
    public enum Level
    {
        /// <summary>All processes of the session.</summary>
        Global = 1,
        /// <summary>This process.</summary>
        Process = 2,
        /// <summary>The calling thread.</summary>
        Thread = 3,
    }

    /// <summary>What came of a call.</summary>
    public enum Result
    {
        /// <summary>The process is not recorded by clrprof.</summary>
        NotPresent = -1,
        /// <summary>It is done.</summary>
        Ok = 0,
        /// <summary>There is no such level.</summary>
        NoSuchLevel = 1,
        /// <summary>There is no such thread or process.</summary>
        NoSuchId = 2,
        /// <summary>Nothing will be recorded any more: clrprof has ended, or this is a forked process.</summary>
        Never = 3,
        /// <summary>It is not done: the profiler has no memory left to note it, or a counter is at its end.</summary>
        OutOfMemory = 4,
        /// <summary>It is not done: nothing of this thread is recorded at the moment.</summary>
        Off = 5,
        /// <summary>It is not done: a name or a text has more than 1,024 characters.</summary>
        TooLong = 6,
        /// <summary>It is not done: the name is empty.</summary>
        BadName = 7,
        /// <summary>It is not done: the time is to come, or was before this process was recorded.</summary>
        BadTime = 8,
    }

    /// <summary>Controls the profiler, marks moments, names threads. All members may be called by any thread.</summary>
    public static class Profile
    {
        static readonly Agent agent = Agent.Find();

        /// <summary>Is clrprof in this process?</summary>
        public static bool IsPresent => agent != null;

        /// <summary>Is what the calling thread does recorded at the moment?</summary>
        public static bool IsRecording => agent != null && agent.State(0) == 0;

        /// <summary>Switches a level on: undoes any number of <see cref="Stop"/>.</summary>
        public static Result Start(Level level = Level.Process) => Change(level, 1);

        /// <summary>Switches a level off.</summary>
        public static Result Stop(Level level = Level.Process) => Change(level, 2);

        /// <summary>Suspends a level once more: it is off as long as it is suspended more often than resumed.</summary>
        public static Result Suspend(Level level = Level.Process) => Change(level, 3);

        /// <summary>Undoes one <see cref="Suspend"/>.</summary>
        public static Result Resume(Level level = Level.Process) => Change(level, 4);

        /// <summary>Marks this moment by a name, a number, or both.</summary>
        public static Result Mark(string name, int number = 0) => CommentMark(name, "", number);

        /// <summary>The same with a text. What is too long is refused, not cut.</summary>
        public static Result CommentMark(string name, string text, int number = 0)
        {
            if (agent == null)
                return Result.NotPresent;
            name = name ?? "";
            text = text ?? "";
            if (name.Length == 0 && number == 0)
                return Result.BadName;
            return (Result)agent.Mark(number, name, name.Length, text, text.Length);
        }

        /// <summary>
        /// Marks a moment that is past, as System.Diagnostics.Stopwatch.GetTimestamp() was then: for what turns out later to have been worth a
        /// mark.
        /// </summary>
        public static Result CommentMarkAt(long timestamp, string name, string text, int number = 0)
        {
            if (agent == null)
                return Result.NotPresent;
            name = name ?? "";
            text = text ?? "";
            if (name.Length == 0 && number == 0)
                return Result.BadName;
            return (Result)agent.MarkAt(timestamp, number, name, name.Length, text, text.Length);
        }

        /// <summary>Names this process in the session, in place of its program.</summary>
        public static Result NameProcess(string name)
        {
            if (agent == null)
                return Result.NotPresent;
            name = name ?? "";
            return (Result)agent.NameProcess(name, name.Length);
        }

        /// <summary>Names the calling thread in the session; threads of one name are one row in some views.</summary>
        public static Result NameThread(string name)
        {
            if (agent == null)
                return Result.NotPresent;
            name = name ?? "";
            return (Result)agent.NameThread(name, name.Length);
        }

        /// <summary>Marks this moment by the name, and that of Dispose by the name with " end": `using (Profile.Section("load"))`.</summary>
        public static Section Section(string name) => new Section(agent == null ? null : name);

        static Result Change(Level level, int operation) => agent == null ? Result.NotPresent : (Result)agent.Control((int)level, operation);
    }

    /// <summary>A part of a program, from its mark to that of its end.</summary>
    public readonly struct Section : IDisposable
    {
        readonly string name; // null: there is nobody to tell

        internal Section(string name)
        {
            this.name = name;
            if (name != null)
                Profile.Mark(name);
        }

        /// <summary>Marks the end.</summary>
        public void Dispose()
        {
            if (name != null)
                Profile.Mark(name + " end");
        }
    }

    /// <summary>The functions of the profiler's library, which the runtime has loaded.</summary>
    sealed class Agent
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ControlFunction(int level, int operation);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StateFunction(int unused);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int MarkFunction(int number, [MarshalAs(UnmanagedType.LPWStr)] string name, int nameLength,
                                           [MarshalAs(UnmanagedType.LPWStr)] string text, int textLength);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int MarkAtFunction(long time, int number, [MarshalAs(UnmanagedType.LPWStr)] string name, int nameLength,
                                             [MarshalAs(UnmanagedType.LPWStr)] string text, int textLength);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int NameFunction([MarshalAs(UnmanagedType.LPWStr)] string name, int length);

        internal ControlFunction Control;
        internal StateFunction State;
        internal MarkFunction Mark;
        internal MarkAtFunction MarkAt;
        internal NameFunction NameThread, NameProcess;

        const int NowLazyIfLoaded = 1 | 4; // RTLD_LAZY | RTLD_NOLOAD

        [DllImport("libc", EntryPoint = "dlopen")]
        static extern IntPtr OpenInLibc(string path, int flags);
        [DllImport("libc", EntryPoint = "dlsym")]
        static extern IntPtr FindInLibc(IntPtr library, string name);
        [DllImport("libdl.so.2", EntryPoint = "dlopen")]
        static extern IntPtr OpenInLibdl(string path, int flags);
        [DllImport("libdl.so.2", EntryPoint = "dlsym")]
        static extern IntPtr FindInLibdl(IntPtr library, string name);

        /// <summary>null: the process is not recorded.</summary>
        internal static Agent Find()
        {
            string path = Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH_64") ?? Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH");
            if (string.IsNullOrEmpty(path) || (IsUnset("CLRPROF_ARENAS") && IsUnset("CLRPROF_DORMANT")))
                return null;
            try
            {
                return Load(path, OpenInLibdl, FindInLibdl);
            }
            catch (Exception e) when (e is DllNotFoundException || e is EntryPointNotFoundException)
            {
            }
            try
            {
                return Load(path, OpenInLibc, FindInLibc); // musl has no libdl
            }
            catch (Exception e) when (e is DllNotFoundException || e is EntryPointNotFoundException)
            {
                return null;
            }
        }

        static bool IsUnset(string variable) => string.IsNullOrEmpty(Environment.GetEnvironmentVariable(variable));

        static Agent Load(string path, Func<string, int, IntPtr> open, Func<IntPtr, string, IntPtr> find)
        {
            IntPtr library = open(path, NowLazyIfLoaded);
            if (library == IntPtr.Zero)
                return null;
            IntPtr control = find(library, "clrprof_control"), state = find(library, "clrprof_state");
            IntPtr mark = find(library, "clrprof_mark"), name = find(library, "clrprof_name_thread");
            IntPtr markAt = find(library, "clrprof_mark_at"), nameProcess = find(library, "clrprof_name_process");
            if (control == IntPtr.Zero || state == IntPtr.Zero || mark == IntPtr.Zero || name == IntPtr.Zero || markAt == IntPtr.Zero ||
                nameProcess == IntPtr.Zero)
                return null;
            return new Agent
            {
                Control = Marshal.GetDelegateForFunctionPointer<ControlFunction>(control),
                State = Marshal.GetDelegateForFunctionPointer<StateFunction>(state),
                Mark = Marshal.GetDelegateForFunctionPointer<MarkFunction>(mark),
                MarkAt = Marshal.GetDelegateForFunctionPointer<MarkAtFunction>(markAt),
                NameThread = Marshal.GetDelegateForFunctionPointer<NameFunction>(name),
                NameProcess = Marshal.GetDelegateForFunctionPointer<NameFunction>(nameProcess),
            };
        }
    }
}
