import Posix
import Testing

@testable import Network

/// Hidden services: a reader of name lookups must not learn that a client uses one.
@Suite("Names of hidden services")
struct HiddenServiceTests {
    private static let spellings = [
        "abc.onion", "ABC.ONION", "abc.Onion", "abc.onion.", "Abc.oNiOn.", "a.b.c.onion", "abc.onion..",
        "onion",
        "ONION.",
    ]

    @Test("are recognised in every spelling", arguments: spellings)
    func known(host: String) {
        #expect(Endpoint.isOnion(host))
        #expect(Endpoint.isOnion(host[...]))
    }

    @Test(
        "other names are not hidden services",
        arguments: [
            "", ".", "onion.example", "abconion", "abc.onions", "abc.onion.example", "127.0.0.1", "::1",
            "abc.onion-",
            "abc.onion ", "union",
        ])
    func others(host: String) {
        #expect(!Endpoint.isOnion(host))
    }

    @Test("are never looked up", arguments: spellings)
    func notLookedUp(host: String) throws {
        let stop = try WakeUp()
        let error = #expect(throws: NetworkError.self) {
            try AddressLookUp(Endpoint(host: host, port: 443)).run(
                deadline: Deadline(after: .seconds(60)), stop: stop)
        }
        #expect(error?.code == .nameNotFound)
        #expect(
            error?.sentence
                == "The host is a hidden service of Tor, which is reached through a proxy alone.")
    }

    @Test("are not looked up without a proxy")
    func connecting() async throws {
        let place = try Place.open()
        let error = await #expect(throws: NetworkError.self) {
            try await HTTP2Client.connect(
                to: Endpoint(host: "ABC.Onion.", port: 443),
                tls: TLSClientSettings(identityFingerprint: place.fingerprint), timeout: .seconds(60))
        }
        #expect(error?.code == .nameNotFound && error?.sentence.contains("proxy") == true)
        await place.server.stop()
    }

    @Test("a proxy gets them without a trailing dot")
    func throughProxy() {
        func asked(_ host: String) -> String? {
            SOCKSProxy.address(of: Endpoint(host: host, port: 1)).map {
                String(decoding: $0.dropFirst(2), as: UTF8.self)
            }
        }
        #expect(asked("abc.onion.") == "abc.onion" && asked("ABC.onion") == "ABC.onion")
        // Other names stay as written.
        #expect(asked("relay.example.") == "relay.example.")
    }
}
