using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Running;

namespace Clrprof.BenchmarkDotNet
{
    /// <summary>
    /// A recording of a process that BenchmarkDotNet starts. It starts "clrprof run" with a command that says which environment it was
    /// given and then waits; with that environment the benchmark is one of the recorded processes. So BenchmarkDotNet starts and watches
    /// the benchmark as ever, and clrprof has as much time as it needs when that has ended.
    /// </summary>
    sealed class Recording : IDisposable
    {
        // Prints the environment, and ends when its input does: also if this process is killed.
        const string Command = "env -0 && printf '" + Last + "\\0' && exec cat";
        const string Last = "that is all"; // no variable: it has no =
        static readonly string[] Prefixes = { "CLRPROF_", "CORECLR_", "DOTNET_", "COMPlus_" };

        readonly Process clrprof;
        readonly StringBuilder errors = new StringBuilder();

        /// <summary>The session's file.</summary>
        internal string Session { get; }

        Recording(Process clrprof, string session)
        {
            this.clrprof = clrprof;
            Session = session;
        }

        /// <summary>Where clrprof is: as the variable CLRPROF says, or on the PATH. null: nowhere.</summary>
        internal static string FindClrprof()
        {
            string named = Environment.GetEnvironmentVariable("CLRPROF");
            if (!string.IsNullOrEmpty(named))
                return File.Exists(named) ? named : null;
            string path = Environment.GetEnvironmentVariable("PATH") ?? "";
            return path.Split(':').Where(d => d != "").Select(d => Path.Combine(d, "clrprof")).FirstOrDefault(File.Exists);
        }

        /// <summary>Begins a recording in which nothing is recorded yet, and gives the process that is about to start its environment.</summary>
        internal static Recording Start(DiagnoserActionParameters parameters, bool calls)
        {
            Directory.CreateDirectory(parameters.Config.ArtifactsPath);
            string session = Path.Combine(parameters.Config.ArtifactsPath, FileName(parameters.BenchmarkCase));
            File.Delete(session); // an old one is not taken for that of this run, whatever happens
            ProcessStartInfo start = Tool();
            start.RedirectStandardInput = true;
            foreach (string a in new[] { "run", "--paused", "--no-report", "--memory", "-f", "-o", session })
                start.ArgumentList.Add(a);
            if (calls)
                foreach (string a in new[] { "--time", "--mine", parameters.BenchmarkCase.Descriptor.Type.Assembly.GetName().Name })
                    start.ArgumentList.Add(a);
            foreach (string a in new[] { "--", "/bin/sh", "-c", Command })
                start.ArgumentList.Add(a);
            var r = new Recording(Process.Start(start), session);
            r.clrprof.ErrorDataReceived += r.Keep;
            r.clrprof.BeginErrorReadLine();
            foreach (KeyValuePair<string, string> v in r.ReadEnvironment())
                parameters.Process.StartInfo.Environment[v.Key] = v.Value;
            return r;
        }

        /// <summary>A name for each benchmark and its parameters.</summary>
        static string FileName(BenchmarkCase benchmark)
        {
            string name = benchmark.Descriptor.Type.FullName + "." + benchmark.Descriptor.WorkloadMethod.Name;
            if (benchmark.HasParameters)
                name += "(" + benchmark.Parameters.PrintInfo + ")";
            name += "-" + benchmark.Job.ResolvedId;
            string plain = new string(name.Select(c => char.IsLetterOrDigit(c) || "._-()=,".Contains(c) ? c : '_').ToArray());
            if (plain.Length > 150) // of the 255 bytes that a name of a file may have
                plain = plain.Substring(0, 120) + "-" + Hash(name);
            return plain + ".clrprof";
        }

        static string Hash(string s)
        {
            byte[] hash = System.Security.Cryptography.SHA256.HashData(Encoding.UTF8.GetBytes(s));
            return Convert.ToHexString(hash, 0, 8);
        }

        Dictionary<string, string> ReadEnvironment()
        {
            var found = new Dictionary<string, string>();
            var text = new StringBuilder();
            for (int c; (c = clrprof.StandardOutput.Read()) >= 0;)
            {
                if (c != 0)
                {
                    text.Append((char)c);
                    continue;
                }
                string variable = text.ToString();
                text.Clear();
                if (variable == Last)
                    return found;
                if (!Prefixes.Any(p => variable.StartsWith(p, StringComparison.Ordinal)))
                    continue;
                string name = variable.Substring(0, variable.IndexOf('=')), value = variable.Substring(name.Length + 1);
                if (Environment.GetEnvironmentVariable(name) != value) // what was so before is the job's to change
                    found[name] = value;
            }
            clrprof.WaitForExit();
            throw Failed("clrprof run");
        }

        /// <summary>From now on all is recorded. The benchmark waits meanwhile, so clrprof may still be about to look at it.</summary>
        internal void Resume()
        {
            Run("ctl", Session, "wait", "ready", "--timeout", "10m");
            Run("ctl", Session, "resume");
        }

        /// <summary>From now on nothing is recorded.</summary>
        internal void Pause() => Run("ctl", Session, "pause");

        /// <summary>Ends the recording, and waits until the session is whole.</summary>
        internal void End()
        {
            clrprof.StandardInput.Close();
            clrprof.WaitForExit();
            if (clrprof.ExitCode != 0)
                throw Failed("clrprof run");
        }

        /// <summary>Runs clrprof, and returns what it prints.</summary>
        internal string Run(params string[] args)
        {
            ProcessStartInfo start = Tool();
            foreach (string a in args)
                start.ArgumentList.Add(a);
            using (Process p = Process.Start(start))
            {
                p.ErrorDataReceived += Keep;
                p.BeginErrorReadLine();
                string output = p.StandardOutput.ReadToEnd();
                p.WaitForExit();
                return p.ExitCode == 0 ? output : throw Failed("clrprof " + args[0]);
            }
        }

        static ProcessStartInfo Tool() => new ProcessStartInfo(FindClrprof() ?? throw new InvalidOperationException("there is no clrprof"))
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };

        void Keep(object sender, DataReceivedEventArgs line)
        {
            lock (errors)
                if (line.Data != null)
                    errors.Append(errors.Length == 0 ? "" : "; ").Append(line.Data);
        }

        InvalidOperationException Failed(string what)
        {
            lock (errors)
                return new InvalidOperationException(what + " failed: " + errors);
        }

        public void Dispose()
        {
            clrprof.StandardInput.Close();
            clrprof.Dispose();
        }
    }
}
