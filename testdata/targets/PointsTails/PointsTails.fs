/// PointsTails CALLS [ROUNDS]: a function that ends by a call with the prefix tail., before which recording stops, and after which it starts
/// again. What it calls is not recorded if CALLS is calls, and is if it is objects, as then nothing tells when it has returned. What is made
/// while it is recorded has the type In, all else Out; how many of the first there are is printed.
module PointsTails

open System
open System.Runtime.CompilerServices

type In() =
    member val A = 0L with get, set

type Out() =
    member val A = 0L with get, set
    member val B = 0L with get, set

let mutable made = 0L

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Make (recorded: bool) : obj =
    if recorded then
        made <- made + 1L
        box (In())
    else
        box (Out())

/// A closure, which the compiler cannot know to end: it is called with the prefix.
[<MethodImpl(MethodImplOptions.NoInlining)>]
let Ends (f: bool -> int) (recorded: bool) : int =
    Make false |> ignore
    f recorded

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Run (calls: bool) (f: bool -> int) : unit =
    Make true |> ignore
    Ends f (not calls) |> ignore
    Make true |> ignore

[<EntryPoint>]
let main arguments =
    let calls = arguments.Length > 0 && arguments[0] = "calls"
    let rounds = if arguments.Length > 1 then Int32.Parse arguments[1] else 3
    let f = fun recorded -> (Make recorded).GetHashCode() ||| 1

    for _ in 1..rounds do
        Run calls f

    printfn "%d" made
    0
