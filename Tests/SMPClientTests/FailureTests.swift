import Base
import Cryptography
import Glibc
import Network
import Posix
import TestSupport
import Testing

@testable import SMP
@testable import SMPClient

@Suite("Unreachable, wrong and silent servers")
struct FailureTests {
    private static func address(_ place: Place, fingerprint: [UInt8]? = nil, port: UInt16? = nil) throws
        -> ServerAddress
    {
        try #require(
            ServerAddress(
                fingerprint: fingerprint ?? place.server.fingerprint, hosts: place.server.hosts,
                port: port ?? place.server.port))
    }

    @Test("a wrong fingerprint is refused before any request")
    func wrongFingerprint() async throws {
        let place = try Place()
        let other = try Self.address(place, fingerprint: [UInt8](repeating: 1, count: 32))
        await expect(.wrongIdentity) { try await Person().ask(.ping, other) }
        #expect(try await Person().ask(.ping, place.server) == .pong)
        await place.relay.stop()
    }

    @Test("without a server every request fails at once")
    func noServer() async throws {
        let place = try Place()
        let port = try #require(LoopbackPort.unused())
        let server = try Self.address(place, port: port)
        let answers = await Person().connections.ask(
            (0..<3).map { _ in ClientRequest(.ping) }, of: server)
        for answer in answers { await expect(.unreachable) { try answer.get() } }
        await place.relay.stop()
    }

    @Test("a returned server reports itself and delivers missed messages")
    func comesBack() async throws {
        let place = try Place()
        let (alice, bob) = (Person(), Person())
        let queue = try await alice.makeQueue(place.server)
        await place.relay.stop()
        _ = try await alice.event("the end") { $0 == .disconnected(place.server) }
        await expect(.unreachable) {
            try await alice.connections.ask(queue.subscription, of: place.server)
        }
        try await place.restart()
        _ = try await alice.event("the new connection") { $0 == .connected(place.server) }
        #expect(try await bob.ask(.text("hello"), of: queue.ids.senderID, place.server) == .ok)
        #expect(try await alice.connections.ask(queue.subscription, of: place.server) == .subscribed)
        #expect(try await alice.message(of: queue).body.text == "hello")
        await place.relay.stop()
    }

    @Test("unsupported versions are not called unreachable")
    func wrongVersion() async throws {
        let server = try FakeServer { hello in hello.versions = 6...9 }
        await expect(.unsupportedVersion) { try await Person().ask(.ping, server.address) }
        await server.stop()
    }

    @Test("a wrong session id is refused")
    func otherSession() async throws {
        let server = try FakeServer { hello in hello.sessionID = [UInt8](repeating: 1, count: 32) }
        await expect(.wrongIdentity) { try await Person().ask(.ping, server.address) }
        await server.stop()
    }

    @Test("garbage ends the connection with an unknown outcome")
    func garbage() async throws {
        let server = try FakeServer(answersWith: [UInt8](repeating: 7, count: TransportBlock.size))
        await expect(.disconnected) { try await Person().ask(.ping, server.address) }
        await server.stop()
    }

    @Test("missing hellos and answers time out")
    func stalled() async throws {
        let silent = try FakeServer(isSilent: true)
        var settings = ConnectionSettings.forTests
        settings.connectTimeout = .milliseconds(300)
        await expect(.unreachable) {
            try await QueueConnections(settings).ask(ClientRequest(.ping), of: silent.address)
        }
        await silent.stop()
        let mute = try FakeServer()
        let person = Person()
        await expect(.timedOut) {
            try await person.connections.ask(
                ClientRequest(.ping, timeout: .milliseconds(300)), of: mute.address)
        }
        await mute.stop()
    }

    @Test("closing fails pending and later requests")
    func closing() async throws {
        let mute = try FakeServer()
        let person = Person()
        async let asked = person.connections.ask(
            [ClientRequest(.ping, timeout: .seconds(60))], of: mute.address)
        try await wait(until: "it was asked") { mute.blocks > 0 }
        await person.connections.close()
        let answers = await asked
        await expect(.disconnected) { try answers[0].get() }
        await expect(.disconnected) { try await person.ask(.ping, mute.address) }
        await mute.stop()
    }

    @Test("a network change retries at once for listeners")
    func networkChanged() async throws {
        let place = try Place()
        var settings = ConnectionSettings.forTests
        settings.retry = RetryPolicy(first: .seconds(600), maxDelay: .seconds(600), tries: .max)
        let alice = Person(settings)
        _ = try await alice.makeQueue(place.server)
        try await place.restart()
        _ = try await alice.event("the end") { $0 == .disconnected(place.server) }
        try await wait(until: "it is connected again") {
            alice.connections.networkChanged()
            return alice.events.contains(.connected(place.server))
        }
        await place.relay.stop()
    }

    @Test("idle connections without subscriptions are closed")
    func idle() async throws {
        let place = try Place()
        var settings = ConnectionSettings.forTests
        settings.idleTimeout = .milliseconds(100)
        let (alice, bob) = (Person(settings), Person(settings))
        let queue = try await alice.makeQueue(place.server)
        #expect(try await bob.ask(.text("a"), of: queue.ids.senderID, place.server) == .ok)
        try await wait(until: "bob's is closed") { place.relay.connectionCount == 1 }
        #expect(try await alice.message(of: queue).body.text == "a")
        #expect(try await bob.ask(.text("b"), of: queue.ids.senderID, place.server) == .ok)
        #expect(bob.events.isEmpty)
        await place.relay.stop()
    }
}

@Suite("Times of connection attempts")
struct ScheduleTests {
    private static let retry = RetryPolicy(first: .seconds(2), maxDelay: .seconds(180), tries: .max)

    @Test("delays double for listeners and end early for requests")
    func delays() {
        var schedule = ConnectionSchedule(Self.retry)
        #expect(schedule.nextTry(isAsked: false) == .zero)
        var now = Duration.seconds(100)
        for expected in [2, 4, 8, 16, 32, 64, 128, 180, 180] {
            schedule.failed(now: now)
            let delay = schedule.nextTry(isAsked: false) - now
            #expect(delay <= .seconds(expected) && delay >= .seconds(expected) * 0.75)
            #expect(schedule.nextTry(isAsked: true) - now <= .seconds(2))
            now += .seconds(500)
        }
    }

    @Test("network changes and stable connections shorten the delay")
    func resets() {
        var schedule = ConnectionSchedule(Self.retry)
        for _ in 0..<5 { schedule.failed(now: .seconds(10)) }
        schedule.networkChanged()
        #expect(schedule.nextTry(isAsked: false) == .zero)
        schedule.connected(now: .seconds(20))
        schedule.failed(now: .seconds(60))
        #expect(schedule.nextTry(isAsked: true) == .zero)
        #expect(schedule.nextTry(isAsked: false) > .seconds(60))
        // A connection that ends early repeatedly is not stable.
        for _ in 0..<3 {
            schedule.connected(now: .seconds(70))
            schedule.failed(now: .seconds(70))
        }
        #expect(schedule.nextTry(isAsked: false) - .seconds(70) > .seconds(8))
    }
}

@Suite("The hosts of a server to try")
struct HostTests {
    @Test("hidden services are tried only through a proxy, first")
    func hosts() {
        let both = ["smp.example.org", "abc.onion"]
        #expect(ConnectionSettings(policy: .everything).hosts(of: both) == ["smp.example.org"])
        #expect(ConnectionSettings(policy: .everything).hosts(of: ["abc.onion"]).isEmpty)
        let proxy = SOCKSProxy(Endpoint(host: "127.0.0.1", port: 9050), isolation: "alice")
        #expect(
            ConnectionSettings(policy: .everything, proxy: proxy).hosts(of: both) == [
                "abc.onion", "smp.example.org",
            ])
    }

    @Test(
        "no spelling of a hidden service reaches a name server",
        arguments: ["abc.onion.", "ABC.ONION", "Abc.Onion", "aBc.OnIoN."])
    func spellings(hidden: String) async throws {
        let hosts = ["smp.example.org", hidden]
        #expect(ConnectionSettings(policy: .everything).hosts(of: hosts) == ["smp.example.org"])
        let proxy = SOCKSProxy(Endpoint(host: "127.0.0.1", port: 9050), isolation: "alice")
        #expect(
            ConnectionSettings(policy: .everything, proxy: proxy).hosts(of: hosts) == [
                hidden, "smp.example.org",
            ])
        let server = try #require(
            ServerAddress(fingerprint: [UInt8](repeating: 1, count: 32), hosts: [hidden], port: 1))
        let person = Person()
        let error = await #expect(throws: SMPError.self) {
            try await person.connections.ask(ClientRequest(.ping), of: server)
        }
        #expect(error?.code == .unreachable && error?.sentence.contains("through a proxy alone") == true)
        await person.connections.close()
    }

    @Test("exhausted local resources are not the server's fault")
    func exhausted() {
        let cause = NetworkError(.exhausted, "Could not make a socket: Too many open files.")
        let error = SMPError.exhausted(cause)
        #expect(error.code == .unreachable)
        #expect(
            error.sentence
                == "No connection to a messaging server can be made on this machine: \(cause.sentence)")
        #expect((error.cause as? NetworkError)?.code == .exhausted)
    }

    @Test("through a proxy")
    func proxy() async throws {
        let place = try Place()
        let proxy = try SOCKSServer()
        var settings = ConnectionSettings.forTests
        settings.proxy = SOCKSProxy(
            Endpoint(host: "127.0.0.1", port: proxy.port), isolation: "alice")
        #expect(try await Person(settings).ask(.ping, place.server) == .pong)
        let target = "127.0.0.1:\(place.server.port)"
        #expect(proxy.targets == [target])
        #expect(proxy.logins.map { [$0.user, $0.password] } == [[target, "alice"]])
        await place.relay.stop()
    }
}
