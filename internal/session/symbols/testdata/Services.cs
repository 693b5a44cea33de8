// Services of gRPC, whose bases are as the compiler of protocol buffers writes them. A comment at the end of a line is
// the routes of the method there; other methods have none.
using Grpc.Core;
using Microsoft.AspNetCore.Builder;

namespace Demo
{
    public static partial class Greeter
    {
        static readonly string __ServiceName = "demo.v1.Greeter";
        static readonly Marshaller<string> __Marshaller = new Marshaller<string>();
        static readonly Method<string, string> __Method_Say = new Method<string, string>(
            MethodType.Unary, __ServiceName, "Say", __Marshaller, __Marshaller);
        static readonly Method<string, string> __Method_Chat = new Method<string, string>(
            MethodType.Unary, __ServiceName, "Chat", __Marshaller, __Marshaller);

        [BindServiceMethod(typeof(Greeter), "BindService")]
        public abstract partial class GreeterBase
        {
            public virtual string Say(string request) => null;
            public virtual string Chat(string request) => null;
            public virtual string Other(string request) => null;
        }
    }

    public class Outer
    {
        public class Nested
        {
            static readonly Method<string, string> send = new Method<string, string>(MethodType.Unary, "Mail", "Send", null, null);

            [BindServiceMethod(typeof(Nested), "BindService")]
            public class Base
            {
                public virtual string Send(string request) => null;
            }
        }
    }

    class Service : Greeter.GreeterBase
    {
        public override string Say(string request) => request; // POST /demo.v1.Greeter/Say
        public override string Other(string request) => request;
        public string Chat() => null;
        public override string ToString() => "service";
    }

    class Between : Greeter.GreeterBase
    {
        public override string Chat(string request) => request; // POST /demo.v1.Greeter/Chat
    }

    class Late : Between
    {
        public override string Say(string request) => request; // POST /demo.v1.Greeter/Say
    }

    class Mail : Outer.Nested.Base
    {
        public override string Send(string request) => request; // POST /Mail/Send, POST /inside/Mail/Send
    }

    class Unmapped : Greeter.GreeterBase
    {
        public override string Say(string request) => request;
    }

    class Plain
    {
        public virtual string Say(string request) => request;
    }

    static class Program
    {
        static void Main()
        {
            WebApplication app = WebApplication.Create();
            app.MapGrpcService<Service>();
            app.MapGrpcService<Late>();
            app.MapGrpcService<Mail>();
            app.MapGroup("/inside").MapGrpcService<Mail>();
            app.MapGrpcService<Plain>();
        }
    }
}
