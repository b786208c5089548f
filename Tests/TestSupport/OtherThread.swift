import Base
import Posix

/// Runs work on its own thread and waits for it, as another process would while this thread is in a transaction, in
/// which it may not open one of another database.
public func onOtherThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) throws -> Result {
    let answer = Monitor<Swift.Result<Result, any Error>?>(nil)
    Thread.start("other") {
        let result = Swift.Result { try body() }
        answer.change { $0 = result }
    }
    return try answer.wait { $0 }.get()
}
