// What Parts calls, in an assembly of its own.

namespace PartsLibrary
{
    public static class Counter
    {
        public static long Sum;

        public static void Add(int n)
        {
            Sum += n;
        }
    }

    public class Box<T>
    {
        readonly T value;

        public Box(T value)
        {
            this.value = value;
        }

        public virtual T Get()
        {
            return value;
        }
    }
}
