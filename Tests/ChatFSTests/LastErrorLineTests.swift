import Base
import FileSystem
import Foundation
import Testing

@testable import chatfs

/// The last error and the reasons of waiting files in `chatfs status`.
@Suite struct LastErrorLineTests {
    private func error(_ path: String, at time: Int64) throws -> MountStatus.LastError {
        try JSONDecoder().decode(
            MountStatus.LastError.self,
            from: Data(#"{"path":"\#(path)","time":\#(time),"error":"no answer"}"#.utf8))
    }

    @Test func errorHasAgeFileAndReason() throws {
        let now = Timestamp(seconds: 10_000)
        let line = LastErrorLine.text(try error("bob/a.bin", at: 9_800), now: now)
        #expect(line == "last error 3 min 20 s ago: bob/a.bin: no answer")
        #expect(LastErrorLine.text(try error("", at: 9_999), now: now) == "last error 1 s ago: no answer")
    }

    @Test func plannedAttemptIsShownUntilItsTime() throws {
        var last = try error("a", at: 9_990)
        last.nextTry = 10_020
        let line = LastErrorLine.text(last, now: Timestamp(seconds: 10_000))
        #expect(line == "last error 10 s ago: a: no answer The next attempt is in 20 s.")
        let later = LastErrorLine.text(last, now: Timestamp(seconds: 10_020))
        #expect(later == "last error 30 s ago: a: no answer")
    }

    @Test func oldOrMissingErrorIsNotShown() throws {
        #expect(LastErrorLine.text(nil, now: Timestamp(seconds: 1)) == nil)
        #expect(LastErrorLine.text(try error("a", at: 0), now: Timestamp(seconds: 86_400)) == nil)
        // A clock that was set back.
        let line = LastErrorLine.text(try error("a", at: 50), now: Timestamp(seconds: 1))
        #expect(line == "last error 0 s ago: a: no answer")
    }

    @Test func waitingFileHasItsReason() throws {
        let text = """
            {"profile":"ann","mountpoint":"/c","pid":1,"mountedAt":1,"controlFolder":"/d","chats":1,"entries":2,\
            "cachedBytes":0,"requests":0,"transfers":[\
            {"path":"bob/a","state":"queued","progress":0,"size":1000,"waitsFor":"its turn comes"},\
            {"path":"bob/b","state":"sending","progress":0,"size":1000,"error":"no relay"}]}
            """
        let status = try #require(MountStatus.decoded(Array(text.utf8)))
        let lines = Overview(
            mounts: [.init(mountpoint: "/c", status: status, isDead: false)], data: .open
        ).lines
        #expect(lines.contains("  queued 0 %  bob/a: its turn comes"))
        #expect(lines.contains("  sending 0 %  bob/b: no relay"))
    }
}
