' What Visual Basic's compiler takes apart: names for it are in languages_test.go.
Imports System
Imports System.Collections.Generic
Imports System.Linq
Imports System.Threading.Tasks

Public Structure Money
    Public Cents As Long
    Public Shared Operator +(a As Money, b As Money) As Money
        Return New Money With {.Cents = a.Cents + b.Cents}
    End Operator
    Public Shared Widening Operator CType(n As Long) As Money
        Return New Money With {.Cents = n}
    End Operator
    Public Shared Operator Like(a As Money, b As Money) As Boolean
        Return a.Cents = b.Cents
    End Operator
    Public Shared Operator &(a As Money, b As Money) As Money
        Return a
    End Operator
    Public Shared Operator \(a As Money, b As Money) As Money
        Return a
    End Operator
    Public Shared Operator ^(a As Money, b As Money) As Money
        Return a
    End Operator
    Public Shared Operator IsTrue(a As Money) As Boolean
        Return True
    End Operator
    Public Shared Operator IsFalse(a As Money) As Boolean
        Return False
    End Operator
End Structure

Public Class Account(Of T)
    Public Property Owner As String
    Public WithEvents Source As Account(Of T)
    Public Event Changed(sender As Object, amount As Integer)
    Private ReadOnly items As New List(Of T)

    Private Sub Hear(sender As Object, amount As Integer) Handles Source.Changed
        items.Clear()
    End Sub

    Public Async Function Load(n As Integer) As Task(Of Integer)
        Await Task.Yield()
        Return n
    End Function

    Public Iterator Function Every(n As Integer) As IEnumerable(Of T)
        For i As Integer = 0 To items.Count - 1 Step n
            Yield items(i)
        Next
    End Function

    Public Function Pick(limit As Integer) As Func(Of T, Boolean)
        Dim shift = limit + 1
        Return Function(x) items.Count > shift
    End Function

    Default Public ReadOnly Property Item(i As Integer) As T
        Get
            Return items(i)
        End Get
    End Property
End Class

Public Module Program
    Public Function Generic(Of T)(x As T) As Func(Of T)
        Return Function() x
    End Function

    Public Sub Main(args As String())
        Dim both = From a In args Where a.Length > 1 Select New With {a, .N = a.Length}
        Dim keyed = New With {Key .Name = "x", .Size = 1}
        Dim add = Function(x As Integer) x + 1
        Dim say As Action(Of String) = Sub(s) Console.WriteLine(s & keyed.Name)
        Dim later = Async Function(x As Integer)
                        Await Task.Yield()
                        Return x + 1
                    End Function
        Static calls As Integer = 1
        say(both.Count().ToString() & add(1) & calls & later(1).Result)
        Try
            say(keyed.ToString())
        Catch e As Exception When e.Message = "x"
            say("no")
        End Try
    End Sub
End Module
