import Base
import Posix

/// Why the demo could not begin or go on.
struct DemoError: DescribedError {
    enum Code { case folder, child, time }

    let code: Code
    let sentence: String
    let cause: (any Error)?

    init(_ code: Code, _ sentence: String, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
    }
}
