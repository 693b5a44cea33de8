// Web: a web server of ASP.NET Core, minimal APIs on Kestrel. It prints "listening" and its address, and serves until
// somebody asks for /stop; then it says what its handlers made for the requests that there were.
//
//   GET /order/{id}   an order of 3 lines, as JSON
//   GET /later/{id}   the same after an await
//   GET /text         a string
//   POST /stop        "stopping"
//
// It is compiled for .NET 8 or later.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Web
{
    sealed class Order
    {
        public int Id { get; set; }
        public Line[] Lines { get; set; }
    }

    sealed class Line
    {
        public string Article { get; set; }
        public decimal Price { get; set; }
    }

    sealed class Note
    {
        public long Value;
    }

    static class Handlers
    {
        const int Lines = 3;
        static int orders, later, texts;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Order Get(int id)
        {
            Interlocked.Increment(ref orders);
            return Make(id);
        }

        public static async Task<Order> GetLater(int id)
        {
            await Task.Delay(1);
            Interlocked.Increment(ref later);
            return Make(id);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Text()
        {
            Interlocked.Increment(ref texts);
            return new Note { Value = 42 }.ToString();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Order Make(int id)
        {
            var order = new Order { Id = id, Lines = new Line[Lines] };
            for (int i = 0; i < Lines; i++)
                order.Lines[i] = new Line { Article = "article", Price = id + i };
            return order;
        }

        public static void Tell()
        {
            MethodInfo make = Truth.Method(typeof(Handlers), nameof(Make));
            int made = orders + later;
            Truth.Site(make, typeof(Order), made, made * Size.Object(16));
            Truth.Site(make, typeof(Line[]), made, made * Size.Array(8, Lines));
            Truth.Site(make, typeof(Line), Lines * made, Lines * made * Size.Object(24));
            Truth.Site(Truth.Method(typeof(Handlers), nameof(Text)), typeof(Note), texts, texts * Size.Object(8));
            Truth.Below(Truth.Method(typeof(Handlers), nameof(Get)), typeof(Order), orders, orders * Size.Object(16));
        }
    }

    static class Program
    {
        static int Main()
        {
            WebApplicationBuilder builder = WebApplication.CreateBuilder();
            builder.Logging.ClearProviders();
            builder.WebHost.UseUrls("http://127.0.0.1:0");
            WebApplication app = builder.Build();
            app.MapGet("/order/{id}", (Func<int, Order>)Handlers.Get);
            app.MapGet("/later/{id}", (Func<int, Task<Order>>)Handlers.GetLater);
            app.MapGet("/text", (Func<string>)Handlers.Text);
            app.MapPost("/stop", (IHostApplicationLifetime lifetime) => { lifetime.StopApplication(); return "stopping"; });
            app.Lifetime.ApplicationStarted.Register(() => Console.WriteLine("listening " + app.Urls.Single()));
            app.Run();
            Handlers.Tell();
            return Truth.Print();
        }
    }
}
