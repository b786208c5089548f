import Testing

@testable import XFTP

@Suite("Distant relays")
struct RelayDistancesTests {
    private static let far = Duration.milliseconds(20)

    private static func distances(first: Int, chunk: Int?, at now: Duration = .zero) -> RelayDistances {
        var distances = RelayDistances(far: far)
        distances.note("a", firstByteAfter: .milliseconds(first), now: now)
        if let chunk { distances.note("a", chunkAfter: .milliseconds(chunk)) }
        return distances
    }

    @Test(
        "a relay without fast replies is distant",
        arguments: [
            (21, 100, true), (20, 100, false), (19, 100, false), (40, 320, true), (40, 321, false),
            (40, 40, true),
            (1000, 8000, true), (1000, 8001, false), (0, 0, false),
        ])
    func borders(first: Int, chunk: Int, isFar: Bool) {
        #expect(Self.distances(first: first, chunk: chunk).isFar("a") == isFar)
    }

    @Test(
        "a relay with fast replies and chunks is near",
        arguments: [(20, 99, true), (20, 100, false), (21, 99, false), (0, 0, true), (21, 1000, false)])
    func nearBorders(first: Int, chunk: Int, isNear: Bool) {
        let distances = Self.distances(first: first, chunk: chunk)
        #expect(distances.isNear("a", within: .milliseconds(100)) == isNear)
        #expect(!distances.isNear("b", within: .milliseconds(100)), "it is unknown")
    }

    @Test("unknown relays are not distant")
    func unknown() {
        var distances = Self.distances(first: 100, chunk: nil)
        #expect(!distances.isFar("a") && !distances.isFar("b"))
        distances.note("b", chunkAfter: .milliseconds(1))
        #expect(!distances.isFar("b"))
    }

    @Test("the shortest time counts for a minute")
    func shortest() {
        var distances = Self.distances(first: 10, chunk: 50)
        distances.note("a", firstByteAfter: .milliseconds(100), now: .seconds(30))
        #expect(!distances.isFar("a"))
        // Sixty seconds since the last use, not the first.
        distances.note("a", firstByteAfter: .milliseconds(100), now: .seconds(90))
        #expect(!distances.isFar("a"))
        distances.note("a", firstByteAfter: .milliseconds(100), now: .seconds(151))
        #expect(!distances.isFar("a"), "no chunk is known any more")
        distances.note("a", chunkAfter: .milliseconds(200))
        #expect(distances.isFar("a"))
    }

    @Test("the least recently used relays are forgotten")
    func many() {
        var distances = RelayDistances(far: Self.far)
        for number in 0..<200 {
            distances.note("\(number)", firstByteAfter: .milliseconds(50), now: .seconds(number))
            distances.note("\(number)", chunkAfter: .milliseconds(50))
        }
        #expect((0..<200).filter { distances.isFar("\($0)") } == Array(136..<200))
    }

    @Test func fastRelayIsNotDistantAfterOneDelay() {
        var distances = RelayDistances(far: .milliseconds(20))
        #expect(!distances.isFar("relay"))
        distances.note("relay", firstByteAfter: .milliseconds(400), now: .seconds(1))
        #expect(!distances.isFar("relay"), "no chunk has shown yet how wide its line is")
        distances.note("relay", chunkAfter: .milliseconds(500))
        #expect(distances.isFar("relay"))
        #expect(!distances.isFar("other"))
        distances.note("relay", firstByteAfter: .milliseconds(3), now: .seconds(2))
        distances.note("relay", firstByteAfter: .milliseconds(400), now: .seconds(3))
        #expect(!distances.isFar("relay"))
    }

    @Test func distanceIsMeasuredAgainAfterAMinute() {
        var distances = RelayDistances(far: .milliseconds(20))
        distances.note("relay", firstByteAfter: .milliseconds(3), now: .seconds(1))
        distances.note("relay", chunkAfter: .milliseconds(10))
        distances.note("relay", firstByteAfter: .milliseconds(80), now: .seconds(61))
        #expect(!distances.isFar("relay"))
        distances.note("relay", firstByteAfter: .milliseconds(80), now: .seconds(122))
        distances.note("relay", chunkAfter: .milliseconds(200))
        #expect(distances.isFar("relay"))
    }

    @Test func leastRecentlyUsedRelaysAreForgotten() {
        var distances = RelayDistances(far: .milliseconds(20))
        for number in 0...64 {
            distances.note("\(number)", firstByteAfter: .seconds(1), now: .seconds(number))
            distances.note("\(number)", chunkAfter: .seconds(1))
        }
        #expect(!distances.isFar("0"))
        #expect(distances.isFar("1"))
        #expect(distances.isFar("64"))
    }
}
