import Base
import Network
import Testing

@testable import XFTP

/// The messages of failed transfers, and whether a retry may help.
@Suite struct ErrorWordsTests {
    private static let relay = RelayAddress(
        fingerprint: [UInt8](repeating: 7, count: 32), hosts: ["relay.example", "abc.onion"], port: 443)
    private static let elsewhere = RelayAddress(
        fingerprint: [UInt8](repeating: 7, count: 32), hosts: ["relay.example"], port: 8443)

    @Test func relayNameIsHostAndUnusualPort() {
        #expect(Self.relay.name == "relay.example" && Self.elsewhere.name == "relay.example:8443")
        #expect(
            XFTPError.brokenProtocol("said nothing", Self.elsewhere).sentence
                == "The relay relay.example:8443 said nothing.")
        #expect(XFTPError.brokenProtocol("said nothing").sentence == "The relay said nothing.")
        #expect(XFTPError.brokenProtocol("said nothing").code == .protocolViolation)
    }

    /// The code for each network error, and whether it is temporary.
    private static let network: [(NetworkErrorCode, XFTPErrorCode, isTemporary: Bool)] = [
        (.nameNotFound, .unreachable, true), (.unreachable, .unreachable, true), (.timeout, .timedOut, true),
        (.closed, .unreachable, true), (.cancelled, .cancelled, false),
        (.handshake, .protocolViolation, false), (.identity, .wrongIdentity, false),
        (.protocolViolation, .protocolViolation, false), (.body, .protocolViolation, false),
        (.configuration, .protocolViolation, false),
    ]

    @Test(arguments: network.indices) func networkErrorsBecomeTransferErrors(row: Int) {
        let (code, expected, isTemporary) = Self.network[row]
        let cause = NetworkError(code, "It broke.")
        let error = XFTPError(cause, relay: Self.elsewhere)
        #expect(error.code == expected && error.isTemporary == isTemporary)
        #expect(error.sentence == "The relay relay.example:8443 failed: It broke.")
        #expect((error.cause as? NetworkError)?.code == code)
    }

    @Test func localExhaustionIsNotBlamedOnTheRelay() {
        let cause = NetworkError(.exhausted, "Could not make a socket: Too many open files.")
        let error = XFTPError(cause, relay: Self.elsewhere)
        #expect(error.code == .unreachable && error.isTemporary)
        #expect(
            error.sentence
                == "No connection to the relay relay.example:8443 can be made on this machine: "
                + "Could not make a socket: Too many open files.")
        #expect((error.cause as? NetworkError)?.code == .exhausted)
    }

    @Test func errorsOfOwnSinksAreKept() {
        let inner = XFTPError(.storage, "The disk is full.")
        let error = XFTPError(NetworkError(.body, "It stopped.", cause: inner), relay: Self.relay)
        #expect(error.code == .storage && error.sentence == inner.sentence)
        // For other codes it is only the cause.
        let other = XFTPError(NetworkError(.closed, "It stopped.", cause: inner), relay: Self.relay)
        #expect(other.code == .unreachable)
    }

    private static let refusals: [(XFTPProtocolError, String, isTemporary: Bool)] = [
        (.authorization, "does not have the chunk any more, or never had it: expired or deleted", false),
        (.noFile, "never got the chunk: its upload was not finished", false),
        (.blocked(reason: ""), "blocked the file by moderation", false),
        (.blocked(reason: "reason=spam"), "blocked the file by moderation (reason=spam)", false),
        (.quota, "is full", false), (.size, "does not take chunks of this size", false),
        (.digest, "got other bytes than were announced", false),
        (.fileIO, "could not read or write its disk, or the upload took too long", true),
        (.timeout, "took too long", true), (.session, "refused with SESSION", true),
        (.internalError, "refused with INTERNAL", true), (.hasFile, "refused with HAS_FILE", false),
        (.command(.syntax), "refused with CMD SYNTAX", false), (.block, "refused with BLOCK", false),
        (.handshake, "refused with HANDSHAKE", false), (.cryptography, "refused with CRYPTO", false),
    ]

    @Test(arguments: refusals.indices) func refusalsAreExplained(row: Int) {
        let (refusal, words, isTemporary) = Self.refusals[row]
        let error = XFTPError.refused(refusal, by: Self.relay)
        #expect(error.code == .relay(refusal) && error.sentence == "The relay relay.example \(words).")
        #expect(error.isTemporary == isTemporary && refusal.isTemporary == isTemporary)
    }

    @Test func wrongFilesArePermanentErrors() {
        let codes: [XFTPErrorCode] = [
            .malformedDescription, .wrongIdentity, .protocolViolation, .damaged, .relayNotAllowed, .noRelay,
            .tooLarge, .source, .storage, .wrongState, .cancelled,
        ]
        for code in codes { #expect(!XFTPError(code, "x").isTemporary) }
        #expect(XFTPError(.unreachable, "x").isTemporary && XFTPError(.timedOut, "x").isTemporary)
        #expect(XFTPError.cancelled.code == .cancelled)
    }
}
