import Testing

@testable import chatfs_bench

@Suite("Figures in a page of the documentation")
struct PageTests {
    private static let page = "# Title\n\n\(Page.beginning)\n\nold\n\(Page.ending)\n\n## After\n"

    @Test("only the text between the marks changes")
    func replaces() throws {
        let once = try #require(Page.replacing(figuresIn: Self.page, with: "| new |\n"))
        #expect(once == "# Title\n\n\(Page.beginning)\n\n| new |\n\n\(Page.ending)\n\n## After\n")
        #expect(Page.replacing(figuresIn: once, with: "| new |\n") == once)
    }

    @Test(
        "a page with wrong marks is refused",
        arguments: [
            "nothing", Page.beginning, Page.ending, Page.ending + Page.beginning, page + page,
            Page.beginning + Page.beginning + Page.ending, Page.ending + page,
        ])
    func refuses(text: String) {
        #expect(Page.replacing(figuresIn: text, with: "new") == nil)
    }

    @Test(
        "pictures are linked relative to the page",
        arguments: [
            ("docs/a.svg", "docs/page.md", "(a.svg)"), ("a.svg", "page.md", "(a.svg)"),
            ("/x/docs/a.svg", "/x/docs/page.md", "(a.svg)"), ("/y/a.svg", "docs/page.md", "(/y/a.svg)"),
        ])
    func picture(picture: String, page: String, target: String) {
        #expect(Page.link(toPicture: picture, from: page).contains("]" + target + "\n"))
    }
}
