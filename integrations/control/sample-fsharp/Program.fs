// Only what matters is recorded, and marked: clrprof run -f -o sample.clrprof -- dotnet run
// then clrprof report sample.clrprof types --function 'Sample.*'
module Sample.Program

open System.Diagnostics
open Clrprof.Control

/// 16 bytes of header, 8 of number.
type Order = { Number: int64 }

let load n = Array.init n (fun i -> { Number = int64 i })

[<EntryPoint>]
let main _ =
    Profile.NameProcess "orders" |> ignore
    Profile.NameThread "loader" |> ignore
    Profile.Suspend() |> ignore
    let prepared = load 1000 // is not recorded
    Profile.Resume() |> ignore
    let began = Stopwatch.GetTimestamp()
    let orders =
        use _load = Profile.Section "load"
        load 10
    if orders.Length > 5 then // only now it is known that the beginning was worth a mark
        Profile.CommentMarkAt(began, "large order", $"{orders.Length} lines") |> ignore
    printfn "%d %d %b" prepared.Length orders.Length Profile.IsPresent
    0
