// A web server with ASP.NET Core that asks itself so many times and ends.

using System;
using System.Linq;
using System.Net.Http;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace TotalWeb
{
    record Order(int Id, string Customer, decimal[] Prices, DateTime? Sent);

    static class Program
    {
        static async Task<int> Main(string[] args)
        {
            var builder = WebApplication.CreateBuilder(new[] { "--urls", "http://127.0.0.1:0" });
            builder.Logging.ClearProviders();
            var app = builder.Build();
            app.MapGet("/orders/{id}", (int id) => Results.Json(new Order(id, "c" + id, new[] { 1.5m, id }, id % 2 == 0 ? DateTime.UnixEpoch : null)));
            await app.StartAsync();
            using var client = new HttpClient();
            long bytes = 0;
            async Task Ask(int first)
            {
                for (int i = 0; i < int.Parse(args[0]); i++)
                    bytes += (await client.GetStringAsync(app.Urls.First() + "/orders/" + (first + i))).Length;
            }
            await Task.WhenAll(Ask(0), Ask(1000), Ask(2000));
            await app.StopAsync();
            Console.WriteLine(bytes);
            return 0;
        }
    }
}
