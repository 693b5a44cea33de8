// What the packages of gRPC have that code refers to: types and methods with their names, which do nothing.
using System;

namespace Grpc.Core
{
    public enum MethodType { Unary }
    public class Marshaller<T> { }
    public class Method<TRequest, TResponse>
    {
        public Method(MethodType type, string service, string name, Marshaller<TRequest> to, Marshaller<TResponse> from) { }
    }

    [AttributeUsage(AttributeTargets.Class)]
    public class BindServiceMethodAttribute : Attribute
    {
        public BindServiceMethodAttribute(Type holder, string method) { }
    }
}

namespace Microsoft.AspNetCore.Routing
{
    public interface IEndpointRouteBuilder { }
}

namespace Microsoft.AspNetCore.Builder
{
    using Microsoft.AspNetCore.Routing;

    public class WebApplication : IEndpointRouteBuilder
    {
        public static WebApplication Create() => null;
    }

    public static class EndpointRouteBuilderExtensions
    {
        public static IEndpointRouteBuilder MapGroup(this IEndpointRouteBuilder on, string prefix) => on;
    }

    public static class GrpcEndpointRouteBuilderExtensions
    {
        public static object MapGrpcService<T>(this IEndpointRouteBuilder on) => null;
    }
}
