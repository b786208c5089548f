import CLinux
import Testing

@testable import Fuse

/// Negotiation with other kernels than the running one.
@Suite struct HandshakeTests {
    private static let more: UInt32 = 1 << 30
    private static let dropsPrivileges: UInt32 = 1 << 28
    private static let passthrough: UInt32 = 1 << 5

    /// A FUSE_INIT request with `size` bytes after the header.
    private static func request(
        operation: UInt32 = 26, flags: UInt32, more: UInt32 = 0, size: Int = 64
    ) -> [UInt8] {
        let header = chatfs_fuse_request(
            length: UInt32(40 + size), operation: operation, unique: 7, node: 0, user: 0, group: 0,
            process: 0, extensions: 0, padding: 0)
        let offer = chatfs_fuse_offer(
            major: 7, minor: 41, largest_read_ahead: 131_072, flags: flags, more_flags: more)
        let all = withUnsafeBytes(of: header) { Array($0) } + withUnsafeBytes(of: offer) { Array($0) }
        return Array((all + [UInt8](repeating: 0, count: 44)).prefix(40 + size))
    }

    private static func agreement(
        with request: [UInt8], passthrough: Bool
    ) throws -> chatfs_fuse_agreement {
        let handshake = try #require(request.withUnsafeBytes { Handshake(request: $0) })
        #expect(handshake.unique == 7)
        var agreement = chatfs_fuse_agreement()
        agreement.flags = 1
        handshake.complete(&agreement, passthrough: passthrough)
        return agreement
    }

    @Test func passthroughIsNegotiatedIfWanted() throws {
        let request = Self.request(flags: Self.more | Self.dropsPrivileges, more: Self.passthrough | 1)
        let wanted = try Self.agreement(with: request, passthrough: true)
        #expect(wanted.flags == 1 | Self.more | Self.dropsPrivileges)
        #expect(wanted.more_flags == Self.passthrough && wanted.stack_depth == 1)
        let unwanted = try Self.agreement(with: request, passthrough: false)
        #expect(unwanted.flags == 1 | Self.dropsPrivileges)
        #expect(unwanted.more_flags == 0 && unwanted.stack_depth == 0)
    }

    @Test func unofferedFeaturesAreNotRequested() throws {
        // Linux 6.1: flags above bit 31, without passthrough.
        let before = try Self.agreement(
            with: Self.request(flags: Self.more | Self.dropsPrivileges, more: 0b111), passthrough: true)
        #expect(before.flags == 1 | Self.dropsPrivileges && before.more_flags == 0 && before.stack_depth == 0)
        // Linux 5.10: 16 bytes; later bytes are no offer.
        let old = try Self.agreement(with: Self.request(flags: 0b11, size: 16), passthrough: true)
        #expect(old.flags == 1 && old.more_flags == 0 && old.stack_depth == 0)
        // The high half is valid only with its flag.
        let odd = try Self.agreement(
            with: Self.request(flags: 0, more: Self.passthrough), passthrough: true)
        #expect(odd.flags == 1 && odd.more_flags == 0)
    }

    @Test func otherAndShortRequestsAreRejected() {
        let lookup = Self.request(operation: 1, flags: Self.more)
        #expect(lookup.withUnsafeBytes { Handshake(request: $0) } == nil)
        for count in [0, 1, 39, 40, 55] {
            let short = Array(Self.request(flags: Self.more).prefix(count))
            #expect(short.withUnsafeBytes { Handshake(request: $0) } == nil)
        }
    }
}
