import Base
import Testing

@testable import Network

@Suite("Connections to servers named by others")
struct OutboundTests {
    private static func place(_ host: String, _ port: UInt16 = 5223) -> ServerPlace {
        ServerPlace(fingerprint: [UInt8](repeating: 1, count: 32), host: host, port: port)
    }

    /// A machine in a data centre: one address of each family, each with neighbours.
    private static func network() -> OwnNetwork {
        OwnNetwork {
            [
                AddressPrefix(octets: [198, 51, 100, 70], length: 26),
                AddressPrefix(octets: [198, 51, 100, 70], length: 32),
                AddressPrefix(
                    octets: [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 12), length: 33),
            ]
        }
    }

    @Test(
        "interfaces and their networks are internal in every form",
        arguments: [
            ("198.51.100.70", false), ("198.51.100.64", false), ("198.51.100.127", false),
            ("198.51.100.128", true), ("198.51.100.63", true), ("::ffff:198.51.100.70", false),
            ("64:ff9b::c633:6446", false), ("2002:c633:6446::1", false), ("2001:db8:7fff::1", false),
            ("2001:db8:8000::1", true), ("198.51.25670", false), ("203.0.113.1", true), ("10.0.0.1", false),
            ("relay.example", true), ("localhost", false),
        ])
    func interfaces(host: String, mayBeReached: Bool) {
        let policy = OutboundPolicy(network: Self.network()) { _ in false }
        #expect(policy.mayReach(host: host) == mayBeReached)
    }

    @Test("this machine's own interfaces are read")
    func machine() {
        #expect(OwnNetwork.machine.contains([127, 0, 0, 1]))
        #expect(OwnNetwork.machine.contains([127, 9, 9, 9]), "the network of the loopback interface")
        // At most one of these is this machine's.
        let documentation: [[UInt8]] = [[192, 0, 2, 1], [198, 51, 100, 1], [203, 0, 113, 1]]
        #expect(documentation.contains { !OwnNetwork.machine.contains($0) })
    }

    @Test("a prefix covers its addresses and no other family")
    func prefixes() {
        let prefix = AddressPrefix(octets: [10, 0, 0x80, 0], length: 17)
        #expect(prefix.contains([10, 0, 0x80, 1]) && prefix.contains([10, 0, 0xff, 255]))
        #expect(!prefix.contains([10, 0, 0x7f, 1]) && !prefix.contains([UInt8](repeating: 10, count: 16)))
        #expect(!prefix.contains([]))
        #expect(AddressPrefix(octets: [1, 2, 3, 4], length: 0).contains([9, 9, 9, 9]))
    }

    @Test("the user's choices need all places and are read again")
    func chosen() {
        let places = Lock<Set<ServerPlace>>([Self.place("a")])
        let policy = OutboundPolicy(
            look: { places.withLock { _ = $0.insert(Self.place("b")) } },
            isChosen: { place in places.withLock { $0.contains(place) } })
        #expect(policy.isChosen([Self.place("A")]) && !policy.isChosen([]))
        #expect(!policy.isChosen([Self.place("a"), Self.place("b")]))
        #expect(!policy.isChosen([Self.place("a", 1)]))
        #expect(policy.isChosenNow([Self.place("a"), Self.place("b")]))
        #expect(OutboundPolicy.everything.isChosen([Self.place("c")]))
    }

    // MARK: - Budget

    private typealias Budget = OutboundBudget<String>

    @Test("a peer gets its burst and then its interval")
    func burst() {
        var budget = Budget()
        let got = (0..<1250).count { budget.take([Self.place("h\($0)")], for: "host", now: .zero) == .zero }
        #expect(got == 24)
        #expect(budget.take([Self.place("x")], for: "host", now: .zero) == .seconds(5))
        #expect(budget.take([Self.place("x")], for: "other", now: .zero) == .zero)
        #expect(budget.take([Self.place("y")], for: "host", now: .seconds(5)) == .zero)
        #expect(budget.take([Self.place("z")], for: "host", now: .seconds(6)) == .seconds(4))
    }

    @Test("the documented limits are the default")
    func documentedLimits() {
        let limits = Budget.Limits()
        #expect(limits.burst == 24 && limits.interval == .seconds(5) && limits.serversPerHour == 128)
        #expect(limits.burstOfAll == 96 && limits.intervalOfAll == .seconds(1))
    }

    @Test("1,250 connections are spread and none is lost")
    func flood() {
        var limits = Budget.Limits()
        limits.serversPerHour = 2000
        var budget = Budget(limits)
        var made: [Duration] = []
        for second in 0..<7000 {
            let now = Duration.seconds(second)
            while made.count < 1250,
                budget.take([Self.place("h\(made.count)")], for: "host", now: now) == .zero
            {
                made.append(now)
            }
        }
        #expect(made.count { $0 <= .seconds(37) } == 31)
        #expect(made.count == 1250)
    }

    @Test(
        "reached servers cost nothing")
    func reached() {
        var budget = Budget()
        for number in 0..<12 {
            #expect(budget.take([Self.place("preset\(number)")], for: "group", now: .zero) == .zero)
            budget.noteReached(Self.place("preset\(number)"))
        }
        let free = (0..<1000).count {
            budget.take([Self.place("preset\($0 % 12)")], for: "group", now: .zero) == .zero
        }
        #expect(free == 1000)
    }

    @Test("concurrent requests share one attempt")
    func shared() {
        var budget = Budget()
        for _ in 0..<100 { #expect(budget.take([Self.place("a")], for: "p", now: .zero) == .zero) }
        for second in 1...60 {
            #expect(budget.take([Self.place("a")], for: "p", now: .seconds(second)) == .zero)
        }
        let left = (0..<99).count {
            budget.take([Self.place("b\($0)")], for: "p", now: .seconds(61)) == .zero
        }
        #expect(left < 12)
    }

    @Test("each place counts, and servers per hour are limited")
    func places() {
        var budget = Budget()
        let server = (0..<8).map { Self.place("h\($0)") }
        #expect(budget.take(server, for: "p", now: .zero) == .zero)
        let rest = (0..<99).count { budget.take([Self.place("x\($0)")], for: "p", now: .zero) == .zero }
        #expect(rest == 16)
        var limits = Budget.Limits()
        (limits.burst, limits.burstOfAll, limits.serversPerHour) = (1000, 1000, 10)
        budget = Budget(limits)
        let got = (0..<99).count { budget.take([Self.place("x\($0)")], for: "p", now: .seconds($0)) == .zero }
        #expect(got == 10)
        #expect(budget.take([Self.place("y")], for: "p", now: .seconds(100)) == .seconds(3500))
        #expect(budget.take([Self.place("x1")], for: "p", now: .seconds(100)) == .zero, "known of this peer")
        #expect(budget.take([Self.place("y")], for: "p", now: .seconds(3600)) == .zero)
    }

    @Test("all peers share a limit and are forgotten")
    func all() {
        var limits = Budget.Limits()
        limits.maxRemembered = 50
        var budget = Budget(limits)
        let got = (0..<500).count {
            budget.take([Self.place("h\($0)")], for: "peer \($0)", now: .zero) == .zero
        }
        #expect(got == 96)
        #expect(budget.count <= 50)
        #expect(budget.take([Self.place("z")], for: "peer", now: .seconds(2)) == .zero)
    }

    @Test("the user's choices cost nothing")
    func free() {
        let policy = OutboundPolicy(chosen: [Self.place("own")])
        for _ in 0..<1000 { #expect(policy.delay(before: [Self.place("own")], for: "p") == nil) }
        let delays = (0..<99).compactMap { policy.delay(before: [Self.place("h\($0)")], for: "p") }
        #expect(delays.count == 99 - 24)
    }
}
