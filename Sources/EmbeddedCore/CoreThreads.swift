import CoreServices
import Posix

let log = Log("core")

/// Blocking work of all cores in the process.
let blocking = BlockingWork(ThreadPool(name: "core", threads: 4), log)
