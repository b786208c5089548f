import Base
import Posix

/// An error of the demo.
typealias DemoError = CodedError<DemoErrorCode>

/// The kinds of `DemoError`.
enum DemoErrorCode: Hashable, Sendable {
    case folder, child, time
}
