import Network
import Testing

/// Addresses as written by users and official cores.
@Suite struct EndpointTests {
    @Test(arguments: [
        ("127.0.0.1:0", "127.0.0.1", 0), ("relay.example:443", "relay.example", 443),
        ("[::1]:5223", "::1", 5223), ("[fe80::1%eth0]:1", "fe80::1%eth0", 1),
    ])
    func addressesAreRead(_ text: String, _ host: String, _ port: Int) throws {
        let endpoint = try #require(Endpoint(text))
        #expect(endpoint.host == host && endpoint.port == UInt16(port))
        #expect(endpoint.description == text)
    }

    @Test(arguments: [
        "", ":", ":1", "host", "host:", "host:x", "host:65536", "::1:5", "a b:1", "host:-1", "[]:1",
        // Only IPv6 addresses have brackets.
        "[[[[]]:2", "[host]:1", "[127.0.0.1]:1", "[::1:1", "::1]:1", "h[o]st:1", "[[::1]]:1",
    ])
    func otherTextsAreNot(_ text: String) {
        #expect(Endpoint(text) == nil)
    }
}
