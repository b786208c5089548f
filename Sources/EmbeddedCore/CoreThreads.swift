import ChatCore
import CoreServices
import Posix

let log = Log("core")

/// Blocking work of all cores in the process.
let blocking = BlockingWork(ThreadPool(name: "core", threads: 4), log)

extension ChatError {
    static let noSuchChat = ChatError(.noSuchChat, "This profile has no such chat.")
    static let noSuchItem = ChatError(.noSuchItem, "The chat has no such message.")
    static let noSuchFile = ChatError(.noSuchFile, "This profile has no such file.")
}
