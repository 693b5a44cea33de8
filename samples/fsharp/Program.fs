// Word counts in F#, twice: with lists, as one writes it first, and in one pass. Both give the same result; README.md says
// what each allocates.
module Words.Program

open System
open System.Collections.Generic

/// Twelve words, again and again.
let text repeats =
    String.concat " " (Seq.init repeats (fun _ -> "the quick brown fox jumps over the lazy dog while it rains"))

/// A list of all words, one of pairs, groups, and a map.
let withLists (s: string) =
    s.Split ' '
    |> List.ofArray
    |> List.map (fun word -> word, 1)
    |> List.groupBy fst
    |> List.map (fun (word, pairs) -> word, List.sumBy snd pairs)
    |> Map.ofList

/// One dictionary, which is asked with a part of the text: no string is made of a word that is known.
let inOnePass (s: string) =
    let counts = Dictionary<string, int>()
    let mutable byPart = counts.GetAlternateLookup<ReadOnlySpan<char>>()
    let mutable start = 0
    while start < s.Length do
        let stop =
            match s.IndexOf(' ', start) with
            | -1 -> s.Length
            | at -> at
        let word = s.AsSpan(start, stop - start)
        let mutable known = 0
        byPart.TryGetValue(word, &known) |> ignore
        byPart[word] <- known + 1
        start <- stop + 1
    counts

[<EntryPoint>]
let main arguments =
    let repeats = if arguments.Length > 0 then int arguments[0] else 10_000
    let s = text repeats
    let lists = withLists s
    let pass = inOnePass s
    if lists |> Map.exists (fun word n -> pass[word] <> n) || lists.Count <> pass.Count then
        failwith "the results differ"
    printfn "%d words, %d different" (Map.fold (fun sum _ n -> sum + n) 0 lists) pass.Count
    0
