import TestSupport
import Testing

@testable import SMP

@Suite("The purpose of a link, read from its text")
struct LinkKindTests {
    private static let key = [UInt8](repeating: 7, count: 32)

    private static func short(_ kind: ShortLink.Kind) throws -> ShortLink {
        try #require(
            ShortLink(
                kind: kind, server: Known.server(), id: kind == .invitation ? Known.recipientID : nil,
                key: key))
    }

    @Test("the letter of a short link tells its kind")
    func shortLinks() throws {
        let kinds: [(ShortLink.Kind, LinkKind)] = [
            (.invitation, .invitation), (.contact, .address), (.group, .group),
        ]
        for (short, kind) in kinds {
            let link = try Self.short(short)
            #expect(try LinkKind(link: link.link) == kind)
            #expect(try LinkKind(link: link.webLink) == kind)
        }
        for (kind, word) in [(ShortLink.Kind.channel, "channel"), (.relay, "relay")] {
            for text in [try Self.short(kind).link, try Self.short(kind).webLink] {
                let error = #expect(throws: SMPError.self) { try LinkKind(link: text) }
                #expect(error?.code == .unsupportedLink && error?.sentence.contains(word) == true)
            }
        }
    }

    @Test("application data distinguishes full links of groups")
    func fullLinks() throws {
        func contact(_ data: String?) throws -> String {
            try #require(ConnectionRequest(kind: .contact, queues: [Known.queue(mode: .contact)], data: data))
                .link
        }
        #expect(try LinkKind(link: contact(nil)) == .address)
        #expect(try LinkKind(link: contact(#"{"type":"group","groupLinkId":"x"}"#)) == .group)
        #expect(try LinkKind(link: contact(#"{"type":"other"}"#)) == .address)
        let invitation = try #require(
            ConnectionRequest(kind: .invitation(Known.offer()), queues: [Known.queue()], data: nil))
        #expect(try LinkKind(link: invitation.link) == .invitation)
        #expect(try LinkKind(link: invitation.webLink) == .invitation)
    }

    @Test(
        "malformed and later links have different errors",
        arguments: ["", "hello", "https://simplex.chat/", "simplex:/a#"])
    func noLink(text: String) {
        expect(.malformedLink) { try LinkKind(link: text) }
    }

    @Test("unsupported versions are not called damage")
    func versions() throws {
        let request = try #require(
            ConnectionRequest(kind: .contact, queues: [Known.queue(mode: .contact)], data: nil))
        expect(.unsupportedLink) { try LinkKind(link: request.link.replacing("v=2-7", with: "v=9-12")) }
        expect(.malformedLink) { try LinkKind(link: String(request.link.dropLast(60))) }
    }

    @Test("a short link needs the parts of its kind")
    func impossible() throws {
        let server = try Known.server()
        for kind in ShortLink.Kind.allCases {
            let needsID = kind == .invitation
            #expect((ShortLink(kind: kind, server: server, id: nil, key: Self.key) == nil) == needsID)
            #expect(
                (ShortLink(kind: kind, server: server, id: Known.recipientID, key: Self.key) == nil)
                    != needsID)
            for key in [[], Array(Self.key.dropLast()), Self.key + [0]] {
                #expect(
                    ShortLink(kind: kind, server: server, id: needsID ? Known.recipientID : nil, key: key)
                        == nil)
            }
        }
        #expect(
            ShortLink(
                kind: .invitation, server: server, id: Array(Known.recipientID.dropLast()), key: Self.key)
                == nil)
    }

    @Test("short links survive a round trip in both forms")
    func roundTrip() throws {
        var generator = SeededGenerator(state: 43)
        for _ in 0..<500 {
            for kind in ShortLink.Kind.allCases {
                let hosts = (0..<Int.random(in: 1...4, using: &generator)).map { "h\($0).example" }
                let port =
                    Bool.random(using: &generator) ? nil : UInt16.random(in: 1...65_535, using: &generator)
                let key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
                let link = try #require(
                    ShortLink(
                        kind: kind, server: Known.server(hosts: hosts, port: port),
                        id: kind == .invitation ? Known.recipientID : nil, key: key))
                #expect(try ShortLink(link: link.link) == link)
                #expect(try ShortLink(link: link.webLink) == link)
            }
        }
    }

    @Test("links name preset servers by host, and impostors in full")
    func presets() throws {
        let (host, text) = PresetServers.fingerprints[0]
        let preset = try #require(PresetServers.address(host: host))
        let link = try #require(ShortLink(kind: .contact, server: preset, key: Self.key))
        #expect(!link.webLink.contains("?") && link.link.contains("?h="))
        let impostor = try #require(
            ShortLink(kind: .contact, server: Known.server(hosts: [host], port: nil), key: Self.key))
        #expect(impostor.webLink.contains("c=") && !impostor.webLink.contains(text.prefix(20)))
        #expect(try ShortLink(link: impostor.webLink).server.fingerprint == Known.fingerprint)
        #expect(PresetServers.forNewQueues(domain: "simplex.im").count == 11)
        #expect(PresetServers.forNewQueues(domain: "simplexonflux.com").count == 6)
        #expect(PresetServers.forNewQueues(domain: "example.org").isEmpty)
        #expect(PresetServers.forNewQueues(domain: "implex.im").isEmpty, "no part of a label")
    }
}
