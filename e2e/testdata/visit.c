/* A library that calls back. Compiled without frame pointers there are frames between visit and its callbacks of which nothing tells
 * the size; with NUMBER_IN_RBP visit uses that register for a number. */
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
#ifdef NUMBER_IN_RBP
    register unsigned long number __asm__("rbp") = n;
#else
    unsigned long number = n;
#endif
    __asm__ volatile("" : "+r"(number));
    int sum = halves(f, items, n);
    __asm__ volatile("" : "+r"(number));
    return sum + (number == n);
}
