import ChatCore
import Testing

@testable import Namespace

/// A message holds 64 KiB of text, with some overhead.
@Suite struct LongCaptionTests {
    private typealias Fixture = NamespaceFixture

    private func captions(_ texts: [String]) throws -> [String] {
        let fixture = try Fixture()
        let items = texts.enumerated().map { number, text in
            var item = Fixture.item(Int64(number + 1), "\(number).jpg")
            item.content.text = text
            return item
        }
        _ = try fixture.names.show(items)
        return fixture.names.children(of: fixture.folder(Fixture.alice), after: nil, count: .max).compactMap {
            if case .item(let item) = $0.content { item.content.text } else { nil }
        }
    }

    @Test func entriesKeepBeginningsOfLongCaptions() throws {
        let kept = try captions((0..<1000).map { "\($0) " + String(repeating: "x", count: 65_000) })
        #expect(kept.count == 1000 && kept.allSatisfy { $0.utf8.count == 1024 })
        #expect(kept.reduce(0) { $0 + $1.utf8.count } < 2 << 20)
    }

    @Test func textBytesInMemoryAreCounted() throws {
        let fixture = try Fixture()
        var item = Fixture.item(1, "a.jpg")
        item.content.text = "Look"
        _ = try fixture.names.show([item, Fixture.item(2, "b.jpg")])
        #expect(fixture.names.textBytes == 2 * ("Alice".utf8.count + "a.jpg".utf8.count) + 4)
        item.content.text = ""
        _ = try fixture.names.show([item])
        #expect(fixture.names.textBytes == 20)
        fixture.names.letGo(fixture.folder(Fixture.alice))
        #expect(fixture.names.textBytes == 0)
    }

    @Test(arguments: ["", "Look", String(repeating: "x", count: 1024)])
    func shortCaptionsStayWhole(text: String) throws {
        #expect(try captions([text]) == [text])
    }

    @Test(arguments: ["ü", "日", "🎉"], 0..<4)
    func captionsAreCutBetweenCharacters(character: String, shift: Int) throws {
        let text = String(repeating: "x", count: shift) + String(repeating: character, count: 1024)
        let kept = try #require(try captions([text]).first)
        #expect(text.hasPrefix(kept) && (1021...1024).contains(kept.utf8.count))
        var item = Fixture.item(1, "a")
        item.content.text = kept
        #expect(item.mayBeShortened)
    }
}
