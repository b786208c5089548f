import Base
import Testing

@Suite("Padding hides the length of a message")
struct PaddingTests {
    @Test("messages of every length have one size", arguments: [0, 1, 13, 14])
    func fits(length: Int) throws {
        let message = [UInt8](repeating: 5, count: length)
        let padded = try #require(Padding.pad(message, to: 16))
        #expect(padded.count == 16)
        #expect(padded.prefix(2) == [0, UInt8(length)])
        #expect(padded.dropFirst(2 + length).allSatisfy { $0 == UInt8(ascii: "#") })
        #expect(Padding.unpad(padded) == message)
    }

    @Test("a longer message does not fit")
    func tooLong() {
        #expect(Padding.pad([UInt8](repeating: 5, count: 15), to: 16) == nil)
        #expect(Padding.pad([], to: 1) == nil)
        #expect(Padding.pad([], to: 2) == [0, 0])
    }

    @Test("the length is at most 65,535")
    func longest() throws {
        let message = [UInt8](repeating: 5, count: 65_535)
        let padded = try #require(Padding.pad(message, to: 70_000))
        #expect(padded.prefix(2) == [255, 255] && Padding.unpad(padded) == message)
        #expect(Padding.pad(message + [5], to: 70_000) == nil)
    }

    @Test("wrong lengths are refused, padding bytes are not")
    func wrong() {
        #expect(Padding.unpad([]) == nil && Padding.unpad([0]) == nil)
        #expect(Padding.unpad([0, 0]) == [])
        #expect(Padding.unpad([0, 2, 9]) == nil)
        #expect(Padding.unpad([0, 1, 9]) == [9])
        #expect(Padding.unpad([1, 0] + [UInt8](repeating: 3, count: 255)) == nil)
        #expect(Padding.unpad([1, 0] + [UInt8](repeating: 3, count: 256))?.count == 256)
        #expect(Padding.unpad([0, 1, 9, 0, 255, 7]) == [9])
    }
}
