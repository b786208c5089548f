import ChatCore
import Glibc
import Posix
import Testing

@testable import FileSystem

/// Every reason why a file cannot be read, for its readers.
@Suite struct FileProblemTests {
    /// Words in the row of `docs/reference/filesystem.md`, "Errors of a read".
    private static func words(of kind: FileProblem.Kind) -> String {
        switch kind {
        case .notApproved: "relays not approved"
        case .blocked: "blocked by the relay"
        case .expired: "expired"
        case .neverUploaded: "never uploaded"
        case .cancelledBySender: "deleted or cancelled by the sender"
        case .damaged: "wrong digest, tag or length"
        case .timedOut: "no byte for 30 seconds"
        case .unreachable: "relay unreachable"
        case .noRelay: "none configured"
        case .noSpace: "no room for the cache"
        case .relayFull: "relay full"
        case .tooLarge: "larger than ChatFS can receive"
        case .other: "any other local failure"
        }
    }

    private static func name(of code: Int32) -> String? {
        [
            EACCES: "EACCES", ENODATA: "ENODATA", EBADMSG: "EBADMSG", EIO: "EIO", ETIMEDOUT: "ETIMEDOUT",
            EHOSTUNREACH: "EHOSTUNREACH", ENOSPC: "ENOSPC", EFBIG: "EFBIG",
        ][code]
    }

    @Test(arguments: FileProblem.Kind.allCases)
    func referenceHasErrno(kind: FileProblem.Kind) throws {
        let rows = try ExtendedAttributeTests.rows(
            of: "docs/reference/filesystem.md", below: "Errors of a read")
        let row = try #require(rows.first { $0.contains(Self.words(of: kind)) }, "the table lacks \(kind)")
        let name = try #require(
            Self.name(of: FileSystemError.code(of: kind)), "name the errno of \(kind) here")
        #expect(row.contains("| \(name) |"), "the row of \(kind)")
    }

    @Test(arguments: FileProblem.Kind.allCases)
    func onlyGoneFilesHaveOwnStates(kind: FileProblem.Kind) {
        #expect((EntryState(kind) != .failed) == kind.isGone)
    }
}
