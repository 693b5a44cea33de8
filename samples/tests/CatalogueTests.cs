// Tests of the web shop beside this folder. One of them is slow: it reads the whole catalogue, which is slow itself.

using WebShop;
using Xunit;

public class CatalogueTests
{
    [Fact]
    public void ReadsAll() => Assert.Equal(12_000, new Catalogue(Catalogue.Made(12_000)).Count);

    [Fact]
    public void FindsByName()
    {
        var catalogue = new Catalogue(Catalogue.Made(100));
        Assert.Contains("lamp 0", catalogue.Search("lamp"));
    }

    [Fact]
    public void AddsUp()
    {
        var cart = new Cart();
        cart.Add(new Product(3, "chair", 10));
        cart.Add(new Product(5, "lamp", 10)); // with a discount of 10 %
        Assert.Equal(19, cart.Total());
    }
}
