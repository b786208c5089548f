import Glibc
import TestSupport
import Testing

@testable import Network

/// Endpoints as text and in the kernel's form.
@Suite("Endpoints of every form")
struct EndpointModelTests {
    private static func anything(_ generator: inout SeededGenerator) -> String {
        let alphabet = Array("abz019.-_:[]% \u{7f}é@/")
        return String(
            (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? "a"
            })
    }

    @Test("endpoints survive a round trip")
    func roundTrip() {
        var generator = SeededGenerator(state: 21)
        var read = 0
        for _ in 0..<12_000 {
            let text = Self.anything(&generator) + ":\(UInt32.random(in: 0...99_999, using: &generator))"
            guard let endpoint = Endpoint(text) else { continue }
            read += 1
            #expect(Endpoint(endpoint.description) == endpoint, "\(text)")
            // A port in several spellings.
            #expect(endpoint.host.isEmpty == false && !endpoint.host.contains("["))
            #expect(endpoint.host.contains(":") == endpoint.description.hasPrefix("["))
        }
        #expect(read > 400)
    }

    @Test("ports may have zeros but no sign")
    func ports() {
        #expect(Endpoint("a:00443") == Endpoint(host: "a", port: 443))
        for text in [
            "a:+443", "a:-0", "a: 443", "a:443 ", "a:٤٤٣", "a:0x1bb", "a:65536", "a:99999999999999999999",
        ] {
            #expect(Endpoint(text) == nil, "\(text)")
        }
        #expect(Endpoint("a:65535")?.port == 65_535 && Endpoint("a:0")?.port == 0)
    }

    @Test(
        "numeric addresses have their bytes",
        arguments: [
            ("192.0.2.7", AF_INET, [192, 0, 2, 7]), ("255.255.255.255", AF_INET, [255, 255, 255, 255]),
            ("::", AF_INET6, [UInt8](repeating: 0, count: 16)),
            ("2001:db8::102", AF_INET6, [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]),
            (
                "::ffff:192.0.2.7", AF_INET6,
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7]
            ),
        ] as [(String, Int32, [UInt8])])
    func numeric(host: String, family: Int32, bytes: [UInt8]) throws {
        for port in [UInt16(0), 1, 256, 65_535] {
            let addresses = try SocketAddress.resolve(Endpoint(host: host, port: port), numericOnly: true)
            let address = try #require(addresses.first)
            #expect(address.family == family && address.hostBytes == bytes && address.port == port)
            let length = address.withPointer { _, length in Int(length) }
            #expect(length == (family == AF_INET ? 16 : 28))
        }
    }

    @Test(
        "numeric lookups never ask a name server",
        arguments: ["localhost", "a.example", ""])
    func names(host: String) {
        #expect(throws: NetworkError.self) {
            try SocketAddress.resolve(Endpoint(host: host, port: 1), numericOnly: true)
        }
    }
}

@Suite("Deadlines")
struct DeadlineTests {
    @Test("a deadline never ends early")
    func milliseconds() {
        for past in [Duration.zero, .seconds(-5), .nanoseconds(-1)] {
            let deadline = Deadline(after: past)
            #expect(deadline.hasPassed && deadline.milliseconds == 0)
        }
        // Rounded up: such a wait ends at it or after it.
        let soon = Deadline(after: .microseconds(10_300))
        #expect((0...11).contains(soon.milliseconds))
        let far = Deadline(after: .seconds(86_400 * 365))
        #expect(!far.hasPassed && far.milliseconds == Int32.max, "poll(2) takes no more")
    }

    @Test("attempts share the remaining time")
    func shares() {
        let whole = Deadline(after: .seconds(1000))
        for count in 1...5 {
            let share = whole.share(of: count)
            #expect(share <= whole)
            let expected = 1_000_000 / Int32(count)
            #expect(share.milliseconds <= expected + 1 && share.milliseconds > expected - 60_000)
        }
        #expect(!(whole.share(of: 1) < whole) || whole.share(of: 1).milliseconds > 900_000)
        // For no attempts as for one.
        #expect(whole.share(of: 0).milliseconds > 900_000)
        #expect(Deadline(after: .seconds(-1)).share(of: 3).hasPassed)
    }
}
