import ChatCore
import CoreServices
import Posix

let log = Log("core")

/// Threads for blocking work of all official cores of the process.
let indexThreads = ThreadPool(name: "index", threads: 2)

let blocking = BlockingWork(indexThreads, log) { error in
    (error as? OfficialCoreError)?.chatError ?? ChatError(wrapping: error)
}

extension ChatError {
    static let noSuchChat = ChatError(.noSuchChat, "This profile has no such chat.")
    static let noSuchItem = ChatError(.noSuchItem, "The chat has no such message.")
    static let noSuchFile = ChatError(.noSuchFile, "This profile has no such file.")
}
