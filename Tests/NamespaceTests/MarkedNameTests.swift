import ChatCore
import Testing

@testable import Namespace

/// Files visible to a group's moderators and one member.
@Suite struct MarkedNameTests {
    @Test(
        arguments: [
            ("a.pdf", "a (moderators).pdf"), ("scan", "scan (moderators).jpg"),
            ("a.tar.gz", "a (moderators).tar.gz"), ("", "file-1 (moderators).jpg"),
        ])
    func moderatorFilesAreMarkedInNames(name: String, shown: String) {
        var item = NamespaceFixture.item(1, name)
        if !name.contains(".") { item.content.kind = .image(preview: "") }
        let plain = EntryName(of: item).description
        item.isForModerators = true
        #expect(EntryName(of: item).description == shown && plain != shown)
    }

    @Test func longNamesKeepTheMark() {
        var item = NamespaceFixture.item(1, String(repeating: "x", count: 400) + ".pdf")
        item.isForModerators = true
        let name = EntryName(of: item).description
        #expect(name.hasSuffix(" (moderators).pdf") && name.utf8.count == SafeFileName.maxLength)
    }
}
