/// TimeTails [N [BYTES [LEVELS]]]: F# functions that end with calls that have the prefix tail., of every kind. Two call each other N times, an even
/// number; continuations are N deep. It runs on a thread with so many bytes of stack, on which a recursion without such calls is so many levels deep.
module TimeTails

open System
open System.Collections.Generic
open System.Diagnostics
open System.Runtime.CompilerServices
open System.Threading

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

/// A chain of three: each ends with a call of the next one, which is known, or virtual.
[<AbstractClass>]
type Shape() =
    abstract Area: int -> int

type Square() =
    inherit Shape()

    [<MethodImpl(MethodImplOptions.NoInlining)>]
    override _.Area(milliseconds) = Burn milliseconds

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Third (shape: Shape) (milliseconds: int) : int = shape.Area milliseconds

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Second (shape: Shape) (milliseconds: int) : int =
    if milliseconds < 0 then 0 else Third shape milliseconds

[<MethodImpl(MethodImplOptions.NoInlining)>]
let First (shape: Shape) (milliseconds: int) : int = Second shape milliseconds

/// A loop of calls that each end with one of the framework: none of them calls another one.
[<MethodImpl(MethodImplOptions.NoInlining)>]
let Adds (list: List<int>) (n: int) : unit = list.Add n

/// Continuations: each ends with a call of the one before it.
let rec Count (n: int) (k: int -> int) : int = if n = 0 then k 0 else Count (n - 1) (fun r -> k (r + 1))

/// Curried ones, which FSharp.Core calls.
[<MethodImpl(MethodImplOptions.NoInlining)>]
let rec Curried (n: int) (k: int -> int -> int) : int =
    if n = 0 then k 0 0 else Curried (n - 1) (fun a b -> k (a + 1) (b + 2))

/// A recursion that is as deep as it looks, with a function between any two levels that ends with a call.
[<MethodImpl(MethodImplOptions.NoInlining)>]
let rec Down (n: int) : int = if n = 0 then 0 else 1 + Ends (fun left -> Down left) (n - 1)

exception Stop of int

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Throws (n: int) : int = if n = 0 then raise (Stop 1) else n

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Leads (n: int) : int = if n = 7 then 7 else Throws n

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Catches (n: int) : int =
    try
        Leads n + 1
    with Stop more ->
        more

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Finish (sum: int64) : int64 = if Burn 20 = 0 then 0L else sum

/// Three that call each other in two rounds at once; what they call last takes its time.
[<MethodImpl(MethodImplOptions.NoInlining)>]
let rec A (n: int) (sum: int64) : int64 = if n = 0 then Finish sum else B (n - 1) (sum + 1L)

and [<MethodImpl(MethodImplOptions.NoInlining)>] B (n: int) (sum: int64) : int64 =
    if n = 0 then Finish sum
    elif n % 3 = 0 then A (n - 1) (sum + 2L)
    else C (n - 1) (sum + 3L)

and [<MethodImpl(MethodImplOptions.NoInlining)>] C (n: int) (sum: int64) : int64 =
    if n = 0 then Finish sum
    elif n % 2 = 0 then A (n - 1) sum
    else B (n - 1) (sum + 1L)

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Run (n: int) (levels: int) : unit =
    let burn = fun milliseconds -> Burn milliseconds + 1
    let shape = Square()
    let list = List<int>()
    let mutable sum = 0

    for i in 1..3 do
        sum <- sum + Ends burn 20 + Waits burn 20 + First shape 20
        Adds list i
        Adds list i

    let mutable caught = 0

    for i in 0..9 do
        caught <- caught + Catches(i % 2)

    let deep = Even n, Count n id, Curried n (fun a b -> a + b), Down levels, A n 0L
    printfn "%A %d %d" deep list.Count caught

[<EntryPoint>]
let main arguments =
    let n = if arguments.Length > 0 then Int32.Parse arguments[0] else 1000
    let bytes = if arguments.Length > 1 then Int32.Parse arguments[1] else 0
    let levels = if arguments.Length > 2 then Int32.Parse arguments[2] else 100
    let thread = Thread((fun () -> Run n levels), bytes)
    thread.Start()
    thread.Join()
    0
