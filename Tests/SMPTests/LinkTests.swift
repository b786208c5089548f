import Base
import Cryptography
import TestSupport
import Testing

@testable import SMP

/// Links of both kinds and the data of short links.
@Suite struct LinkTests {
    private static let userData = Array(
        #"{"profile":{"displayName":"alice","fullName":""},"business":false}"#.utf8)

    private func sample(_ name: String) throws -> (data: LinkData, kind: ShortLink.Kind, id: [UInt8]?) {
        let senderID = Command.senderID(of: Known.correlationID)
        let isInvitation = name == "invitation"
        let queue = try Known.queue(mode: isInvitation ? .messaging : .contact, senderID: senderID)
        let request = try #require(
            ConnectionRequest(kind: isInvitation ? .invitation(Known.offer()) : .contact, queues: [queue]))
        return (
            LinkData(request: request, userData: Self.userData), isInvitation ? .invitation : .contact,
            isInvitation ? Known.recipientID : nil
        )
    }

    @Test(arguments: ["invitation", "contact"]) func linkDataMatchesThePublishedVectors(name: String)
        throws
    {
        let vector = try VectorValue.file("short_links")[name]
        let (data, kind, id) = try sample(name)
        let root = try Known.signing(10)
        #expect(try Command.senderID(of: Known.correlationID) == vector["sender_id"].bytes)
        #expect(try data.fixed(root: root) == vector["fixed_plain"].bytes)
        #expect(try data.user == vector["user_plain"].bytes)
        let (key, blobs) = try data.sealed(
            kind: kind, root: root, nonces: (Known.correlationID, Known.correlationID))
        #expect(try key == vector["link_key"].bytes)
        #expect(try LinkKeys(kind: kind, key: key).dataKey.bytes == vector["data_key"].bytes)
        #expect(try blobs.fixed.elementsEqual(vector["fixed_encrypted"].bytes))
        #expect(try vector["user_encrypted"].describes(blobs.user, sha256: SHA256.hash))
        #expect(blobs.fixed.count == 2048 && blobs.user.count == 13_824)

        let link = try #require(ShortLink(kind: kind, server: Known.server(), id: id, key: key))
        #expect(try link.id == vector["link_id"].bytes)
        let senderID = try vector["sender_id"].bytes
        #expect(try LinkData(opening: blobs, link: link, senderID: senderID) == data)
        for text in [link.link, link.webLink] { #expect(try ShortLink(link: text) == link) }
    }

    @Test func dataOfOthersThanTheOwnerIsRefused() throws {
        let (data, kind, _) = try sample("contact")
        let senderID = Command.senderID(of: Known.correlationID)
        let (root, other) = (try Known.signing(10), try Known.signing(11))
        let nonces = (fixed: Known.correlationID, user: Known.messageID)
        let (key, blobs) = try data.sealed(kind: kind, root: root, nonces: nonces)
        let link = try #require(ShortLink(kind: kind, server: Known.server(), key: key))
        #expect(try LinkData(opening: blobs, link: link, senderID: senderID) == data)

        // Made with the key of the link by another person than its owner.
        let dataKey = LinkKeys(kind: kind, key: key).dataKey
        var forged: [UInt8] = []
        forged.append(byteString: other.sign(data.user))
        let user = try #require(
            MessageBox.seal(forged + data.user, paddedTo: 13_784, key: dataKey, nonce: Known.messageID))
        expect(.wrongLinkData) {
            try LinkData(
                opening: LinkBlobs(fixed: blobs.fixed, user: Known.messageID + user), link: link,
                senderID: senderID)
        }
        let (otherKey, others) = try data.sealed(kind: kind, root: other, nonces: nonces)
        #expect(otherKey != key)
        expect(.wrongLinkData) { try LinkData(opening: others, link: link, senderID: senderID) }
        expect(.wrongLinkData) {
            try LinkData(
                opening: LinkBlobs(fixed: blobs.fixed, user: others.user), link: link, senderID: senderID)
        }
        // For another queue, or another server.
        expect(.wrongLinkData) { try LinkData(opening: blobs, link: link, senderID: Known.senderID) }
        let elsewhere = try #require(
            ShortLink(kind: kind, server: Known.server(hosts: ["elsewhere.example"]), key: key))
        expect(.wrongLinkData) { try LinkData(opening: blobs, link: elsewhere, senderID: senderID) }
        // A contact address is no invitation.
        let (asInvitation, invitationBlobs) = try data.sealed(kind: .invitation, root: root, nonces: nonces)
        let invitation = try #require(
            ShortLink(kind: .invitation, server: Known.server(), id: Known.recipientID, key: asInvitation))
        expect(.wrongLinkData) {
            try LinkData(opening: invitationBlobs, link: invitation, senderID: senderID)
        }
        expect(.wrongLinkData) {
            try LinkData(opening: LinkBlobs(fixed: [], user: []), link: link, senderID: senderID)
        }
        for place in stride(from: 0, to: blobs.fixed.count, by: 97) {
            var damaged = blobs
            damaged.fixed[place] ^= 1
            expect(.wrongLinkData) { try LinkData(opening: damaged, link: link, senderID: senderID) }
        }
    }

    @Test func profilesOfEverySizeUpToTheLimitFit() throws {
        let (data, kind, _) = try sample("contact")
        let nonces = (fixed: Known.correlationID, user: Known.messageID)
        for size in [0, 254, 255, 13_000] {
            let sized = LinkData(request: data.request, userData: [UInt8](repeating: 0x20, count: size))
            let (key, blobs) = try sized.sealed(kind: kind, root: Known.signing(10), nonces: nonces)
            let link = try #require(ShortLink(kind: kind, server: Known.server(), key: key))
            let read = try LinkData(
                opening: blobs, link: link, senderID: Command.senderID(of: Known.correlationID))
            #expect(read == sized)
        }
        for size in [13_784, 70_000] {
            let large = LinkData(request: data.request, userData: [UInt8](repeating: 0x20, count: size))
            expect(.tooLong) { try large.sealed(kind: kind, root: Known.signing(10), nonces: nonces) }
        }
    }

    @Test func shortLinksAreReadInEveryForm() throws {
        let key = [UInt8](repeating: 7, count: 32)
        let text = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc"
        let id = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
        let fingerprint = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8"
        let own = try #require(ShortLink(kind: .contact, server: Known.server(), key: key))
        #expect(own.webLink == "https://smp.example.org/a#\(text)?h=abc.onion&p=5223&c=\(fingerprint)")
        #expect(own.link == "simplex:/a#\(text)?h=smp.example.org%2Cabc.onion&p=5223&c=\(fingerprint)")
        #expect(
            try ShortLink(link: "simplex:/a#\(text)?c=\(fingerprint)=&p=5223&h=smp.example.org,abc.onion")
                == own)

        #expect("\(own) \(String(reflecting: own))" == "ShortLink(…) ShortLink(…)", "it is a secret")

        let preset = try ShortLink(link: "https://smp8.simplex.im/i#\(id)/\(text)")
        #expect(preset.kind == .invitation && preset.id == Known.recipientID && preset.key == key)
        #expect(preset.webLink == "https://smp8.simplex.im/i#\(id)/\(text)")
        #expect(try ShortLink(link: preset.link) == preset)
        #expect(try ShortLink(link: "https://smp8.simplex.im/g#\(text)").kind == .group)
        #expect(try ShortLink(link: "https://smp8.simplex.im/c#\(text)").kind == .channel)

        for wrong in [
            "", "https://smp8.simplex.im/i#\(text)", "https://smp8.simplex.im/a#\(id)/\(text)",
            "https://smp8.simplex.im/x#\(text)", "https://unknown.example/a#\(text)",
            "https://smp8.simplex.im/a#\(text.dropLast(4))", "https://smp8.simplex.im/a",
            "simplex:/a#\(text)",
            "http://smp8.simplex.im/a#\(text)", "https://smp8.simplex.im/b/a#\(text)",
            "https://smp8.simplex.im/a#\(text)?p=0&c=\(fingerprint)", "https://a.example/a#\(text)?c=AAAA",
            "https://smp8.simplex.im/a#\(text)?p=%zz", String(repeating: "a", count: 5000),
        ] { expect(.malformedLink) { try ShortLink(link: wrong) } }
    }

    @Test func everyPresetServerHasAFingerprint() {
        #expect(PresetServers.fingerprints.count == 21)
        for (host, fingerprint) in PresetServers.fingerprints {
            let address = PresetServers.address(host: host.uppercased())
            #expect(address.map { Base64URL.encode($0.fingerprint) } == fingerprint)
        }
        #expect(PresetServers.address(host: "example.org") == nil)
    }

    @Test func fullLinksAreReadInEveryForm() throws {
        let kemKey = [UInt8](repeating: 3, count: 1158)
        let request = try #require(
            ConnectionRequest(
                kind: .invitation(Known.offer(kemKey: kemKey)), queues: [Known.queue(), Known.queue()],
                data: #"{"groupLinkId":"äö"}"#))
        #expect(try ConnectionRequest(link: request.link) == request)
        #expect(try ConnectionRequest(link: request.webLink) == request)
        #expect("\(request)" == "ConnectionRequest(…)" && Mirror(reflecting: request).children.isEmpty)
        let rest = try #require(request.link.split(separator: "#", maxSplits: 1).last)
        #expect(try ConnectionRequest(link: "https://example.org/invitation/#\(rest)") == request)
        var bytes = request.encoded
        var reader = ByteReader(bytes)
        #expect(ConnectionRequest(from: &reader) == request && reader.remaining == 0)
        bytes.removeLast()
        reader = ByteReader(bytes)
        #expect(ConnectionRequest(from: &reader) == nil)

        for wrong in [
            "", "simplex:/invitation", "simplex:/contact#\(rest)", "simplex:/other#\(rest)",
            "https:///invitation#\(rest)", "https://a/b/invitation#\(rest)",
            request.link.replacing("v=2-7", with: "v=7-2"), request.link.replacing("v=2-7", with: "v=x"),
            request.link.replacing("&smp=", with: "&other="), request.link.replacing("%3D", with: "%3"),
            request.link.replacing("x3dh", with: "x4dh"), String(request.link.dropLast(40)),
            "simplex:/contact#/?v=2-7&smp=", String(repeating: "a", count: 40_000),
        ] { expect(.malformedLink) { try ConnectionRequest(link: wrong) } }
        expect(.unsupportedLink) {
            try ConnectionRequest(link: request.link.replacing("/?v=2-7", with: "/?v=8-9"))
        }
    }

    @Test func malformedAddressesAreRefused() throws {
        let fingerprint = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
        for text in [
            "smp://\(fingerprint)@host", "smp://\(fingerprint):secret@host:1",
            "smp://\(fingerprint)@[::1]:443",
            "smp://\(fingerprint)@a,b,c_d",
        ] {
            let address = try #require(ServerAddress(text))
            #expect(address.textWithPassword == text)
            #expect(!"\(address)".contains("secret"))
        }
        for text in [
            "", "smp://", "smp://@host", "xftp://\(fingerprint)@host", "smp://\(fingerprint)@",
            "smp://\(fingerprint)@host:0", "smp://\(fingerprint)@host:65536", "smp://\(fingerprint)@ho st",
            "smp://\(fingerprint):@host", "smp://\(fingerprint):a/b@host", "smp://AAAA@host",
            "smp://\(fingerprint)@a,,b", "smp://\(fingerprint)@::1", "smp://\(fingerprint)@a,b,c,d,e,f,g,h,i",
        ] { #expect(ServerAddress(text) == nil, "\(text)") }
        // A password is in no queue's address.
        let queue = try Known.queue().text
        #expect(OfferedQueue(queue) != nil)
        #expect(OfferedQueue(queue.replacing("=@", with: "=:secret@")) == nil)
        #expect(OfferedQueue(queue.replacing("&q=m", with: "&q=x")) == nil)
        #expect(OfferedQueue(queue.replacing("&q=m", with: ""))?.address.mode == .messaging, "by k=s")
        #expect(OfferedQueue(queue.replacing("&q=m&k=s", with: ""))?.address.mode == .contact)
    }
}
