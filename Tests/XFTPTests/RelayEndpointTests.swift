import Network
import Testing

@testable import XFTP

@Suite struct RelayEndpointTests {
    private let fingerprint = [UInt8](repeating: 7, count: 32)

    @Test func eachHostHasOnePlace() {
        let relay = RelayAddress(fingerprint: fingerprint, hosts: ["A.Example", "b.onion"], port: 443)
        #expect(
            relay.places == [
                ServerPlace(fingerprint: fingerprint, host: "a.example", port: 443),
                ServerPlace(fingerprint: fingerprint, host: "B.ONION", port: 443),
            ])
    }

    @Test func portAndFingerprintDistinguishPlaces() {
        let one = ServerPlace(fingerprint: fingerprint, host: "a", port: 1)
        #expect(one != ServerPlace(fingerprint: fingerprint, host: "a", port: 2))
        #expect(one != ServerPlace(fingerprint: [], host: "a", port: 1))
        #expect(one != ServerPlace(fingerprint: fingerprint, host: "b", port: 1))
    }

    /// Proxies accept every spelling of an address, and some connect to their own machine.
    @Test(arguments: [
        "127.0.0.1", "127.1", "2130706433", "0x7f.1", "017700000001", "10.1", "::1", "::ffff:127.0.0.1",
        "localhost",
        "LocalHost.", "a.localhost", "printer.local",
    ])
    func proxyNeverGetsInternalAddresses(host: String) throws {
        let relay = RelayAddress(fingerprint: fingerprint, hosts: [host], port: 443)
        let error = #expect(throws: XFTPError.self) {
            try RelayResolver.endpointsForProxy(of: relay, policy: OutboundPolicy(chosen: []))
        }
        #expect(error?.code == .relayNotAllowed)
        let configured = try RelayResolver.endpointsForProxy(of: relay, policy: .everything)
        #expect(configured == [Endpoint(host: host, port: 443)])
    }

    /// Spellings that once passed as ordinary names and would have reached the name server.
    @Test func onionNamesAreNeverLookedUp() async throws {
        let hosts = ["abc.onion.", "ABC.ONION", "Abc.Onion."]
        let relay = RelayAddress(fingerprint: fingerprint, hosts: ["a.example"] + hosts, port: 443)
        let proxied = try RelayResolver.endpointsForProxy(of: relay, policy: OutboundPolicy(chosen: []))
        #expect(proxied.map(\.host) == hosts + ["a.example"])
        for host in hosts {
            let hidden = RelayAddress(fingerprint: fingerprint, hosts: [host], port: 443)
            let error = await #expect(throws: XFTPError.self) {
                try await RelayResolver.endpoints(of: hidden, policy: .everything)
            }
            #expect(error?.code == .relayNotAllowed && error?.sentence.contains("Tor") == true)
        }
        // Its other hosts are used.
        let both = RelayAddress(fingerprint: fingerprint, hosts: hosts + ["192.0.3.1"], port: 443)
        let found = try await RelayResolver.endpoints(of: both, policy: OutboundPolicy(chosen: []))
        #expect(found == [Endpoint(host: "192.0.3.1", port: 443)])
    }

    @Test func failedLookupGivesItsReason() async throws {
        let relay = RelayAddress(fingerprint: fingerprint, hosts: ["no_such_name.invalid"], port: 443)
        let error = await #expect(throws: XFTPError.self) {
            try await RelayResolver.endpoints(of: relay, policy: .everything)
        }
        #expect(error?.code == .unreachable && error?.isTemporary == true)
        #expect(
            error?.sentence.hasPrefix(
                "The relay no_such_name.invalid has no address at present. No address was found") == true)
    }

    @Test func publicNamesGoToTheProxy() throws {
        let relay = RelayAddress(
            fingerprint: fingerprint, hosts: ["a.example", "127.1", "b.onion", "192.0.3.1"], port: 443)
        let endpoints = try RelayResolver.endpointsForProxy(of: relay, policy: OutboundPolicy(chosen: []))
        #expect(endpoints.map(\.host) == ["b.onion", "a.example", "192.0.3.1"])
    }
}
