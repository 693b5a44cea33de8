// Marked: allocates a known number of objects in each of some spans, between marks that it makes itself, right after each other: the whole
// takes a fraction of a second. A call of Allocate allocates all of a span.
//
// It prints for each span: span NAME OBJECTS.

using System;
using System.Threading;
using Clrprof.Control;

namespace Marked
{
    sealed class Counted { }

    static class Program
    {
        static Counted last;

        static void Allocate(int n)
        {
            for (int i = 0; i < n; i++)
                last = new Counted();
        }

        static void Main()
        {
            string[] names = { "warm-up", "one", "two", "three", "late" };
            int[] objects = { 100_000, 1, 17, 30_000, 5 };
            Allocate(3);
            for (int i = 0; i < names.Length; i++)
            {
                Profile.Mark(names[i]);
                Allocate(objects[i]);
            }
            Profile.Mark("over");
            var thread = new Thread(() => Allocate(5000));
            thread.Start();
            thread.Join();
            for (int i = 0; i < names.Length; i++)
                Console.WriteLine("span " + names[i] + " " + objects[i]);
        }
    }
}
