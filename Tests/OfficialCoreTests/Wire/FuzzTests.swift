import ChatCore
import JSON
import Testing

@testable import OfficialCore

/// A generator with the same numbers in every run (SplitMix64).
struct FixedRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}

@Suite("Fuzzed frames")
struct FuzzTests {
    /// Decodes with every decoder. The results do not matter, only that decoding ends.
    static func decode(_ bytes: [UInt8]) {
        guard let frame = APIFrame(bytes) else { return }
        _ = try? frame.answer()
        if case .newChatItems(let items) = frame.event.kind {
            for item in items { _ = item.chatItem(own: "me", filesFolder: "/f") }
        }
        if case .failure(let error) = frame.content { _ = (error.chatError, error.fileProblem) }
    }

    @Test("changed bytes decode or fail")
    func bytes() throws {
        var random = FixedRandom(seed: 1)
        let frames = try Transcript.received()
        for _ in 0..<4000 {
            var frame = frames[Int.random(in: 0..<frames.count, using: &random)]
            if frame.count > 6000 { continue }
            for _ in 0..<Int.random(in: 1...6, using: &random) where !frame.isEmpty {
                let at = Int.random(in: 0..<frame.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: frame[at] = UInt8.random(in: 0...255, using: &random)
                case 1: frame.remove(at: at)
                case 2: frame.insert(#"{}[]",:\u-e0"#.utf8.randomElement(using: &random) ?? 0, at: at)
                case 3: frame.removeLast(frame.count - at)
                default: frame.insert(contentsOf: frame[at...].prefix(40), at: at)
                }
            }
            Self.decode(frame)
        }
    }

    @Test("replaced values decode or fail")
    func values() throws {
        var random = FixedRandom(seed: 2)
        let strange = [
            "null", "true", "-1", "0", "9223372036854775807", "-9223372036854775808", "1e400",
            "99999999999999999999",
            "0.5", #""""#, #""\ud800""#, #""../..""#, #""/a\u0000b""#, "[]", "{}", #"{"type":"error"}"#,
            #"{"type":null}"#, "[[[[[]]]]]", #""2026-99-99T99:99:99Z""#, #""9999-12-31T23:59:59Z""#,
            String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
        ].map { Array($0.utf8) }
        let frames = try Transcript.received().filter { $0.count < 8000 }
        for _ in 0..<4000 {
            var frame = frames[Int.random(in: 0..<frames.count, using: &random)]
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let colons = frame.indices.filter { frame[$0] == UInt8(ascii: ":") }
                guard let colon = colons.randomElement(using: &random) else { break }
                let start = colon + 1
                let ends: Set<UInt8> = [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]")]
                let end = frame[start...].firstIndex { ends.contains($0) } ?? frame.count
                frame.replaceSubrange(start..<end, with: strange.randomElement(using: &random) ?? [])
            }
            Self.decode(frame)
        }
    }

    @Test("hostile texts fail quickly")
    func hostile() {
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 8 << 20)
        #expect(APIFrame(deep) == nil)
        #expect(
            JSONValue.parse(
                Array(repeating: UInt8(ascii: "["), count: 64)
                    + Array(repeating: UInt8(ascii: "]"), count: 64)) != nil)
        #expect(
            JSONValue.parse(
                Array(repeating: UInt8(ascii: "["), count: 65)
                    + Array(repeating: UInt8(ascii: "]"), count: 65)) == nil)
        let many = Array(("[" + String(repeating: "1,", count: JSONDocument.maxNodes) + "1]").utf8)
        #expect(JSONValue.parse(many) == nil)
    }
}
