import Posix
import Testing

@testable import Network

/// Names of Tor: whoever reads the questions to a name server must not learn who talks to a hidden service.
@Suite("Names of hidden services")
struct HiddenServiceTests {
    private static let spellings = [
        "abc.onion", "ABC.ONION", "abc.Onion", "abc.onion.", "Abc.oNiOn.", "a.b.c.onion", "abc.onion..",
        "onion",
        "ONION.",
    ]

    @Test("are known in every spelling", arguments: spellings)
    func known(host: String) {
        #expect(Endpoint.isOnion(host))
        #expect(Endpoint.isOnion(host[...]))
    }

    @Test(
        "and nothing else is taken for one",
        arguments: [
            "", ".", "onion.example", "abconion", "abc.onions", "abc.onion.example", "127.0.0.1", "::1",
            "abc.onion-",
            "abc.onion ", "union",
        ])
    func others(host: String) {
        #expect(!Endpoint.isOnion(host))
    }

    @Test("no name server is asked for one", arguments: spellings)
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

    @Test("nor by whoever connects without a proxy")
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

    @Test("a proxy gets them without the dot at their end, by which Tor would not know them")
    func throughProxy() {
        func asked(_ host: String) -> String? {
            SOCKSProxy.address(of: Endpoint(host: host, port: 1)).map {
                String(decoding: $0.dropFirst(2), as: UTF8.self)
            }
        }
        #expect(asked("abc.onion.") == "abc.onion" && asked("ABC.onion") == "ABC.onion")
        // Other names are what their owner wrote.
        #expect(asked("relay.example.") == "relay.example.")
    }
}
