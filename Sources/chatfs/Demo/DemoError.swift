import Base
import Posix

/// Why the demo could not begin or go on.
typealias DemoError = CodedError<DemoErrorCode>

/// What a `DemoError` says.
enum DemoErrorCode: Hashable, Sendable {
    case folder, child, time
}
