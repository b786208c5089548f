import TestSupport
import Testing

@testable import XFTP

@Suite("Chunk layouts")
struct ChunkLayoutTests {
    private static func layout(_ sizes: [UInt32]) -> ChunkLayout? {
        ChunkLayout(sizes.enumerated().map { ChunkPlace(size: $1, relay: "relay \($0 % 3)") })
    }

    @Test("empty chunks have no layout")
    func none() {
        for sizes in [[], [0], [5, 0], [0, 5], [1, 0, 1]] as [[UInt32]] { #expect(Self.layout(sizes) == nil) }
    }

    @Test("every position belongs to one chunk")
    func model() throws {
        var random = SeededGenerator(state: 4)
        for _ in 0..<60 {
            let sizes = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                UInt32.random(in: 1...9, using: &random)
            }
            let layout = try #require(Self.layout(sizes))
            let owners = sizes.enumerated().flatMap { index, size in [Int](repeating: index, count: Int(size))
            }
            #expect(layout.count == sizes.count && layout.streamSize == UInt64(owners.count))
            for (position, owner) in owners.enumerated() {
                #expect(layout.chunk(at: UInt64(position)) == owner)
                #expect(layout.range(of: owner).contains(UInt64(position)))
            }
            for position in [UInt64(owners.count), UInt64(owners.count) + 1, .max] {
                #expect(layout.chunk(at: position) == sizes.count - 1)
            }
            for (index, size) in sizes.enumerated() { #expect(layout.size(of: index) == UInt64(size)) }
            for start in 0...owners.count {
                for end in start...owners.count + 1 {
                    let touched = Set(owners[start..<min(end, owners.count)])
                    #expect(
                        Set(layout.chunks(UInt64(start)..<UInt64(end))) == touched,
                        "\(start)..<\(end) of \(sizes)")
                }
            }
        }
    }
}
