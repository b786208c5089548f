import Network
import Testing

@testable import XFTP

@Suite struct RelayEndpointTests {
    private let fingerprint = [UInt8](repeating: 7, count: 32)

    @Test func aRelayHasOneForEachHostWhateverItsLetters() {
        let relay = RelayAddress(fingerprint: fingerprint, hosts: ["A.Example", "b.onion"], port: 443)
        #expect(
            RelayEndpoint.all(of: relay) == [
                RelayEndpoint(fingerprint: fingerprint, host: "a.example", port: 443),
                RelayEndpoint(fingerprint: fingerprint, host: "B.ONION", port: 443),
            ])
    }

    @Test func anotherPortOrFingerprintIsAnother() {
        let one = RelayEndpoint(fingerprint: fingerprint, host: "a", port: 1)
        #expect(one != RelayEndpoint(fingerprint: fingerprint, host: "a", port: 2))
        #expect(one != RelayEndpoint(fingerprint: [], host: "a", port: 1))
        #expect(one != RelayEndpoint(fingerprint: fingerprint, host: "b", port: 1))
    }

    /// A proxy reads addresses in every spelling, and some on this machine connect to it.
    @Test(arguments: [
        "127.0.0.1", "127.1", "2130706433", "0x7f.1", "017700000001", "10.1", "::1", "::ffff:127.0.0.1",
        "localhost",
        "LocalHost.", "a.localhost", "printer.local",
    ])
    func noProxyIsAskedForTheOwnNetwork(host: String) throws {
        let relay = RelayAddress(fingerprint: fingerprint, hosts: [host], port: 443)
        let error = #expect(throws: XFTPError.self) {
            try RelayResolver.endpointsForProxy(of: relay, policy: RelayPolicy(configured: []))
        }
        #expect(error?.code == .relayNotAllowed)
        let configured = try RelayResolver.endpointsForProxy(of: relay, policy: .everything)
        #expect(configured == [Endpoint(host: host, port: 443)])
    }

    @Test func namesAndAddressesOfOthersAreLeftToTheProxy() throws {
        let relay = RelayAddress(
            fingerprint: fingerprint, hosts: ["a.example", "127.1", "b.onion", "192.0.3.1"], port: 443)
        let endpoints = try RelayResolver.endpointsForProxy(of: relay, policy: RelayPolicy(configured: []))
        #expect(endpoints.map(\.host) == ["b.onion", "a.example", "192.0.3.1"])
    }
}
