import Base
import Posix
import TestSupport
import Testing

@testable import Network

@Suite("Changes of the network")
struct NetworkWatchTests {
    private static func message(_ kind: UInt16, _ content: Int, length: UInt32? = nil) -> [UInt8] {
        let length = length ?? UInt32(16 + content)
        var bytes = (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
        bytes += [UInt8(truncatingIfNeeded: kind), UInt8(kind >> 8)]
        bytes += [UInt8](repeating: 0, count: 10 + (content + 3) & ~3)
        return bytes
    }

    @Test("only addresses and routes are changes")
    func kinds() {
        for kind: UInt16 in [20, 21, 24, 25] {
            #expect(NetworkWatch.tellsOfChange(Self.message(kind, 24)[...]))
            #expect(NetworkWatch.tellsOfChange((Self.message(16, 5) + Self.message(kind, 0))[...]))
        }
        #expect(!NetworkWatch.tellsOfChange((Self.message(16, 32) + Self.message(3, 0))[...]))
        #expect(!NetworkWatch.tellsOfChange([]))
    }

    @Test("wrong lengths only stop the reading")
    func lies() {
        for length: UInt32 in [0, 1, 15, 17, 1000, .max] {
            #expect(!NetworkWatch.tellsOfChange(Self.message(20, 0, length: length)[...]))
        }
        var random = SeededGenerator(state: 7)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = NetworkWatch.tellsOfChange(bytes[...])
        }
    }

    @Test("every user can start and stop a watch")
    func life() async throws {
        let told = Lock(0)
        for _ in 0..<20 {
            let watch = try NetworkWatch { told.withLock { $0 += 1 } }
            watch.end()
        }
    }
}
