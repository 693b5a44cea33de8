/// AsyncFSharp: tasks of F# that wait. Each function is called by one other function only, and prints ("path") as
/// AsyncPaths does how many objects it makes by itself, and who calls it.
module AsyncFSharp

open System.Runtime.CompilerServices
open System.Threading.Tasks

let rounds = 50

type Item() =
    member val Value = 0L with get, set

let items = System.Collections.Generic.List<obj>()

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Keep (item: Item) = lock items (fun () -> items.Add(item))

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Plain () = Keep(Item())

let Inner (n: int) =
    task {
        Keep(Item())
        do! Task.Yield()
        Keep(Item())
        return n
    }

let Throws () =
    task {
        try
            do! Task.Delay(1)
            Keep(Item())
            failwith "no"
        with _ ->
            Plain()
    }

let Work () =
    task {
        for i in 1..rounds do
            let! n = Inner i
            Keep(Item())
            do! Throws()
    }

let Say name caller made =
    printfn "{\"truth\":\"path\",\"name\":\"AsyncFSharp.%s\",\"caller\":\"%s\",\"made\":%d}" name caller (made * rounds)

[<EntryPoint>]
let main _ =
    Work().Wait()
    Say "Work()" "AsyncFSharp.main(string[])" 1
    Say "Inner(int)" "AsyncFSharp.Work()" 2
    Say "Throws()" "AsyncFSharp.Work()" 1
    Say "Plain()" "AsyncFSharp.Throws()" 1
    Say "main(string[])" "" 0
    printfn "{\"truth\":\"end\",\"ok\":true}"
    0
