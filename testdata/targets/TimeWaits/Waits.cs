using System;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Threading;

namespace TimeWaits
{
    /// <summary>Functions that do one thing each. All but the spinners wait for something, most of the time.</summary>
    static class Waits
    {
        const int Milliseconds = 20, Bytes = 4 << 20, Page = 4096;

        [DllImport("libc")] static extern int pipe([Out] int[] ends);
        [DllImport("libc")] static extern long read(int fd, out byte to, ulong bytes);
        [DllImport("libc")] static extern long write(int fd, ref byte from, ulong bytes);
        [DllImport("libc")] static extern int posix_fadvise(int fd, long offset, long bytes, int advice);
        [DllImport("libc")] static extern int fsync(int fd);
        [DllImport("libc")] static extern int open(string path, int flags);
        [DllImport("libc")] static extern int close(int fd);

        static readonly object gate = new object();
        static readonly int[] ends = new int[2];
        static NetworkStream reading, writing;
        static string path;
        static long sum;

        /// <summary>Makes what the functions need, and calls each system call once.</summary>
        public static void Prepare()
        {
            Check(pipe(ends), "pipe");
            var listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start();
            var client = new TcpClient();
            client.Connect((IPEndPoint)listener.LocalEndpoint);
            reading = client.GetStream();
            writing = listener.AcceptTcpClient().GetStream();
            listener.Stop();
            path = Path.Combine(Path.GetTempPath(), "clrprof-waits-" + Guid.NewGuid().ToString("N"));
            File.WriteAllBytes(path, new byte[Bytes]);
            Usage.Now();
        }

        public static void Remove() => File.Delete(path);

        static void Check(long result, string what)
        {
            if (result < 0)
                throw new IOException(what + ": errno " + Marshal.GetLastWin32Error());
        }

        public static void Sleep(Meter m)
        {
            m.Begin();
            Thread.Sleep(Milliseconds);
            m.End();
        }

        public static void ReadPipe(Meter m)
        {
            m.Begin();
            Check(read(ends[0], out byte _, 1), "read");
            m.End();
        }

        public static void WritePipe()
        {
            byte b = 1;
            Check(write(ends[1], ref b, 1), "write");
        }

        public static void ReadSocket(Meter m)
        {
            m.Begin();
            sum += reading.ReadByte();
            m.End();
        }

        public static void WriteSocket() => writing.WriteByte(1);

        /// <summary>Waits for a lock that another thread has.</summary>
        public static void Contend(Meter m)
        {
            m.Begin();
            lock (gate)
                sum++;
            m.End();
        }

        /// <summary>Holds the lock from when it says so for a while.</summary>
        public static void Hold(ManualResetEventSlim held)
        {
            lock (gate)
            {
                held.Set();
                Thread.Sleep(Milliseconds);
            }
        }

        public static void WaitPulse(Meter m)
        {
            lock (gate)
            {
                m.Begin();
                Monitor.Wait(gate);
                m.End();
            }
        }

        public static void Pulse()
        {
            lock (gate)
                Monitor.PulseAll(gate);
        }

        /// <summary>Lets the kernel forget the file's contents, if it can: some file systems are in memory.</summary>
        public static void Forget()
        {
            const int dontNeed = 4;
            int fd = open(path, 0);
            Check(fd, "open");
            fsync(fd);
            posix_fadvise(fd, 0, 0, dontNeed);
            close(fd);
        }

        /// <summary>Touches each page of a mapped file.</summary>
        public static void Fault(Meter m)
        {
            m.Begin();
            using (var file = MemoryMappedFile.CreateFromFile(path, FileMode.Open))
            using (var map = file.CreateViewAccessor(0, Bytes))
                for (int i = 0; i < Bytes; i += Page)
                    sum += map.ReadByte(i);
            m.End();
        }

        /// <summary>Reads the file.</summary>
        public static void ReadFile(Meter m)
        {
            m.Begin();
            sum += File.ReadAllBytes(path).Length;
            m.End();
        }
    }
}
