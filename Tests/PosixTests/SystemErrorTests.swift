import Glibc
import Posix
import Testing

@Suite("A system call that fails")
struct SystemErrorTests {
    @Test("an interrupted call is repeated")
    func interrupted() throws {
        var calls = 0
        let result = try check("count") { () -> Int in
            calls += 1
            guard calls < 5 else { return calls }
            errno = EINTR
            return -1
        }
        #expect(result == 5 && calls == 5)
    }

    @Test("other errors end it with errno and operation", arguments: [EIO, EAGAIN, ENOMEM])
    func failed(code: Int32) {
        var calls = 0
        #expect(throws: SystemError(code: code, operation: "do it")) {
            try check("do it") { () -> Int32 in
                calls += 1
                errno = code
                return -1
            }
        }
        #expect(calls == 1)
    }

    @Test("only -1 is a failure")
    func results() throws {
        var isMade = false
        func words() -> String {
            isMade = true
            return "do it"
        }
        #expect(try check(words()) { Int64(0) } == 0)
        #expect(try check(words()) { Int8(-2) } == -2)
        #expect(!isMade)
    }

    @Test(
        "full disks, quotas and size limits are one kind of error"
    )
    func fullDisks() {
        for code in [ENOSPC, EDQUOT, EFBIG] {
            #expect(SystemError(code: code, operation: "write").isFullDisk)
        }
        for code in [EIO, EROFS, EACCES, 0] {
            #expect(!SystemError(code: code, operation: "write").isFullDisk)
        }
        let end = "Free some space and try again."
        #expect(
            SystemError(code: ENOSPC, operation: "write it").sentence
                == "Could not write it: the disk is full. \(end)")
        #expect(
            SystemError(code: EDQUOT, operation: "write it").sentence
                == "Could not write it: your quota of the disk is full. \(end)")
        #expect(
            SystemError(code: EACCES, operation: "write it").sentence
                == "Could not write it: Permission denied."
        )
    }
}
