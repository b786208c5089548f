import Network
import Testing

@testable import XFTP

@Suite struct RelayAddressTests {
    private static let fingerprint = "LcJUMfVhwD8yxjAiSaDzzGF3-kLG4Uh0Fl_ZIjrRwjI="

    @Test(arguments: [
        "localhost:8000", "relay.example", "relay.example,abcdef.onion", "127.0.0.1:5443", "[::1]:443",
        "[2001:db8::7]", "a,b,c:65535",
    ])
    func addressesRoundTrip(place: String) throws {
        let text = "xftp://\(Self.fingerprint)@\(place)"
        let address = try #require(RelayAddress(text))
        #expect(address.text == text)
        #expect("\(address)" == text)
        #expect(address.fingerprint.count == 32)
    }

    @Test func passwordIsShownOnlyOnRequest() throws {
        let text = "xftp://\(Self.fingerprint):s3cret!@relay.example:5443"
        let address = try #require(RelayAddress(text))
        #expect(address.password == "s3cret!")
        #expect(address.textWithPassword == text)
        var dumped = ""
        dump(address, to: &dumped)
        for shown in [address.text, "\(address)", String(reflecting: address), dumped] {
            #expect(!shown.contains("s3cret"))
        }
        #expect(address == RelayAddress("xftp://\(Self.fingerprint)@relay.example:5443"))
        let replica = FileDescription.Replica(relay: address, id: [1], key: [])
        #expect(replica.relay.password == nil)
    }

    @Test func defaultPortIs443() throws {
        let plain = try #require(RelayAddress("xftp://\(Self.fingerprint)@relay.example"))
        #expect(plain.port == 443)
        #expect(plain.hosts == ["relay.example"])
        #expect(plain == RelayAddress("xftp://\(Self.fingerprint)@relay.example:443"))
    }

    @Test(arguments: [
        "", "xftp://", "smp://\(fingerprint)@h", "xftp://\(fingerprint)", "xftp://\(fingerprint)@",
        "xftp://short@h", "xftp://\(fingerprint)@h:0", "xftp://\(fingerprint)@h:65536",
        "xftp://\(fingerprint)@h:", "xftp://\(fingerprint)@h:+1", "xftp://\(fingerprint)@a,,b",
        "xftp://\(fingerprint)@a b", "xftp://\(fingerprint)@a/b", "xftp://\(fingerprint)@[::1",
        "xftp://\(fingerprint)@[zz]", "xftp://\(fingerprint):@h", "xftp://\(fingerprint):p w@h",
        "xftp://\(fingerprint)@\u{202e}h", "xftp://\(fingerprint)@::1",
    ])
    func invalidAddressesAreRejected(text: String) {
        #expect(RelayAddress(text) == nil)
    }

    @Test(
        arguments: [
            ("127.0.0.1", true), ("10.1.2.3", true), ("172.31.0.1", true), ("172.32.0.1", false),
            ("192.168.0.1", true), ("169.254.1.1", true), ("100.64.0.1", true), ("0.0.0.0", true),
            ("224.0.0.1", true), ("8.8.8.8", false), ("192.0.2.1", false), ("::1", true), ("::", true),
            ("fe80::1", true), ("fc00::1", true), ("fd12::1", true), ("ff02::1", true),
            ("::ffff:127.0.0.1", true), ("::ffff:8.8.8.8", false), ("2002:7f00:1::", true),
            ("64:ff9b::a00:1", true), ("2606:4700::1", false), ("64:ff9b::808:808", false),
            ("64:ff9b::7f00:1", true), ("64:ff9b::c0a8:101", true), ("64:ff9b::a9fe:a9fe", true),
            // Translated by the network, wherever the IPv4 address is inside (RFC 8215).
            ("64:ff9b:1::a00:1", true), ("64:ff9b:1:a00:0:100::", true), ("64:ff9b:1:ffff:ffff::1", true),
            ("64:ff9b:1::808:808", true), ("64:ff9b:0:0:0:1:808:808", true), ("64:ff9c::a00:1", false),
            // Mapped and translated addresses (RFC 4291, 2765).
            ("::ffff:10.0.0.1", true), ("::ffff:0:127.0.0.1", true), ("::ffff:0:192.168.1.1", true),
            ("::ffff:0:8.8.8.8", false), ("::192.168.0.1", true), ("::8.8.8.8", false),
            // 6to4, Teredo with the inverted client or its server; ISATAP behind any prefix.
            ("2002:c0a8:101::1", true), ("2002:a9fe:1::1", true), ("2002:808:808::1", false),
            ("2001:0:808:808:0:0:f5ff:fffe", true), ("2001:0:a00:1:0:0:f7f7:f7f7", true),
            ("2001:0:808:808:0:0:80ff:fffe", true), ("2001:0:808:808:0:0:f7f7:f7f7", false),
            ("2001:1:a00:1:0:0:f5ff:fffe", false), ("2606:4700::5efe:10.0.0.1", true),
            ("2606:4700::200:5efe:192.168.0.1", true), ("2606:4700::5efe:8.8.8.8", false),
            ("2002:808:808::5efe:127.0.0.1", true), ("fec0::1", true), ("febf::1", true), ("fe7f::1", false),
        ])
    func internalAddressesAreRecognised(text: String, isInternal: Bool) throws {
        let octets = try #require(IPAddress.octetsOfIPv4(text) ?? IPAddress.octetsOfIPv6(text))
        #expect(IPAddress.isInternal(octets) == isInternal)
    }
}
