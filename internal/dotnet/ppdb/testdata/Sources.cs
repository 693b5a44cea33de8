// A source that compilers compress when they embed it; Small.cs is too short for that, and stays as it is. The seed of the fuzz test is made from both:
//
//   csc -deterministic -optimize+ -target:library -nologo -embed -pathmap:DIR=/src -debug:portable
//       -out:sources.dll Sources.cs Small.cs        sources.pdb
public static class Sources
{
    public static int Two() { return Small.One() + Small.One(); }
    public static int Four() { return Two() + Two(); }
    public static int Eight() { return Four() + Four(); }
}
