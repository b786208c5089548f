import Base
import ChatCore
import FileSystem
import Glibc
import Posix
import Testing

@testable import Fuse

@Suite struct FailureLogTests {
    private static let failure = FileSystemError(FileProblem(.damaged, "A chunk is damaged."))

    @Test func repeatedFailureIsLoggedOnceAndAlwaysCounted() {
        let lines = Lock<[String]>([])
        let log = FailureLog { line in lines.withLock { $0.append(line) } }
        for _ in 0..<1000 { log.note(RequestSubject("read", 1030), Self.failure) }
        log.note(RequestSubject("read", 1031), Self.failure)
        #expect(
            lines.withLock { $0 } == [
                "request failed: operation=read inode=1030 errno=EBADMSG error=A chunk is damaged.",
                "request failed: operation=read inode=1031 errno=EBADMSG suppressed=999 error=A chunk is damaged.",
            ])
        #expect(log.counts == ["read": ["EBADMSG": 1001]])
    }

    @Test func failureLoggedElsewhereIsOnlyCounted() {
        let log = FailureLog { line in Issue.record("\(line)") }
        let problem = FileProblem(.damaged, "A chunk is damaged.").logged.mentioning("A part is here.")
        log.note(RequestSubject("read", 1030), FileSystemError(problem))
        #expect(log.counts == ["read": ["EBADMSG": 1]])
    }

    @Test func manyFailuresDoNotFloodTheLog() {
        let lines = Lock(0)
        let log = FailureLog { _ in lines.withLock { $0 += 1 } }
        for node in 0..<100_000 { log.note(RequestSubject("open", UInt64(node)), Self.failure) }
        #expect(lines.withLock { $0 } == 20)
        #expect(log.counts == ["open": ["EBADMSG": 100_000]])
    }

    @Test func callersErrorsAreNeitherLoggedNorCounted() {
        let log = FailureLog { line in Issue.record("\(line)") }
        for code in [ENOENT, EPERM, EEXIST, EINVAL, EINTR, ENODATA, ENAMETOOLONG, ESTALE] {
            log.note(RequestSubject("open", 7), FileSystemError(code))
        }
        log.note(RequestSubject("open", 7), FileSystemError(ChatError(.noSuchItem, "It is deleted.")))
        #expect(log.counts.isEmpty)
    }

    @Test func logLineContainsTheSystemsReason() {
        let lines = Lock<[String]>([])
        let log = FailureLog { line in lines.withLock { $0.append(line) } }
        let disk = SystemError(code: EIO, operation: "read a file")
        log.note(
            RequestSubject("write", 9), FileSystemError(ChatError(.storage, "The data failed.", cause: disk)))
        let expected =
            "request failed: operation=write inode=9 errno=EIO error=The data failed. (\(disk.sentence))"
        #expect(lines.withLock { $0 } == [expected])
    }
}
