import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store
import Testing
import XFTP

@testable import CoreServices

@Suite struct BlockingWorkTests {
    private let work = BlockingWork(ThreadPool(name: "test", threads: 1), Log("test"))

    @Test func workRunsOnThePoolAndReturnsItsResult() async throws {
        let own = pthread_self()
        let isElsewhere = try await work.run { pthread_equal(own, pthread_self()) == 0 }
        #expect(isElsewhere)
    }

    @Test func errorsAreMappedForTheCaller() async {
        let full = SystemError(code: ENOSPC, operation: "write")
        await #expect(throws: ChatError.self) { try await work.run { throw full } }
        do throws(ChatError) {
            try await work.run { throw full }
        } catch {
            #expect(error.code == .file(.noSpace))
            #expect(error.cause is SystemError)
        }
    }

    @Test func workWithoutACallerFailsWithALogLine() async {
        let failed: Int? = await work.attempt("do what fails") {
            throw SystemError(code: EIO, operation: "read")
        }
        #expect(failed == nil)
        #expect(await work.attempt("do what succeeds") { 7 } == 7)
    }

    @Test func aCoreMayMapErrorsItself() async {
        struct Own: Error {}
        let work = BlockingWork(ThreadPool(name: "test", threads: 1), Log("test")) { error in
            error is Own ? ChatError(.noSuchChat, "None.") : ChatError(wrapping: error)
        }
        do throws(ChatError) {
            try await work.run { throw Own() }
        } catch {
            #expect(error.code == .noSuchChat)
        }
        do throws(ChatError) {
            try await work.run { throw SystemError(code: EIO, operation: "read") }
        } catch {
            #expect(error.code == .storage)
        }
    }
}

@Suite struct ErrorMeaningTests {
    @Test(arguments: [
        (StoreError.Code.diskFull, ChatErrorCode.file(.noSpace)), (.wrongVersion, .wrongVersion),
        (.damaged, .storage), (.busy, .storage), (.notAllowed, .storage), (.inputOutput, .storage),
        (.constraint, .internalError), (.invalidStatement, .internalError),
    ])
    func aDatabaseErrorKeepsItsSentence(code: StoreError.Code, meaning: ChatErrorCode) {
        let error = ChatError(wrapping: StoreError(code, "What happened."))
        #expect(error.code == meaning)
        #expect(error.sentence == "What happened.")
        #expect(error.cause is StoreError)
    }

    @Test func errorsOfACoreAreUnchanged() {
        let error = ChatError(wrapping: ChatError(.nameTaken, "Taken."))
        #expect(error.code == .nameTaken)
        #expect(error.sentence == "Taken.")
    }

    @Test func unknownErrorsAreInternalErrors() {
        struct Unknown: Error {}
        #expect(ChatError(wrapping: Unknown()).code == .internalError)
        #expect(ChatError(wrapping: SystemError(code: EDQUOT, operation: "x")).code == .file(.noSpace))
        #expect(ChatError(wrapping: SystemError(code: EACCES, operation: "x")).code == .storage)
    }
}

@Suite struct StandaloneLinkTests {
    @Test(arguments: ["", "simplex:/file#", "https://example.org/", "simplex:/file#/?desc=%%%"])
    func aTextThatIsNoLinkIsRefused(text: String) async {
        do throws(ChatError) {
            _ = try await StandaloneFile.described(by: text)
            Issue.record("it was taken for a link")
        } catch {
            #expect(error.code == .file(.damaged))
            #expect(!error.sentence.isEmpty)
        }
    }
}
