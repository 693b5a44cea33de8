' AsyncBasic: async functions of Visual Basic that wait. Each is called by one other function only, and prints ("path") as
' AsyncPaths does how many objects it makes by itself, and who calls it.

Imports System
Imports System.Runtime.CompilerServices
Imports System.Threading.Tasks

Namespace AsyncBasic
    Class Item
        Public Value As Long
    End Class

    Module Program
        Const Rounds As Integer = 50
        ReadOnly items As New System.Collections.Generic.List(Of Item)

        <MethodImpl(MethodImplOptions.NoInlining)>
        Sub Keep(item As Item)
            SyncLock items
                items.Add(item)
            End SyncLock
        End Sub

        <MethodImpl(MethodImplOptions.NoInlining)>
        Sub Plain()
            Keep(New Item())
        End Sub

        Async Function Inner(Of T)(value As T) As Task(Of T)
            Keep(New Item())
            Await Task.Yield()
            Keep(New Item())
            Return value
        End Function

        Async Function Throws() As Task
            Try
                Await Task.Delay(1)
                Keep(New Item())
                Throw New InvalidOperationException()
            Catch ex As InvalidOperationException
                Plain()
            End Try
        End Function

        Async Function Work() As Task
            For i As Integer = 1 To Rounds
                Await Inner("x")
                Keep(New Item())
                Await Throws()
            Next
        End Function

        Sub Say(name As String, caller As String, made As Integer)
            Console.WriteLine("{""truth"":""path"",""name"":""AsyncBasic.Program." & name & """,""caller"":""" & caller & """,""made"":" & made * Rounds & "}")
        End Sub

        Function Main() As Integer
            Work().Wait()
            Say("Work()", "AsyncBasic.Program.Main()", 1)
            Say("Inner<T>(T)", "AsyncBasic.Program.Work()", 2)
            Say("Throws()", "AsyncBasic.Program.Work()", 1)
            Say("Plain()", "AsyncBasic.Program.Throws()", 1)
            Say("Main()", "", 0)
            Console.WriteLine("{""truth"":""end"",""ok"":true}")
            Return 0
        End Function
    End Module
End Namespace
