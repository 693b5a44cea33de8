// A small web shop, made to be profiled: README.md says which problems it has, and what clrprof says of them.
//
//   dotnet shop.dll                      serves on a free port until Ctrl-C
//   dotnet shop.dll --customers 300      is visited by 300 customers, one after the other, and ends
//   dotnet shop.dll --customers 300 --at http://127.0.0.1:5000
//                                        is 300 customers of another shop

using System;
using System.Linq;
using System.Net.Http;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace WebShop
{
    static class Program
    {
        static async Task Main(string[] args)
        {
            WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
            int customers = builder.Configuration.GetValue("customers", 0);
            if (builder.Configuration["at"] is string other)
            {
                await Customers.Visit(other, customers);
                return;
            }

            var catalogue = new Catalogue(Catalogue.Made(12_000));
            var orders = new Orders();
            builder.Logging.ClearProviders();
            if (builder.Configuration["urls"] == null)
                builder.WebHost.UseUrls("http://127.0.0.1:0");
            WebApplication app = builder.Build();
            app.MapGet("/products", (string text) => catalogue.Search(text));
            app.MapPost("/carts/{visitor}/{product}", (string visitor, int product) => Carts.Add(visitor, catalogue[product]));
            app.MapGet("/carts/{visitor}/total", (string visitor) => Carts.Of(visitor).Total().ToString());
            app.MapPost("/orders/{visitor}", (string visitor) => orders.Place(Carts.Of(visitor)));
            await app.StartAsync();

            if (customers == 0)
            {
                Console.WriteLine($"open on {app.Urls.First()}");
                await app.WaitForShutdownAsync();
                return;
            }
            await Customers.Visit(app.Urls.First(), customers);
            Console.WriteLine($"{customers} customers, {orders.Count} orders, {Carts.Count} carts");
            await app.StopAsync();
        }
    }

    /// <summary>People who look for something, put three things into a cart, look at the total, and order.</summary>
    static class Customers
    {
        public const int Lines = 3;
        static readonly string[] Wanted = { "lamp", "chair", "table" };

        public static async Task Visit(string address, int count)
        {
            using var client = new HttpClient { BaseAddress = new Uri(address) };
            for (int i = 0; i < count; i++)
            {
                await client.GetStringAsync("/products?text=" + Wanted[i % Wanted.Length]);
                for (int line = 0; line < Lines; line++)
                    await client.PostAsync($"/carts/visitor-{i}/{(i + line) % 100}", null);
                await client.GetStringAsync($"/carts/visitor-{i}/total");
                await client.PostAsync($"/orders/visitor-{i}", null);
            }
        }
    }
}
