import Posix
import Testing

/// Compares the pages in docs/security with the source.
@Suite struct SecurityDocumentTests {
    private static let folder = "docs/security"

    private static func pages() throws -> [(name: String, text: String)] {
        try PrivateFolder.names(at: LayeringTests.root + "/" + folder).sorted()
            .map { ($0, try DeveloperPages.text("\(folder)/\($0)")) }
    }

    @Test func namedSuitesExist() throws {
        let declared = Set(try SourceDeclaration.ofTests().map { "\($0.target).\($0.name)" })
        for page in try Self.pages() {
            let named = Set(page.text.matches(of: /`(\w+Tests\.\w+)`/).map { String($0.1) })
            #expect(named.count >= 10, "\(page.name) was not understood")
            #expect(named.subtracting(declared) == [], "\(page.name)")
        }
    }

    @Test func namedTypesExist() throws {
        let paths = try LayeringTests.swiftFiles(in: "Sources")
        let declared = Set(try SourceDeclaration.all(in: paths).map(\.name))
        for page in try Self.pages() {
            let words = page.text.matches(of: /`([A-Z]\w*[a-z]\w*)`/).map { String($0.1) }
            // Labels of other programs and buttons.
            let named = Set(words).subtracting(["Approve"])
            #expect(named.subtracting(declared) == [], "\(page.name)")
        }
    }

    @Test func linksLeadToHeadings() throws {
        for page in try Self.pages() {
            for link in page.text.matches(of: /\]\(([^)#]*)#?([^)]*)\)/) {
                let name = link.1.isEmpty ? page.name : String(link.1)
                let text = try DeveloperPages.text("\(Self.folder)/\(name)")
                guard !link.2.isEmpty else { continue }
                let anchors = text.split(separator: "\n").filter { $0.hasPrefix("#") }
                    .map { Self.anchor(of: $0) }
                #expect(anchors.contains(String(link.2)), "\(page.name) links to \(link.0)")
            }
        }
    }

    /// Returns the anchor that GitHub gives a heading.
    private static func anchor(of heading: some StringProtocol) -> String {
        heading.drop { $0 == "#" || $0 == " " }.lowercased()
            .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
            .split(separator: " ").joined(separator: "-")
    }

    @Test func pagesStayShort() throws {
        let sizes = try Self.pages().map(\.text.utf8.count)
        #expect(sizes.count == 4)
        #expect(sizes.allSatisfy { $0 <= 10 << 10 })
        #expect(sizes.reduce(0, +) <= 28 << 10)
    }
}
