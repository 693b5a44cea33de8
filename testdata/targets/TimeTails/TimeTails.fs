/// TimeTails [N]: F# functions that end with calls that have the prefix tail., which the runtime turns into jumps: two that call each
/// other N times, an even number, and one that calls a function that it is given.
module TimeTails

open System
open System.Diagnostics
open System.Runtime.CompilerServices

[<MethodImpl(MethodImplOptions.NoInlining)>]
let rec Even (n: int) : bool = if n = 0 then true else Odd(n - 1)

and [<MethodImpl(MethodImplOptions.NoInlining)>] Odd (n: int) : bool = if n = 0 then false else Even(n - 1)

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Burn (milliseconds: int) : int =
    let watch = Stopwatch.StartNew()
    let mutable state = 1

    while watch.ElapsedMilliseconds < int64 milliseconds do
        for _ in 1..1000 do
            state <- state * 31 + 1

    state

/// A closure, which the compiler cannot know to end: it is called with the prefix.
[<MethodImpl(MethodImplOptions.NoInlining)>]
let Ends (f: int -> int) (milliseconds: int) : int = f milliseconds

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Waits (f: int -> int) (milliseconds: int) : int = f milliseconds + 1

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Run (n: int) : bool =
    let burn = fun milliseconds -> Burn milliseconds + 1
    let mutable sum = 0

    for _ in 1..3 do
        sum <- sum + Ends burn 20 + Waits burn 20

    Even n && sum <> 0

[<EntryPoint>]
let main arguments =
    let n = if arguments.Length > 0 then Int32.Parse arguments[0] else 1000
    if Run n then 0 else 1
