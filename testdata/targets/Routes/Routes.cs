// Routes: a web server of ASP.NET Core that asks itself for each of its endpoints, the n-th of them n times. Routes are
// given to functions in the ways in which people do it: to lambdas, local functions and methods, in groups, by functions
// that get the builder, by attributes of controllers, by conventions and as fallbacks, to Razor Pages, to components of
// Blazor, and to hubs, whose methods it calls as a client.
//
// It prints what ASP.NET Core itself says: for each endpoint ("endpoint") the token of its method, the methods of HTTP and
// the route, how often it was asked for, and how many objects of the type Made were made meanwhile.
//
// It is compiled for .NET 8 or later.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using System.Net.WebSockets;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Components.Endpoints;
using Microsoft.AspNetCore.Components.Rendering;
using Microsoft.AspNetCore.Components.Routing;
using Microsoft.AspNetCore.DataProtection;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Mvc;
using Microsoft.AspNetCore.Mvc.ApplicationParts;
using Microsoft.AspNetCore.Mvc.Controllers;
using Microsoft.AspNetCore.Mvc.RazorPages;
using Microsoft.AspNetCore.Mvc.RazorPages.Infrastructure;
using Microsoft.AspNetCore.Mvc.ViewFeatures;
using Microsoft.AspNetCore.Razor.Hosting;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.SignalR;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Component = Microsoft.AspNetCore.Components;

// As the generator of Razor writes it for the pages below.
[assembly: ProvideApplicationPartFactory("Microsoft.AspNetCore.Mvc.ApplicationParts.ConsolidatedAssemblyApplicationPartFactory, Microsoft.AspNetCore.Mvc.Razor")]
[assembly: RazorCompiledItem(typeof(Routes.Pages_Orders_Index), "mvc.1.0.razor-page", "/Pages/Orders/Index.cshtml")]
[assembly: RazorCompiledItem(typeof(Routes.Pages_Absolute), "mvc.1.0.razor-page", "/Pages/Absolute.cshtml")]
[assembly: RazorCompiledItem(typeof(Routes.Areas_Store_Pages_Stock), "mvc.1.0.razor-page", "/Areas/Store/Pages/Stock.cshtml")]
[assembly: RazorCompiledItem(typeof(Routes.Views_Shown), "mvc.1.0.view", "/Views/Shown.cshtml")]

namespace Routes
{
    public sealed class Made
    {
        public long Value;
    }

    public static class Work
    {
        static readonly List<Made> all = new List<Made>();
        public static int Count { get { lock (all) return all.Count; } }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Make(int n)
        {
            lock (all)
                for (int i = 0; i < n; i++)
                    all.Add(new Made());
            return "made " + n;
        }

        /// <summary>Only one endpoint calls it: what it makes after the wait is of that.</summary>
        public static async Task<string> MakeLater(int n)
        {
            await Task.Yield();
            return Make(n);
        }
    }

    static class Program
    {
        static async Task<int> Main()
        {
            WebApplicationBuilder builder = WebApplication.CreateBuilder();
            builder.Logging.ClearProviders();
            builder.WebHost.UseUrls("http://127.0.0.1:0");
            builder.Services.AddControllers();
            builder.Services.AddSignalR();
            builder.Services.AddRazorPages();
            builder.Services.AddRazorComponents();
            builder.Services.AddDataProtection().UseEphemeralDataProtectionProvider(); // which leaves no keys behind
            WebApplication app = builder.Build();
            int captured = 2;

            app.MapControllers();
            app.MapGet("/lambda/{id}", (int id) => Work.Make(1));
            app.MapGet("no-slash", () => Work.Make(2));
            app.MapGet("/", () => Work.Make(1));
            app.MapPost("/captures", () => Work.Make(captured + 1));
            app.MapPut("/async/{id:int}", async (int id) =>
            {
                Work.Make(1);
                await Task.Delay(1);
                string a = Work.Make(2);
                return a + await Work.MakeLater(3);
            });
            app.MapDelete("/method", Handlers.Delete);
            app.MapPatch("/instance", new Handlers(3).Patch);
            app.Map("/any", () => Work.Make(1));
            app.MapMethods("/two", new[] { "PUT", "PATCH" }, () => Work.Make(1));
            app.MapFallback("/fallback/{*rest}", () => Work.Make(2));
            app.MapGet("/context", (HttpContext context) => context.Response.WriteAsync(Work.Make(1)));
            string Local(int id) => Work.Make(1);
            app.MapGet("/local/{id}", Local);
            app.MapGet("/stream", Handlers.Stream);
            app.MapGet("/lazy", Handlers.Lazy);
            app.MapGet("/same/a", Handlers.Same);
            app.MapGet("/same/b", Handlers.Same);

            RouteGroupBuilder group = app.MapGroup("/group");
            group.MapGet("/in/{id}", (int id) => Work.Make(1)).WithName("in");
            RouteGroupBuilder inner = group.MapGroup("inner/").WithTags("tag").WithDisplayName("inner");
            inner.MapPost("", () => Work.Make(2));
            app.MapGroup("/once").MapGet("/x", () => Work.Make(1));
            app.MapGroup("/passed").MapExtra();
            app.MapApplication();
            IEndpointRouteBuilder either = captured > 5 ? app.MapGroup("/a") : app.MapGroup("/b");
            either.MapGet("/either", () => Work.Make(1));
            string pattern = "/variable/" + captured;
            app.MapGet(pattern, () => Work.Make(1)); // not told by the code

            app.MapGroup("/twice/a").MapTwice();
            app.MapGroup("/twice/b").MapTwice();
            new Module().Map(app.MapGroup("/module"));
            kept = app.MapGroup("/kept");
            kept.MapGet("/x", () => Work.Make(1)); // by whoever stores something in the field
            app.UseRouting();
            app.UseAntiforgery();
            app.UseEndpoints(endpoints =>
            {
                endpoints.MapGet("/inside", () => Work.Make(1));
                endpoints.MapGroup("/deep").MapTwice();
            });
            app.MapControllerRoute("blog", "blog/{*article}", new { controller = "Blog", action = "Article" });
            app.MapAreaControllerRoute("admin", "admin", "Manage/{controller}/{action=List}/{id?}");
            app.MapDefaultControllerRoute();
            app.MapHub<Chat>("/chat");
            app.MapRazorPages();
            app.MapRazorComponents<Root>();
            app.MapFallbackToController("/lost/{*path}", "Article", "Blog");
            app.MapFallbackToController("Any", "Lost");

            await app.StartAsync();
            await Ask(app);
            await Call(app, "Say", "Named", "Later", "Inherited");
            await app.StopAsync();
            return Truth.Print(0);
        }

        public static IEndpointRouteBuilder kept;

        static void MapTwice(this RouteGroupBuilder group)
        {
            group.MapGet("/x", () => Work.Make(1));
        }

        static void MapExtra(this IEndpointRouteBuilder routes)
        {
            routes.MapGet("/extra", () => Work.Make(1));
            routes.MapGroup("more").MapGet("/{id}", (int id) => Work.Make(1));
        }

        static void MapApplication(this WebApplication application)
        {
            application.MapGet("/application", () => Work.Make(1));
        }

        /// <summary>Asks for each handler of a page; its name is in the query, if it has no place in the route.</summary>
        static async Task<int> AskPage(WebApplication app, HttpClient http, RouteEndpoint e, PageActionDescriptor page, int n)
        {
            CompiledPageActionDescriptor compiled = await app.Services.GetRequiredService<PageLoader>().LoadAsync(page, e.Metadata);
            foreach (HandlerMethodDescriptor handler in compiled.HandlerMethods)
            {
                string pattern = "/" + e.RoutePattern.RawText;
                if (handler.Name != null)
                    pattern = pattern.Contains("{handler?}") ? pattern.Replace("{handler?}", handler.Name) : pattern + "?handler=" + handler.Name;
                string path = Regex.Replace(pattern.Replace("/{handler?}", ""), @"\{[^}]*\}", "1");
                int before = Work.Count;
                n++;
                for (int i = 0; i < n; i++)
                    using (var request = new HttpRequestMessage(new HttpMethod(handler.HttpMethod.ToUpperInvariant()), path))
                    using (HttpResponseMessage answer = await http.SendAsync(request))
                        if (!(await answer.Content.ReadAsStringAsync()).StartsWith("made"))
                            throw new Exception(handler.HttpMethod + " " + pattern + ": " + answer.StatusCode);
                Truth.Say("endpoint", "token", handler.MethodInfo.MetadataToken, "verbs", handler.HttpMethod.ToUpperInvariant(), "route", pattern,
                    "calls", n, "made", Work.Count - before);
            }
            return n;
        }

        /// <summary>Calls methods of the hub as a client of SignalR does, the n-th n times: each message is text that ends in 1E.</summary>
        static async Task Call(WebApplication app, params string[] methods)
        {
            using (var socket = new ClientWebSocket())
            {
                await socket.ConnectAsync(new Uri(app.Urls.Single().Replace("http", "ws") + "/chat"), default);
                await Send(socket, "{\"protocol\":\"json\",\"version\":1}");
                await Receive(socket, "{}");
                for (int n = 1; n <= methods.Length; n++)
                {
                    int before = Work.Count;
                    for (int i = 0; i < n; i++)
                    {
                        await Send(socket, "{\"type\":1,\"invocationId\":\"1\",\"target\":\"" + methods[n - 1] + "\",\"arguments\":[]}");
                        await Receive(socket, "made");
                    }
                    MethodInfo method = typeof(Chat).GetMethods().Single(m => (m.GetCustomAttribute<HubMethodNameAttribute>()?.Name ?? m.Name) == methods[n - 1]);
                    Truth.Say("endpoint", "token", method.MetadataToken, "verbs", "", "route", "/chat " + methods[n - 1], "calls", n, "made", Work.Count - before);
                }
            }
        }

        static Task Send(ClientWebSocket socket, string message) =>
            socket.SendAsync(Encoding.UTF8.GetBytes(message + "\x1e"), WebSocketMessageType.Text, true, default);

        /// <summary>Waits for a message with a text; the server also says that it is alive.</summary>
        static async Task Receive(ClientWebSocket socket, string text)
        {
            string all = "";
            var buffer = new byte[1024];
            while (!all.Contains(text))
            {
                WebSocketReceiveResult got = await socket.ReceiveAsync(buffer, default);
                all += Encoding.UTF8.GetString(buffer, 0, got.Count);
                if (got.MessageType == WebSocketMessageType.Close || all.Contains("\"error\""))
                    throw new Exception("the hub answered " + all);
            }
        }

        /// <summary>Asks for each endpoint, one after the other.</summary>
        static async Task Ask(WebApplication app)
        {
            using (var http = new HttpClient { BaseAddress = new Uri(app.Urls.Single()) })
            {
                int n = 0;
                foreach (RouteEndpoint e in ((IEndpointRouteBuilder)app).DataSources.SelectMany(s => s.Endpoints).OfType<RouteEndpoint>())
                {
                    if (e.Metadata.GetMetadata<HubMetadata>() != null || e.Metadata.GetMetadata<ISuppressMatchingMetadata>()?.SuppressMatching == true)
                        continue; // of conventions there is also one that only makes links
                    IReadOnlyList<string> verbs = e.Metadata.GetMetadata<HttpMethodMetadata>()?.HttpMethods ?? Array.Empty<string>();
                    if (e.Metadata.GetMetadata<PageActionDescriptor>() is PageActionDescriptor page)
                    {
                        n = await AskPage(app, http, e, page, n);
                        continue;
                    }
                    string pattern = "/" + e.RoutePattern.RawText.TrimStart('/');
                    foreach (var (name, value) in e.RoutePattern.RequiredValues) // of conventions
                        pattern = Regex.Replace(pattern, @"\{" + name + @"(=\w*)?\}", value?.ToString() ?? "");
                    if (pattern.StartsWith("/_framework"))
                        continue; // of Blazor itself
                    string path = Regex.Replace(pattern, @"\{[^}]*\}", "1");
                    int before = Work.Count;
                    n++;
                    for (int i = 0; i < n; i++)
                        using (var request = new HttpRequestMessage(new HttpMethod(verbs.FirstOrDefault() ?? "GET"), path))
                        using (HttpResponseMessage answer = await http.SendAsync(request))
                            if (!(await answer.Content.ReadAsStringAsync()).Contains("made"))
                                throw new Exception(pattern + ": " + answer.StatusCode);
                    MethodInfo method = e.Metadata.GetMetadata<ControllerActionDescriptor>()?.MethodInfo ?? e.Metadata.GetMetadata<MethodInfo>();
                    if (pattern.StartsWith("/lost") || pattern.Contains(":nonfile")) // ASP.NET Core looks for these when it is asked
                        method = pattern.StartsWith("/lost") ? typeof(BlogController).GetMethod("Article") : typeof(LostController).GetMethod("Any");
                    if (e.Metadata.GetMetadata<ComponentTypeMetadata>() is ComponentTypeMetadata component && component.Type != typeof(Root))
                        method = component.Type.GetMethods(BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.DeclaredOnly).Single();
                    Console.WriteLine(Truth.Row("endpoint", "token", method?.MetadataToken ?? 0, "verbs", string.Join(",", verbs), "route", pattern,
                        "calls", n, "made", Work.Count - before) + "}");
                }
            }
        }
    }

    public abstract class PageWith<T> : Page
    {
        public ViewDataDictionary<T> ViewData => (ViewDataDictionary<T>)PageContext?.ViewData;
        public override Task ExecuteAsync() => Task.CompletedTask;
    }

    [RazorCompiledItemMetadata("RouteTemplate", "{id:int}/{handler?}")]
    public class Pages_Orders_Index : PageWith<OrdersModel>
    {
        public OrdersModel Model => ViewData.Model;
        public void OnGetNothing() => Work.Make(100); // not a handler: the model has those
    }

    [RazorCompiledItemMetadata("RouteTemplate", "/absolute-page/{x}"), IgnoreAntiforgeryToken]
    public class Pages_Absolute : PageWith<Pages_Absolute>
    {
        public Pages_Absolute Model => ViewData.Model;
        public IActionResult OnGet(string x) => Content(Work.Make(1));
        public IActionResult OnPostSave() => Content(Work.Make(2));
    }

    public class Areas_Store_Pages_Stock : PageWith<StockModel>
    {
        public StockModel Model => ViewData.Model;
    }

    public class Views_Shown
    {
        public void OnGet() => Work.Make(100);
    }

    [IgnoreAntiforgeryToken]
    public class OrdersModel : PageModel
    {
        public IActionResult OnGet(int id) => Content(Work.Make(1));
        public IActionResult OnPostDeleteAsync(int id) => Content(Work.Make(1));
        public async Task<IActionResult> OnPutAsync(int id)
        {
            await Task.Yield();
            return Content(Work.Make(1));
        }
        [NonHandler] public void OnDelete() => Work.Make(100);
        public void Other() => Work.Make(100);
    }

    public abstract class GoodsModel : PageModel
    {
        public IActionResult OnGetAll() => Content(Work.Make(1));
    }

    public class StockModel : GoodsModel
    {
        public IActionResult OnGet() => Content(Work.Make(1));
    }

    public sealed class Module
    {
        public void Map(IEndpointRouteBuilder routes) => routes.MapGet("/mapped", () => Work.Make(1));
    }

    public abstract class Base : Hub
    {
        public string Inherited() => Work.Make(2);
    }

    public sealed class Chat : Base
    {
        public string Say() => Work.Make(1);
        [HubMethodName("Named")] public string Other() => Work.Make(3);
        public async Task<string> Later()
        {
            await Task.Yield();
            return Work.Make(2);
        }
        public override Task OnConnectedAsync() => Task.CompletedTask;
    }

    public class HomeController : Controller
    {
        public string Index() => Work.Make(1);
        public string About(int? id) => Work.Make(2);
        [HttpPost] public string Save() => Work.Make(1);
        [ActionName("renamed")] public string Other() => Work.Make(1);
        public async Task<string> SoonAsync()
        {
            await Task.Yield();
            return Work.Make(1);
        }
        [NonAction] public string None() => Work.Make(100);
        public static string Static() => Work.Make(100);
        public override string ToString() => Work.Make(100);
    }

    public class BlogController : ControllerBase
    {
        public string Article() => Work.Make(1);
    }

    public class LostController : ControllerBase
    {
        public string Any() => Work.Make(1);
    }

    /// <summary>The document in which components are: they say nothing that a test reads.</summary>
    public class Root : Component.ComponentBase
    {
        protected override void BuildRenderTree(RenderTreeBuilder b)
        {
            b.AddContent(0, "made ");
            b.OpenComponent<Router>(1);
            b.AddComponentParameter(2, "AppAssembly", typeof(Root).Assembly);
            b.AddComponentParameter(3, "Found", (Component.RenderFragment<Component.RouteData>)(route => inner =>
            {
                inner.OpenComponent<Component.RouteView>(0);
                inner.AddComponentParameter(1, "RouteData", route);
                inner.CloseComponent();
            }));
            b.CloseComponent();
        }
    }

    [Component.Route("/component/{Id:int}")]
    [Component.Route("/component/of/{Id:int}")]
    public class Numbered : Component.ComponentBase
    {
        [Component.Parameter] public int Id { get; set; }

        protected override void BuildRenderTree(RenderTreeBuilder b) => b.AddContent(0, Work.Make(Id));
    }

    [Component.Route("/component/later")]
    public class Later : Component.ComponentBase
    {
        protected override async Task OnInitializedAsync()
        {
            Work.Make(1);
            await Task.Yield();
            Work.Make(2);
        }
    }

    [Area("admin")]
    public class UsersController : ControllerBase
    {
        public string List() => Work.Make(1);
        public string Show(int id) => Work.Make(1);
    }

    public class Widgets : ControllerBase
    {
        public string Show() => Work.Make(1);
    }

    [Route("bare/[action]")]
    public class BareController : ControllerBase
    {
        public string Any() => Work.Make(1);
    }

    public sealed class Handlers
    {
        readonly int n;
        public Handlers(int n) => this.n = n;
        public static string Delete() => Work.Make(1);
        public static string Same() => Work.Make(1);
        public static async IAsyncEnumerable<string> Stream()
        {
            yield return Work.Make(1);
            await Task.Yield();
            yield return Work.Make(1);
        }
        public static IEnumerable<string> Lazy()
        {
            yield return Work.Make(1);
            yield return Work.Make(2);
        }
        public string Patch() => Work.Make(n);
    }

    [ApiController, Route("api/[controller]")]
    public abstract class Versioned : ControllerBase
    {
    }

    public class ItemsController : Versioned
    {
        [HttpGet] public string All() => Work.Make(1);
        [HttpGet("{id}")] public string One(int id) => Work.Make(2);
        [HttpPost("[action]")] public string Renamed() => Work.Make(1);
        [HttpDelete, Route("both/{id}")] public string Both(int id) => Work.Make(1);
        [HttpPut("x"), HttpPatch("y")] public string Several() => Work.Make(1);
        [HttpGet("/absolute/{id}")] public string Absolute(int id) => Work.Make(1);
        [HttpGet("~/home")] public string Home() => Work.Make(1);
        [HttpGet("[action]", Name = "named")] public async Task<string> LaterAsync()
        {
            await Task.Yield();
            return Work.Make(4);
        }
        [Route("open")] public string Open() => Work.Make(1);
        [HttpGet("generic")] public ActionResult<List<string>> Result() => new List<string> { "made" }.Append(Work.Make(1)).Take(1).Single() is string s ? Content(s) : null;
        [NonAction] public string None() => Work.Make(100);
    }

    [Area("shop"), Route("[area]/[controller]/[action]")]
    public class CartController : ControllerBase
    {
        [HttpGet, ActionName("show")] public string List() => Work.Make(1);
    }

    public abstract class Animals : ControllerBase
    {
        public string Read() => Work.Make(1);
        public virtual string Write() => Work.Make(1);
    }

    public class CatsController : Animals
    {
    }

    public class DogsController : Animals
    {
        public override string Write() => Work.Make(2);
    }

    public abstract class Tagged : ControllerBase
    {
        [HttpGet("in/{id}")] public string In(int id) => Work.Make(1);
        [HttpGet("over/{id}")] public virtual string Over(int id) => Work.Make(100);
        [HttpGet("old")] public virtual string Own() => Work.Make(100);
        [HttpGet("abstract"), ActionName("abstract")] public abstract string Abstract();
        [NonAction] public virtual string Never() => Work.Make(100);
    }

    [Route("birds/[controller]")]
    public class BirdsController : Tagged
    {
        public override string Over(int id) => Work.Make(2);
        [HttpGet("new")] public override string Own() => Work.Make(3);
        public override string Abstract() => Work.Make(4);
        public override string Never() => Work.Make(100);
    }

    public class PlainController : ControllerBase
    {
        [HttpGet("plain/{id}")] public string Get(int id) => Work.Make(1);
    }
}
