import ChatCore
import Testing

@testable import OfficialCore

@Suite("Descriptions from events")
struct DescriptionTextsTests {
    private static let text = described(by: 1 << 18)

    private static func described(by bytes: Int) -> ToldDescription {
        ToldDescription(item: ItemID(1), text: String(repeating: "x", count: bytes))
    }

    @Test("offers of any number take bounded memory")
    func bounded() {
        var texts = DescriptionTexts()
        for file in Int64(1)...100 {
            texts[FileID(file)] = Self.text
            #expect(texts.bytes <= DescriptionTexts.maxBytes)
            #expect(texts[FileID(file)] == Self.text)
        }
        #expect(texts[FileID(1)] == nil && texts[FileID(99)] != nil)
        texts[FileID(101)] = Self.described(by: DescriptionTexts.maxBytes + 1)
        #expect(texts[FileID(101)] == nil && texts.bytes == 0)
    }

    @Test("forgotten and replaced ones free their bytes")
    func forgotten() {
        var texts = DescriptionTexts()
        for _ in 0..<100 { texts[FileID(1)] = Self.text }
        #expect(texts.bytes == 1 << 18)
        texts[FileID(2)] = nil
        texts[FileID(1)] = nil
        #expect(texts.bytes == 0 && texts[FileID(1)] == nil)
    }
}
