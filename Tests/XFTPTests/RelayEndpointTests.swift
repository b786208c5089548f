import Testing
import XFTP

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
}
