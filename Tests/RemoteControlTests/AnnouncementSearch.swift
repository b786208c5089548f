import Base
import Cryptography
import Glibc
import Posix
import TestSupport

@testable import RemoteControl

/// A phone that searches for its computer: receives the announcements on loopback.
final class AnnouncementSearch: Sendable {
    private struct Packet {
        var bytes: [UInt8]
        /// The IPv4 address of the sender.
        var source: String
    }

    private let descriptor: Int32

    init() throws {
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = try check("make a socket") { socket(AF_INET, type, 0) }
        // Other tests receive them too.
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = Announcement.port.bigEndian
        inet_pton(AF_INET, Announcement.group, &address.sin_addr)
        var membership = ip_mreq()
        membership.imr_multiaddr = address.sin_addr
        inet_pton(AF_INET, "127.0.0.1", &membership.imr_interface)
        _ = try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try check("bind") { bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) }
            }
        }
        try check("join a group") {
            setsockopt(
                descriptor, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &membership,
                socklen_t(MemoryLayout<ip_mreq>.size))
        }
    }

    deinit { close(descriptor) }

    /// Returns the next packet, or nil if there is none now.
    private func packet() -> Packet? {
        var (bytes, address) = ([UInt8](repeating: 0, count: 2000), sockaddr_in())
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, &bytes, bytes.count, 0, $0, &length)
            }
        }
        guard count >= 0 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
        inet_ntop(AF_INET, &address.sin_addr, &text, socklen_t(text.count))
        let source = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return Packet(bytes: Array(bytes.prefix(count)), source: source)
    }

    /// Waits for a packet that fits.
    private func packet(_ what: String, where fits: (Packet) -> Bool) async throws -> Packet {
        // Earlier packets may announce a link that is no longer valid.
        while packet() != nil {}
        return try await wait(for: what) {
            while let packet = packet() { if fits(packet) { return packet } }
            return nil
        }
    }

    /// Waits for an announcement for a phone with these keys, and returns its link.
    func link(for keys: [AgreementKey]) async throws -> String {
        let packet = try await packet("an announcement") { Self.link(in: $0, for: keys) != nil }
        return Self.link(in: packet, for: keys) ?? ""
    }

    /// Waits for the announcement of a link. Returns whether a phone with these keys can read it.
    func isReadable(announcementOf link: String, for keys: [AgreementKey]) async throws -> Bool {
        let key = PhoneLink(link)?.agreementKey
        let packet = try await packet("an announcement") { packet in
            var reader = ByteReader(packet.bytes)
            return reader.byteString() == key
        }
        return Self.link(in: packet, for: keys) != nil
    }

    /// A phone accepts only a link to the sender, and with the packet's key.
    private static func link(in packet: Packet, for keys: [AgreementKey]) -> String? {
        var reader = ByteReader(packet.bytes)
        guard packet.bytes.count == 985, let sender = reader.byteString(), let nonce = reader.bytes(24) else {
            return nil
        }
        let box = reader.rest()
        for key in keys {
            guard let secret = try? key.wipedSecret(with: sender),
                let text = MessageBox.openPadded(box, key: secret, nonce: nonce)
            else { continue }
            let link = String(decoding: text, as: UTF8.self)
            guard let parsed = PhoneLink(link), parsed.host == packet.source, parsed.agreementKey == sender
            else { continue }
            return link
        }
        return nil
    }
}
