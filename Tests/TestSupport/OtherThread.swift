import Base
import Posix

/// Does something on a thread of its own and waits for it: as another process would while this thread is within a
/// transaction, under which it may open none of another database.
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
