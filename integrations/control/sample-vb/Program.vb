' Only what matters is recorded, and marked: clrprof run -f -o sample.clrprof -- dotnet run
' then clrprof report sample.clrprof types --function 'Sample.*'
Option Infer On
Option Strict On

Imports System
Imports System.Diagnostics
Imports Clrprof.Control

Namespace Sample
    ''' <summary>16 bytes of header, 8 of number.</summary>
    Public NotInheritable Class Order
        Public Number As Long
    End Class

    Public Module Program
        Function Load(n As Integer) As Order()
            Dim orders(n - 1) As Order
            For i = 0 To n - 1
                orders(i) = New Order With {.Number = i}
            Next
            Return orders
        End Function

        Sub Main()
            Profile.NameProcess("orders")
            Profile.NameThread("loader")
            Profile.Suspend()
            Dim prepared = Load(1000) ' is not recorded
            Profile.Resume()
            Dim began = Stopwatch.GetTimestamp()
            Dim orders As Order()
            Using Profile.Section("load")
                orders = Load(10)
            End Using
            If orders.Length > 5 Then ' only now it is known that the beginning was worth a mark
                Profile.CommentMarkAt(began, "large order", $"{orders.Length} lines")
            End If
            Console.WriteLine($"{prepared.Length} {orders.Length} {Profile.IsPresent.ToString().ToLowerInvariant()}")
        End Sub
    End Module
End Namespace
