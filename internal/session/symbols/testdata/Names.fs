// What F#'s compiler takes apart: names for it are in languages_test.go.
module Shop.Orders

open System
open System.Collections.Generic
open System.Threading.Tasks

let (|Even|Odd|) n = if n % 2 = 0 then Even else Odd
let (|Positive|_|) n = if n > 0 then Some n else None
let (+.) (a: int) b = a * 10 + b
let inline twice f x = f (f x)

type Shape =
    | Circle of radius: float
    | Square of side: float
    | Nothing

type Point = { X: int; Y: int }

type Counter<'T>(start: int) =
    let mutable n = start
    member _.Next() = n <- n + 1; n
    member val Name = "" with get, set
    member _.Apply(f: int -> 'T) = f n
    static member (+) (a: Counter<'T>, b: Counter<'T>) = a.Next() + b.Next()
    interface IDisposable with
        member _.Dispose() = ()

let taskWork (n: int) = task {
    let! a = Task.FromResult n
    do! Task.Yield()
    return a + 1
}

let asyncWork n = async {
    do! Async.Sleep 1
    let! x = async { return n + 1 }
    return x
}

let numbers n = seq {
    for i in 1 .. n do
        yield i * i
}

let comp items =
    let limit = Seq.length items
    items |> List.map (fun x -> x + limit) |> List.filter (fun x -> x % 2 = 0)

let rec walk depth =
    let rec go acc i = if i = 0 then acc else go (acc + depth + i) (i - 1)
    let step = fun a b -> go a b + depth
    step 1 2

let curried a b c = a + b + c
let partial = curried 1 2

let classify n =
    match n with
    | Even -> "even"
    | Odd -> "odd"

let describe shape =
    match shape with
    | Circle r when r > 1.0 -> "large"
    | Circle _ -> "small"
    | _ -> "other"

let boxed (x: 'T) = { new IComparable with member _.CompareTo(_) = (box x).GetHashCode() }

let ``a name with spaces`` () = 1

[<EntryPoint>]
let main args =
    let total = comp [1; 2; 3] |> List.sum
    let f = fun () -> walk total
    printfn "%d %s %d" (f ()) (classify total) (taskWork 1).Result
    asyncWork 1 |> Async.RunSynchronously |> ignore
    0
