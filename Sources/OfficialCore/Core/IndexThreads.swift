import ChatCore
import CoreServices
import Posix

let log = Log("core")

/// Threads for blocking work of all official cores of the process.
let indexThreads = ThreadPool(name: "index", threads: 2)

let blocking = BlockingWork(indexThreads, log) { error in
    (error as? OfficialCoreError)?.chatError ?? ChatError(wrapping: error)
}
