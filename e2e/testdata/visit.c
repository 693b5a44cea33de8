/* A library that calls back, compiled without frame pointers: visit uses rbp for a number, and between it and its callbacks lie frames
 * of which nothing tells the size. */
typedef int callback(int *a, int *b);

static int __attribute__((noinline)) pair(callback *f, int *a, int *b)
{
    volatile int kept[5] = {*a, *b};
    int result = f(a, b);
    return result + kept[0] - kept[0];
}

static int __attribute__((noinline)) halves(callback *f, int *items, unsigned long n)
{
    if (n < 2)
        return 0;
    int sum = pair(f, items, items + n / 2);
    return sum + halves(f, items, n / 2) + halves(f, items + n / 2, n - n / 2) + 1;
}

/* Calls f for n - 1 pairs of the items. */
int visit(int *items, unsigned long n, callback *f)
{
    register unsigned long number __asm__("rbp") = n;
    __asm__ volatile("" : "+r"(number));
    int sum = halves(f, items, n);
    __asm__ volatile("" : "+r"(number));
    return sum + (number == n);
}
